/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `run`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/list/chosen_words.h"
#include "tools/lib/cli.h"
#include "tools/probe/run/preload.h"
#include "tools/probe/run/preset.h"
#include "tools/probe/run/sanitizer.h"
#include "tools/probe/run/stubs.h"
#include "tools/probe/run/words.h"
#include "tools/lib/tool.h"

static const char help[] =
	"usage: probe run [-p PRESET] [-c FILE] [-o DIR] [--seed N] [--deterministic] [-n] [--] "
	"CMD "
	"[ARGUMENT...]\n"
	"\n"
	"Runs a command with libprobe.so loaded before its libraries, as in all programs that it "
	"starts. The command\n"
	"replaces this process: exit status, output and signals are those of the command.\n"
	"\n"
	"  -c, --config FILE   probe.yaml to use (sets PROBE_CONFIG)\n"
	"  -o, --output DIR    folder for the results (sets PROBE_OUTPUT_DIR; default "
	"./probe_output)\n"
	"  -p, --preset NAME   settings for a common question; your own settings have priority:\n"
	"                      comm  collectives with statistics, call stacks and steps (the "
	"default)\n"
	"                      nan   also the PyTorch operators that compute: the first NaN is "
	"named with its\n"
	"                            operator and line\n"
	"                      ops   all PyTorch operators\n"
	"                      dump  also what operators call, and a checksum of each tensor\n"
	"                      state parameters, gradients and optimizer state of each step, by "
	"name\n"
	"      --seed N        sets the seeds that have environment variables (PYTHONHASHSEED "
	"...). "
	"Calls of manual_seed()\n"
	"                      in the program are not changed\n"
	"      --deterministic sets the variables that make libraries deterministic "
	"(CUBLAS_WORKSPACE_CONFIG,\n"
	"                      HCCL_DETERMINISTIC ...). Neither option changes variables that are "
	"already set. meta.json\n"
	"                      lists which settings took effect (`reproducible`)\n"
	"  -n, --print         prints the command line with its environment instead of running it\n"
	"\n"
	"examples:\n"
	"  probe run -o /scratch/run7 -- torchrun --nproc-per-node 8 train.py\n"
	"  probe run srun ./train\n"
	"  probe run -p nan torchrun --nproc-per-node 8 train.py\n"
	"  probe run --seed 1234 --deterministic torchrun --nproc-per-node 8 train.py\n"
	"  mpirun -n 64 probe run -o /scratch/run7 ./train\n"
	"\n"
	"Open MPI's mpirun passes LD_PRELOAD only to ranks on its own host. With several hosts, "
	"put "
	"`probe run` after\n"
	"mpirun, as in the last example. That form works with every launcher.\n";

enum { OPT_CONFIG, OPT_OUTPUT, OPT_PRESET, OPT_PRINT, OPT_SEED, OPT_DETERMINISTIC };

/* As in shells: the command does not exist, or exists but cannot be run. */
#define STATUS_NOT_FOUND 127
#define STATUS_NOT_RUN 126

static const struct cli_option options[] = {
	[OPT_CONFIG] = {"config", 'c', true},
	[OPT_OUTPUT] = {"output", 'o', true},
	[OPT_PRESET] = {"preset", 'p', true},
	[OPT_PRINT] = {"print", 'n', false},
	[OPT_SEED] = {"seed", 0, true},
	[OPT_DETERMINISTIC] = {"deterministic", 0, false},
};

static void print_run_problem(void *arg, const char *line)
{
	++*(unsigned *)arg;
	fprintf(stderr, "%s\n", line);
}

/* Reports errors of the configuration before the job starts, instead of in the output of a long job. */
static int check_config(const char *file)
{
	char *const none[] = {NULL};
	struct config cfg;
	unsigned problems = 0;
	int err;

	if (access(file, R_OK) < 0) {
		tool_error("run: %s: %s", file, strerror(errno));
		return STATUS_USAGE;
	}
	err = config_load(&cfg, file, none, "/", print_run_problem, &problems);
	config_free(&cfg);
	return err || problems ? STATUS_USAGE : 0;
}

