/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `config`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/import/import.h"
#include "config/list/chosen_words.h"
#include "tools/lib/cli.h"
#include "tools/probe/config/explain.h"
#include "tools/probe/run/preload.h"
#include "tools/lib/tool.h"

static const char help[] =
	"usage: probe config [-c FILE] [--common] [--explain] [--markdown]\n"
	"\n"
	"Prints the configuration that a job started from here would have, as a commented "
	"YAML file, and where\n"
	"each value comes from: the file, the environment (PROBE_<KEY>), or the default "
	"where none is set.\n"
	"Problems go to stderr with file, line and column; the exit status is then 2.\n"
	"\n"
	"  -c, --config FILE   this file instead of $PROBE_CONFIG or the one that is "
	"found\n"
	"      --explain       what will be recorded, in words: functions, ranks, steps, "
	"keys without effect, and, where\n"
	"                      the output folder has a run already, the bytes and the time "
	"per step to expect\n"
	"      --common        only the 25 keys that are set often\n"
	"      --markdown      the keys as tables, by group, as in docs/reference/keys.md\n"
	"\n"
	"examples:\n"
	"  probe config -c my.yaml --explain\n"
	"  probe config > my.yaml      a file to start from\n";

enum { OPT_CONFIG, OPT_EXPLAIN, OPT_COMMON, OPT_MARKDOWN };

static const struct cli_option options[] = {
	[OPT_CONFIG] = {"config", 'c', true},
	[OPT_EXPLAIN] = {"explain", 0, false},
	[OPT_COMMON] = {"common", 0, false},
	[OPT_MARKDOWN] = {"markdown", 0, false},
};

extern char **environ;

static void print_config_line(void *arg, const char *line)
{
	(void)arg;
	puts(line);
}

static void print_config_problem(void *arg, const char *line)
{
	*(unsigned *)arg += !config_is_note(line);
	fflush(stdout);
	fprintf(stderr, "%s\n", line);
}

static void ignore_config_line(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/* The configuration from the file alone, and the defaults, to find out where a value comes from. */
struct sources {
	struct config file, none;
};

static bool is_key_changed(
	const struct config *a, const struct config *b, const struct config_key *k)
{
	size_t n = (size_t)config_format(a, k, NULL, 0) + 1,
	       m = (size_t)config_format(b, k, NULL, 0) + 1;
	char *x = tool_alloc(n), *y = tool_alloc(m);

	config_format(a, k, x, n);
	config_format(b, k, y, m);

	bool other = strcmp(x, y) != 0;

	free(x);
	free(y);
	return other;
}

static void add_line_count(void *arg, const char *line)
{
	(void)line;
	++*(unsigned *)arg;
}

/*
 * Returns true if the environment sets the key and the value is accepted. A rejected value changes
 * nothing.
 */
static bool is_set_in_environment(const char *key)
{
	char name[64] = "PROBE_";
	size_t n = strlen(name);
	unsigned problems = 0;
	struct config alone;
	const char *value;

	for (; *key && n + 1 < sizeof(name); key++)
		name[n++] = *key >= 'a' && *key <= 'z' ? (char)(*key - 32) : *key;
	name[n] = 0;
	value = getenv(name);
	if (!value)
		return false;

	size_t bytes = n + strlen(value) + 2;
	char *entry = tool_alloc(bytes), *const env[] = {entry, NULL};

	snprintf(entry, bytes, "%s=%s", name, value);

	/* A missing file is not an error here. */
	config_load(&alone, NULL, env, "/", add_line_count, &problems);
	config_free(&alone);
	free(entry);
	return problems == 0;
}

/* Prints a value and where it comes from. */
static void print_value(void *arg, const char *line)
{
	const struct sources *s = arg;
	size_t n = strcspn(line, ":");

	for (size_t i = 0; i < config_nkeys && *line != '#'; i++) {
		const struct config_key *k = &config_keys[i];

		if (strlen(k->name) != n || strncmp(k->name, line, n))
			continue;
		printf("%s%s\n", line,
			is_set_in_environment(k->name)		? "  # from the environment"
			: is_key_changed(&s->file, &s->none, k) ? "  # from the file"
								: "");
		return;
	}
	puts(line);
}

static char *get_working_directory(void)
{
	char *cwd = getcwd(NULL, 0);

	return cwd ? cwd : tool_strdup("/");
}

/* explained: prints explanations in sentences. common: only the keys that are set often. */
static int print_config(const char *file, bool explained, bool common)
{
	struct sources s;
	struct config now;
	unsigned problems = 0;
	char *cwd = get_working_directory(), *ops = NULL, *const none[] = {NULL};
	struct wraplist *list;
	int err = config_load(&now, file, environ, cwd, print_config_problem, &problems);

	config_load(&s.file, file, none, cwd, ignore_config_line, NULL);
	config_load(&s.none, NULL, none, cwd, ignore_config_line, NULL);
	printf("# file: %s\n", file ? file : "none was found: the copy in libprobe.so");
	ops = config_find_list(&now, preload_get_config_base(), print_config_problem, &problems);
	if (now.imported)
		printf("# format: %s; below: its meaning in libprobe's keys\n",
			import_names[now.imported]);
	printf("# list of functions: %s\n", ops ? ops : "the copy in libprobe.so");
	list = wraplist_load(ops, print_config_problem, &problems);
	if (!list) {
		err = err ? err : -1;
		/* The file is found by the same rules as in the library. */
		list = explained ? wraplist_load(NULL, print_config_problem, &problems) : NULL;
		if (list)
			puts("# instead: the copy in libprobe.so");
	}
	emit_unknown_words(&now, file, environ, list, print_config_problem, &problems);
	if (getenv("PROBE_DISABLE") && now.disable)
		puts("# PROBE_DISABLE is set: nothing is recorded");
	if (explained && list)
		print_config_explanation(&now, list, print_config_problem, &problems);
	else
		config_print_yaml(&now, common, print_value, &s);
	if (list)
		wraplist_free(list);
	config_free(&s.file);
	config_free(&s.none);
	config_free(&now);
	free(cwd);
	free(ops);
	return err || problems ? STATUS_USAGE : STATUS_DONE;
}

int verb_config(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *named = getenv("PROBE_CONFIG");
	bool markdown = false, in_words = false, common = false;
	char *file;
	int o, status;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		switch (o) {
		case OPT_CONFIG:
			named = c.value;
			break;
		case OPT_EXPLAIN:
			in_words = true;
			break;
		case OPT_COMMON:
			common = true;
			break;
		case OPT_MARKDOWN:
			markdown = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		case CLI_OPERAND:
			tool_error(
				"config: %s: unexpected operand; a file is named with -c", c.value);
			return STATUS_USAGE;
		default:
			return STATUS_USAGE;
		}
	}
	if (markdown) {
		config_print_markdown(common, print_config_line, NULL);
		return tool_close_output(STATUS_DONE);
	}
	file = named && *named ? tool_get_absolute_path(named)
			       : config_find("probe.yaml", preload_get_config_base());
	status = print_config(file, in_words, common);
	free(file);
	return tool_close_output(status);
}
