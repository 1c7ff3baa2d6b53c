/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/sql/sql_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/lib/tool.h"
#include "tools/probe/run/preload.h"

extern char **environ;

/* Python program. Its exit status tells which module is installed: 0 duckdb_cli, 1 duckdb, 2 neither. */
static const char find_module[] = "import importlib.util as u, sys\n"
				  "sys.exit(0 if u.find_spec('duckdb_cli') else 1 if "
				  "u.find_spec('duckdb') else 2)\n";

/* A module without a command needs this program to print its results. */
static const char print_results[] =
	"import csv, json, sys, duckdb\n"
	"prelude, form, query = sys.argv[1:]\n"
	"try:\n"
	"    db = duckdb.connect()\n"
	"    db.execute(open(prelude).read())\n"
	"    for statement in db.extract_statements(query):\n"
	"        result = db.query(statement)\n"
	"        if result is None:\n"
	"            continue\n"
	"        if form == 'table':\n"
	"            result.show(max_width=10000, max_rows=100000)\n"
	"        elif form == 'json':\n"
	"            print(json.dumps([dict(zip(result.columns, r)) for r in result.fetchall()], "
	"default=str))\n"
	"        else:\n"
	"            csv.writer(sys.stdout, lineterminator='\\n').writerows([result.columns, "
	"*result.fetchall()])\n"
	"except duckdb.Error as e:\n"
	"    sys.exit(str(e))\n";

static bool has_program(const char *name)
{
	char *path = preload_find_command(name);

	free(path);
	return path != NULL;
}

/*
 * Runs python3 with this program, discarding both outputs. Returns the exit status, or -1 if it
 * could not be run.
 */
static int check_python(const char *text)
{
	char *argv[] = {(char *)"python3", (char *)"-c", (char *)text, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status, err;

	if (posix_spawn_file_actions_init(&actions))
		return -1;
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum sql_engine find_engine(void)
{
	if (has_program("duckdb"))
		return ENGINE_PROGRAM;
	switch (check_python(find_module)) {
	case 0:
		return ENGINE_CLI_MODULE;
	case 1:
		return ENGINE_MODULE;
	default:
		return ENGINE_NONE;
	}
}

static int start_engine_program(const char *const *argv)
{
	execvp(argv[0], (char *const *)argv);
	tool_error("sql: %s: %s", argv[0], strerror(errno));
	return STATUS_USAGE;
}

int start_engine(enum sql_engine e, int prelude, enum sql_format format, const char *query)
{
	static const char *const option[] = {
		[SQL_TABLE] = NULL, [SQL_JSON] = "-json", [SQL_CSV] = "-csv"};
	static const char *const word[] = {
		[SQL_TABLE] = "table", [SQL_JSON] = "json", [SQL_CSV] = "csv"};
	const char *argv[12];
	unsigned n = 0;
	char file[32], read[48];

	/* A path is passed, because `duckdb` may be a script whose children do not inherit the descriptor. */
	snprintf(file, sizeof(file), "/proc/%d/fd/%d", (int)getpid(), prelude);
	snprintf(read, sizeof(read), ".read %s", file);
	if (e == ENGINE_MODULE && !query) {
		tool_error("sql: PyPI's duckdb has no prompt: give a query, or run python3 -m pip "
			   "install duckdb-cli");
		return STATUS_USAGE;
	}
	if (e == ENGINE_MODULE) {
		const char *const python[] = {
			"python3", "-c", print_results, file, word[format], query, NULL};

		return start_engine_program(python);
	}
	if (e == ENGINE_CLI_MODULE) {
		argv[n++] = "python3";
		argv[n++] = "-m";
		argv[n++] = "duckdb_cli";
	} else {
		argv[n++] = "duckdb";
	}
	if (option[format])
		argv[n++] = option[format];
	argv[n++] = "-cmd";
	argv[n++] = read;
	if (query) {
		argv[n++] = "-bail";
		argv[n++] = "-c";
		argv[n++] = query;
	}
	argv[n] = NULL;
	return start_engine_program(argv);
}