static void ignore_problem(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/*
 * Reports a file in PROBE_CONFIG that is not YAML: with it, no rank would record anything. The job
 * itself reports other problems.
 */
static int check_environment_config(void)
{
	const char *named = getenv("PROBE_CONFIG");
	char *const none[] = {NULL};
	char *file = named && *named ? tool_get_absolute_path(named) : NULL;
	struct config cfg;
	unsigned problems = 0;
	bool unreadable;

	if (!file)
		return 0;
	config_load(&cfg, file, none, "/", ignore_problem, NULL);
	unreadable = cfg.unreadable;
	config_free(&cfg);
	if (unreadable) {
		config_load(&cfg, file, none, "/", print_run_problem, &problems);
		config_free(&cfg);
		tool_error(
			"run: PROBE_CONFIG=%s cannot be used; the command is not started", named);
	}
	free(file);
	return unreadable ? STATUS_USAGE : 0;
}

static void print_quoted(const char *s)
{
	if (*s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=."
			       "/:,@%")]) {
		fputs(s, stdout);
		return;
	}
	putchar('\'');
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	}
	putchar('\'');
}

static void set_variable(const char *name, const char *value, bool print)
{
	if (!print) {
		if (setenv(name, value, 1) < 0)
			tool_error("run: %s: %s", name, strerror(errno));
		return;
	}
	printf("%s=", name);
	print_quoted(value);
	putchar(' ');
}

static void set_preset(void *print, const char *name, const char *value)
{
	set_variable(name, value, *(bool *)print);
}

/* Settings that make a run repeatable. */
struct repeat {
	const char *seed; /* NULL: none */
	bool deterministic;
};

static const struct {
	const char *name, *value;
} repeat_variables[] = {
#define REPRODUCIBLE(name, value, library, help) {name, value},
#include "terms/reproducible.def"
};

/* Settings that the user made are kept. */
static void set_repeat_variables(const struct repeat *r, bool print)
{
	if (r->seed)
		set_variable("PROBE_SEED", r->seed, print);
	if (r->deterministic)
		set_variable("PROBE_DETERMINISTIC", "true", print);
	for (unsigned i = 0; i < sizeof(repeat_variables) / sizeof(*repeat_variables); i++) {
		const char *name = repeat_variables[i].name, *value = repeat_variables[i].value;
		const char *now = getenv(name);

		if (!(*value ? r->deterministic : r->seed != NULL))
			continue;
		if (!*value)
			value = r->seed;
		if (!now)
			set_variable(name, value, print);
		else if (strcmp(now, value))
			tool_warn("run: %s is already set to %s and is not changed", name, now);
	}
}

static bool is_seed(const char *s)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 10);

	return *s >= '0' && *s <= '9' && !*end && strlen(s) <= 10 && v <= UINT32_MAX;
}

unsigned print_unknown_list_words(const struct config *cfg, const char *place, char *const env[],
	config_report_fn *report, void *arg)
{
	char *ops = config_find_list(cfg, preload_get_config_base(), ignore_problem, NULL);
	struct wraplist *list = wraplist_load(ops, ignore_problem, NULL);
	unsigned n;

	if (!list && ops)
		list = wraplist_load(NULL, ignore_problem, NULL);
	n = emit_unknown_words(cfg, place, env, list, report, arg);
	if (list)
		wraplist_free(list);
	free(ops);
	return n;
}

static void print_word_problem(void *arg, const char *line)
{
	static const char by_env[] = "environment: ";

	*(unsigned *)arg += strncmp(line, by_env, sizeof(by_env) - 1) != 0;
	fprintf(stderr, "%s\n", line);
}

unsigned print_unknown_words(const char *file)
{
	struct config cfg;
	unsigned in_file = 0;
	char *cwd = tool_get_absolute_path(".");

	config_load(&cfg, file, environ, cwd, ignore_problem, NULL);
	print_unknown_list_words(&cfg, file, environ, print_word_problem, &in_file);
	config_free(&cfg);
	free(cwd);
	return in_file;
}

/*
 * Reports misspelt words of `skip` and `only` before the command starts. Returns an error if such a word is
 * in the file of -c.
 */
