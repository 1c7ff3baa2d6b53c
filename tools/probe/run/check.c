/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb `check`: runs a command and finds out which functions it reached. check_show.c prints
 * the result.
 */
#include "tools/probe/run/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/probe/run/preload.h"
#include "tools/probe/run/sanitizer.h"
#include "tools/probe/run/stubs.h"
#include "tools/probe/run/words.h"
#include "tools/lib/tool.h"

static const char help[] =
	"usage: probe check [--json] [--] [CMD [ARGUMENT...]]\n"
	"\n"
	"Runs a command with libprobe.so loaded before its libraries, and records nothing. "
	"Then lists the functions that\n"
	"can be recorded, the object that defines each of them, how often each was called, "
	"and why others cannot be recorded.\n"
	"A few steps of the job are enough. Without a command: lists the functions that "
	"libprobe.so exports.\n"
	"\n"
	"  -a, --all           lists every function, also those of libraries that were not "
	"loaded\n"
	"      --json          prints JSON\n"
	"      --color WHEN    auto, always or never\n"
	"\n"
	"Exit status 1: no process was reached, or nothing was called.\n"
	"\n"
	"examples:\n"
	"  probe check mpirun -n 2 ./train --steps 3\n"
	"  probe check -- python3 train.py --steps 3\n";

enum { OPT_ALL, OPT_JSON, OPT_COLOR };

static const struct cli_option options[] = {
	[OPT_ALL] = {"all", 'a', false},
	[OPT_JSON] = {"json", 0, false},
	[OPT_COLOR] = {"color", 0, true},
};

static char *add_result_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = tool_get_absolute_path(tmp && *tmp ? tmp : "/tmp"),
	     *dir = tool_format("%s/probe-check.XXXXXX", path);

	free(path);
	if (mkdtemp(dir))
		return dir;
	tool_error("check: %s: %s; set TMPDIR to a writable folder", dir, strerror(errno));
	free(dir);
	return NULL;
}

/* Runs the command and waits for it. If it cannot be started, the child ends with status 127. */
static int run_checked_command(char *const *argv, const char *library, const char *dir, bool quiet)
{
	char *stubs = stubs_get_object(library, argv[0], NULL),
	     *runtime = sanitizer_find_runtime(argv[0]);
	char *value = preload_format_value(library, stubs, runtime);
	struct sigaction ignore = {.sa_handler = SIG_IGN}, intr, quit;
	int status = 0;
	pid_t pid;

	/* Ctrl-C goes to the command. The results so far are printed. */
	sigaction(SIGINT, &ignore, &intr);
	sigaction(SIGQUIT, &ignore, &quit);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sigaction(SIGINT, &intr, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		setenv("LD_PRELOAD", value, 1);
		setenv("PROBE_CHECK", dir, 1);
		unsetenv("PROBE_DISABLE");
		if (quiet) {
			int null = open("/dev/null", O_WRONLY);

			dup2(null, 1);
			dup2(null, 2);
		}
		execvp(argv[0], argv);
		tool_error("check: %s: %s", argv[0], strerror(errno));
		_exit(127);
	}
	free(value);
	free(runtime);
	free(stubs);
	if (pid < 0) {
		tool_error("check: fork: %s", strerror(errno));
		status = 127 << 8;
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &intr, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return status;
}

/*
 * Reads the list of wrapped functions from libprobe.so. Any process that is run with the library writes it, so this program is run
 * once more (`--version`) with the library preloaded.
 */
static int read_exports(struct check *k)
{
	char *self[] = {(char *)tool_get_own_path(), (char *)"--version", NULL};

	run_checked_command(self, k->library, k->dir, true);
	checked_read(&k->seen, k->dir);
	if (!k->seen.functions.n) {
		k->exports = read_library_exports(k->library, &k->nexports);
		if (!k->exports)
			return STATUS_USAGE;
	}
	check_show_exports(k);
	for (unsigned i = 0; i < k->nexports; i++)
		free(k->exports[i]);
	free(k->exports);
	return STATUS_DONE;
}

static void ignore_check_line(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/*
 * Reads the configuration that the job will read. Changes by the job's launcher are not known here. The
 * job itself reports errors in it. Misspelt words of `skip` and `only` are reported here, because they
 * change which calls are recorded.
 */
static void read_config(struct check *k)
{
	const char *named = getenv("PROBE_CONFIG"), *off = getenv("PROBE_DISABLE");
	char *cwd = tool_get_absolute_path("."),
	     *file = named && *named ? tool_strdup(named)
				     : config_find("probe.yaml", preload_get_config_base());

	config_load(&k->cfg, file, environ, cwd, ignore_check_line, NULL);
	k->off = k->cfg.disable && off && *off;
	print_unknown_words(file);
	free(file);
	free(cwd);
}

static int check_command(struct check *k, char **argv)
{
	char *path = preload_find_command(argv[0]);
	int status;

	if (!path) {
		tool_error("check: %s: command not found", argv[0]);
		return STATUS_USAGE;
	}
	free(path);
	k->argv = (const char *const *)argv;
	read_config(k);
	k->obstacle = preload_check_command(k->argv);
	k->runtime = sanitizer_find_runtime(argv[0]);
	if (!k->obstacle)
		k->obstacle = find_sanitizer(k->argv);
	k->status = run_checked_command(argv, k->library, k->dir, false);
	checked_read(&k->seen, k->dir);
	status = check_show(k);
	config_free(&k->cfg);
	return status;
}

int verb_check(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options),
		.command = true};
	struct check k = {0};
	const char *color = "auto";
	int o, status;

	while ((o = cli_read_argument(&c)) != CLI_END && o != CLI_OPERAND) {
		switch (o) {
		case OPT_ALL:
			k.all = true;
			break;
		case OPT_JSON:
			k.json = true;
			break;
		case OPT_COLOR:
			color = c.value;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		default:
			return STATUS_USAGE;
		}
	}
	if (!out_set_color(color)) {
		tool_error("check: --color %s: accepted: auto, always, never", color);
		return STATUS_USAGE;
	}
	k.library = preload_find_library();
	k.dir = k.library ? add_result_folder() : NULL;
	if (!k.dir) {
		free(k.library);
		return STATUS_USAGE;
	}
	status = o == CLI_END ? read_exports(&k) : check_command(&k, argv + c.at - 1);
	tool_remove_folder(k.dir);
	checked_free(&k.seen);
	free(k.obstacle);
	free(k.runtime);
	free(k.library);
	free(k.dir);
	return tool_close_output(status);
}
