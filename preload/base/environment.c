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
 * The working directory, then the variables: usually less than 512 bytes, and nothing else is written at a process's start.
 * The list is made at the first need.
 */
static struct {
	int n; /* variables */
	char text[CWD_BYTES + ENV_BYTES];
} remembered __attribute__((aligned(512)));

static char *env_list[ENV_MAX + 1];
extern char **environ;

START_CODE static void read_environment(void)
{
	size_t at;
	int n = 0;

	is_read = environ != NULL;
	if (!getcwd(remembered.text, CWD_BYTES))
		remembered.text[0] = 0; /* the folder may be gone */
	at = strlen(remembered.text) + 1;
	for (char **e = environ; e && *e && n < ENV_MAX; e++) {
		size_t len = strlen(*e) + 1;

		/* HOME for ~ in paths; where the loader looks; where temporary files go. */
		if ((strncmp(*e, "PROBE_", 6) && strncmp(*e, "HOME=", 5) &&
			    strncmp(*e, "LD_LIBRARY_PATH=", 16) && strncmp(*e, "TMPDIR=", 7)) ||
			len > sizeof(remembered.text) - at)
			continue;
		memcpy(remembered.text + at, *e, len);
		n++;
		at += len;
	}
	remembered.n = n;
}

START_CODE void startup_remember(void)
{
	if (!is_read)
		read_environment();
}

char *const *startup_env(void)
{
	/* A library's constructor may call a wrapper before ours has run. */
	startup_remember();

	char *s = remembered.text + strlen(remembered.text) + 1;

	/* Threads that are here at once write the same. */
	for (int i = 0; i < remembered.n; i++, s += strlen(s) + 1)
		env_list[i] = s;
	return env_list;
}

const char *startup_cwd(void)
{
	startup_remember();
	return remembered.text[0] ? remembered.text : "/";
}
