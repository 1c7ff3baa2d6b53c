/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `stub`, and the functions that `run` and `check` also use. */
#include "tools/probe/run/stubs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "tools/lib/cli.h"
#include "tools/probe/run/preload.h"
#include "tools/lib/tool.h"

static const char help[] =
	"usage: probe stub -o FILE [-c CONFIG] [--] CMD\n"
	"\n"
	"Writes a stub object: a library with one small function for each function that "
	"apis/custom.yaml and the like\n"
	"describe and that the program's libraries define. `probe run` does this automatically; "
	"this "
	"verb is for jobs\n"
	"that set LD_PRELOAD in another way. There the file must come after libprobe.so.\n"
	"\n"
	"  -o, --output FILE   the file to write\n"
	"  -c, --config FILE   probe.yaml to use\n"
	"\n"
	"Exit status 1: the program's libraries define no such function; no file is written.\n"
	"\n"
	"examples:\n"
	"  probe stub -o stubs.so ./train && LD_PRELOAD=/opt/lib/libprobe.so:$PWD/stubs.so "
	"./train\n";

enum { OPT_OUTPUT, OPT_CONFIG };

static const struct cli_option options[] = {
	[OPT_OUTPUT] = {"output", 'o', true},
	[OPT_CONFIG] = {"config", 'c', true},
};

struct stub_options {
	const char *config; /* value for PROBE_CONFIG, or NULL */
	bool quiet;
};

/* Runs this program under libprobe.so, which writes the file when the program ends. */
static void start_stub_child(const char *file, const char *library, const char *program,
	const struct stub_options *settings)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, 1);
	setenv("LD_PRELOAD", library, 1);
	setenv("PROBE_STUB_FILE", file, 1);
	setenv("PROBE_STUB_FOR", program, 1);
	if (settings->config)
		setenv("PROBE_CONFIG", settings->config, 1);
	/* The job itself reports errors in its configuration. */
	if (settings->quiet)
		setenv("PROBE_LOG_LEVEL", "0", 1);
	unsetenv("PROBE_CHECK");
	execl(tool_get_own_path(), "probe", "--version", (char *)NULL);
	tool_error("%s: %s", tool_get_own_path(), strerror(errno));
	_exit(2);
}

/*
 * Writes the stub object for the program of a command name (for a script: its interpreter). Returns
 * 1, 0 if no function of its libraries needs one, or -1 (reported).
 */
static int stubs_write(const char *file, const char *library, const char *command,
	const struct stub_options *settings)
{
	char *program = preload_find_program(command);
	struct stat st;
	int status = 0;
	pid_t pid;

	if (!program)
		return 0;
	if (unlink(file) < 0 && errno != ENOENT) {
		tool_error("stub: %s: %s", file, strerror(errno));
		free(program);
		return -1;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		start_stub_child(file, library, program, settings);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	free(program);
	if (pid < 0 || status) {
		tool_error("stub: %s was not written: the process that writes it %s", file,
			pid < 0 ? "could not be started" : "failed");
		return -1;
	}
	return stat(file, &st) == 0;
}

/*
 * Creates a private folder to which no other user can write, because its files become part of
 * programs.
 */
static char *get_own_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char *base = tool_get_absolute_path(tmp && *tmp ? tmp : "/tmp");
	char *dir = tool_format("%s/libprobe-%u", base, (unsigned)geteuid());
	struct stat st;

	free(base);
	if ((mkdir(dir, 0700) < 0 && errno != EEXIST) || lstat(dir, &st) < 0) {
		tool_warn("%s: %s; functions of libraries that the program loads at start are not "
			  "recorded; set TMPDIR to a writable folder",
			dir, strerror(errno));
	} else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022 ||
		   strpbrk(dir, ": \t")) {
		tool_warn("%s: a folder that others can write, or with a name that LD_PRELOAD "
			  "cannot hold; functions of libraries that the program loads at start are "
			  "not recorded; set TMPDIR to another place",
			dir);
	} else {
		return dir;
	}
	free(dir);
	return NULL;
}

static uint64_t compute_file_hash(const char *file)
{
	FILE *f = fopen(file, "re");
	uint64_t h = 0, word;

	while (f && fread(&word, 1, sizeof(word), f) == sizeof(word))
		h = hash_u64(h, word);
	if (f)
		fclose(f);
	return h;
}

char *stubs_get_object(const char *library, const char *command, const char *config)
{
	const char *off = getenv("PROBE_DISABLE");
	const struct stub_options how = {config, true};
	char *dir, *made, *path = NULL;

	if (off && *off && strcmp(off, "0"))
		return NULL;
	dir = get_own_folder();
	if (!dir)
		return NULL;
	made = tool_format("%s/%d.new", dir, (int)getpid());
	if (stubs_write(made, library, command, &how) == 1) {
		path = tool_format("%s/" STUBS_PREFIX "%016llx.so", dir,
			(unsigned long long)compute_file_hash(made));
		if (rename(made, path) < 0) {
			tool_warn("%s: %s", path, strerror(errno));
			unlink(made);
			free(path);
			path = NULL;
		}
	}
	free(made);
	rmdir(dir); /* only removed if it is empty */
	free(dir);
	return path;
}

static int write_stub_file(const char *file, const char *command, const char *config)
{
	char *library = preload_find_library(), *found;
	int n;

	if (!library)
		return STATUS_USAGE;
	found = preload_find_command(command);
	if (!found) {
		tool_error("stub: %s: command not found", command);
		free(library);
		return STATUS_USAGE;
	}
	free(found);
	n = stubs_write(file, library, command, &(struct stub_options){config, false});
	free(library);
	if (n == 0)
		tool_warn(
			"stub: the libraries of %s define no function that needs a stub", command);
	return n < 0 ? STATUS_USAGE : n ? STATUS_DONE : STATUS_PROBLEM;
}

int verb_stub(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options),
		.command = true};
	char *file = NULL, *config = NULL;
	int o, status = 0;

	while (!status && (o = cli_read_argument(&c)) != CLI_END && o != CLI_OPERAND) {
		switch (o) {
		case OPT_OUTPUT:
			free(file);
			file = tool_get_absolute_path(c.value);
			break;
		case OPT_CONFIG:
			free(config);
			config = tool_get_absolute_path(c.value);
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		default:
			status = STATUS_USAGE;
		}
	}
	if (!status && (!c.value || !file)) {
		tool_error("stub: %s; `probe stub --help` has examples",
			file ? "no command" : "no -o FILE");
		status = STATUS_USAGE;
	}
	if (!status)
		status = write_stub_file(file, c.value, config);
	free(file);
	free(config);
	return status;
}
