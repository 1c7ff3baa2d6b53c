/* SPDX-License-Identifier: Apache-2.0 */
#include "base/environment.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/at_start.h"

#define ENV_BYTES 16384
#define ENV_MAX 128

#define CWD_BYTES 4096

static START_DATA bool is_read;

/*
 * The working directory, then the variables. Usually less than 512 bytes, and the only memory
 * written at process start.
 */
static struct {
	int n; /* number of variables */
	char text[CWD_BYTES + ENV_BYTES];
	char *list[ENV_MAX + 1]; /* filled in on first use */
} remembered __attribute__((aligned(512)));

extern char **environ;

/*
 * True for variables that libprobe needs besides its own: HOME for ~ in paths, the loader's
 * search paths, the folder of temporary files, the folder of other tools' configurations, msrun's
 * scheduler, the number of ranks.
 */
START_CODE static bool is_remembered(const char *entry)
{
	static START_CONST const char names[][24] = {"PROBE_",
		"HOME=", "LD_LIBRARY_PATH=", "TMPDIR=", "MONITOR_OUTPUT_DIR=", "DYNAMIC_MONITOR=",
		"MA_SUMMARY_LOG_DIR=", "MS_ROLE=", "RANK_SIZE=", "WORLD_SIZE=", "MS_WORKER_NUM=",
		"OMPI_COMM_WORLD_SIZE=", "PMI_SIZE="};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

START_CODE static void read_environment(void)
{
	size_t at;
	int n = 0;

	is_read = environ != NULL;
	if (!getcwd(remembered.text, CWD_BYTES))
		remembered.text[0] = 0; /* the working directory may have been removed */
	at = strlen(remembered.text) + 1;
	for (char **e = environ; e && *e && n < ENV_MAX; e++) {
		size_t len = strlen(*e) + 1;

		if (!is_remembered(*e) || len > sizeof(remembered.text) - at)
			continue;
		memcpy(remembered.text + at, *e, len);
		n++;
		at += len;
	}
	remembered.n = n;
}

START_CODE void startup_copy_environment(void)
{
	if (!is_read)
		read_environment();
}

/* Returns the first variable, after the working directory. */
START_CODE static char *get_variables(void)
{
	/*
	 * Another library's constructor may call a wrapper before libprobe's constructor has run.
	 */
	startup_copy_environment();
	return remembered.text + strlen(remembered.text) + 1;
}

START_CODE const char *startup_find_variable(const char *name)
{
	const char *s = get_variables();
	size_t n = strlen(name);

	for (int i = 0; i < remembered.n; i++, s += strlen(s) + 1)
		if (strncmp(s, name, n) == 0 && s[n] == '=' && s[n + 1])
			return s + n + 1;
	return NULL;
}

char *const *startup_get_environment(void)
{
	char *s = get_variables();

	/* Threads that run this at the same time write the same values. */
	for (int i = 0; i < remembered.n; i++, s += strlen(s) + 1)
		remembered.list[i] = s;
	return remembered.list;
}

const char *startup_get_cwd(void)
{
	startup_copy_environment();
	return remembered.text[0] ? remembered.text : "/";
}