static int check_words(const char *config)
{
	const char *named = getenv("PROBE_CONFIG");
	char *file = config	       ? tool_strdup(config)
		     : named && *named ? tool_get_absolute_path(named)
				       : config_find("probe.yaml", preload_get_config_base());
	unsigned n = print_unknown_words(file);

	free(file);
	return n && config ? STATUS_USAGE : 0;
}

static int start_recorded_command(char **argv, const char *config, const char *output,
	const char *preset, const struct repeat *repeat, bool print)
{
	char *library = preload_find_library(), *value, *path, *why, *stubs, *runtime;
	const char *off = getenv("PROBE_DISABLE");
	int err;

	if (!library)
		return STATUS_USAGE;
	path = preload_find_command(argv[0]);
	if (!path) {
		tool_error("run: %s: command not found", argv[0]);
		free(library);
		return STATUS_NOT_FOUND;
	}
	free(path);
	why = preload_check_command((const char *const *)argv);
	if (why)
		tool_warn("run: the preload will have no effect: %s", why);
	free(why);
	why = find_sanitizer((const char *const *)argv);
	if (why)
		tool_warn("run: %s", why);
	free(why);
	if (off && *off && strcmp(off, "0"))
		tool_warn("run: PROBE_DISABLE is set: nothing will be recorded");
	/* Before the preset, because options given here count as the user's settings. */
	if (config)
		setenv("PROBE_CONFIG", config, 1);
	if (output)
		setenv("PROBE_OUTPUT_DIR", output, 1);
	stubs = stubs_get_object(library, argv[0], config);
	runtime = sanitizer_find_runtime(argv[0]);
	value = preload_format_value(library, stubs, runtime);
	free(runtime);
	free(stubs);
	set_variable("LD_PRELOAD", value, print);
	if (config)
		set_variable("PROBE_CONFIG", config, print);
	if (output && !preset)
		set_variable("PROBE_OUTPUT_DIR", output, print);
	free(value);
	free(library);
	set_repeat_variables(repeat, print);
	if (preset && preset_set_variables(preset, config, set_preset, &print) < 0)
		return STATUS_USAGE;
	/* With --print a preset's list is not in the environment. */
	if (!(print && preset) && check_words(config))
		return STATUS_USAGE;
	if (print) {
		for (char **a = argv; *a; a++) {
			if (a > argv)
				putchar(' ');
			print_quoted(*a);
		}
		putchar('\n');
		return tool_close_output(STATUS_DONE);
	}
	fflush(NULL);
	execvp(argv[0], argv);
	err = errno;
	tool_error("run: %s: %s", argv[0], strerror(err));
	return err == ENOENT || err == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

int verb_run(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options),
		.command = true};
	char *config = NULL, *output = NULL;
	const char *preset = NULL;
	struct repeat repeat = {0};
	bool print = false;
	int o, status = 0;

	while (!status && (o = cli_read_argument(&c)) != CLI_END && o != CLI_OPERAND) {
		switch (o) {
		case OPT_CONFIG:
			free(config);
			config = tool_get_absolute_path(c.value);
			status = check_config(config);
			break;
		case OPT_OUTPUT:
			free(output);
			output = tool_get_absolute_path(c.value);
			break;
		case OPT_PRESET:
			preset = c.value;
			status = preset_check_name(preset) ? 0 : STATUS_USAGE;
			break;
		case OPT_PRINT:
			print = true;
			break;
		case OPT_SEED:
			repeat.seed = c.value;
			if (is_seed(c.value))
				break;
			tool_error("run: --seed %s: accepted: an integer from 0 to 4294967295",
				c.value);
			status = STATUS_USAGE;
			break;
		case OPT_DETERMINISTIC:
			repeat.deterministic = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		default:
			status = STATUS_USAGE;
		}
	}
	if (!status && !c.value) {
		tool_error("run: no command; `probe run --help` has examples");
		status = STATUS_USAGE;
	}
	if (!status && !config)
		status = check_environment_config();
	if (!status)
		status = start_recorded_command(
			argv + c.at - 1, config, output, preset, &repeat, print);
	free(config);
	free(output);
	return status;
}
