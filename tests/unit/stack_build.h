/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the stack room: builds small shared objects while the test runs, because one source must exist in many
 * builds (with and without frame pointers, by both compilers, with and without symbols).
 */
#ifndef TESTS_UNIT_STACK_BUILD_H
#define TESTS_UNIT_STACK_BUILD_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char build_root[PATH_MAX], build_dir[64];

/* Finds the source tree from this file's name and makes a folder for what is built. */
static bool build_begin(void)
{
	char here[PATH_MAX];
	const char *file = __FILE__;
	char *unit;

	if (file[0] == '/')
		snprintf(here, sizeof(here), "%s", file);
	else if (!getcwd(here, sizeof(here) - strlen(file) - 2))
		return false;
	else
		strcat(strcat(here, "/"), file);
	unit = strstr(here, "tests/unit/");
	if (!unit)
		return false;
	*unit = '\0';
	strcpy(build_root, here);
	strcpy(build_dir, "/tmp/probe-test-XXXXXX");
	return mkdtemp(build_dir);
}

__attribute__((format(printf, 1, 2))) static int build_run(const char *fmt, ...)
{
	char cmd[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd);
}

static void build_end(void)
{
	if (build_dir[0])
		build_run("rm -rf '%s'", build_dir);
}

/* tests/apps/<source> as <build_dir>/<name>; false if the compiler is missing or fails. */
static bool build(const char *cc, const char *flags, const char *source, const char *name)
{
	return !build_run(
		"command -v %s >/dev/null && cd '%s' && %s -w %s -o '%s/%s' 'tests/apps/%s'", cc,
		build_root, cc, flags, build_dir, name, source);
}

/* First line that a command prints, without the newline. */
__attribute__((format(printf, 3, 4))) static inline bool build_output(
	char *buf, size_t cap, const char *fmt, ...)
{
	char cmd[8192];
	va_list ap;
	FILE *f;
	bool ok;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	f = popen(cmd, "r");
	if (!f)
		return false;
	ok = fgets(buf, (int)cap, f);
	pclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

#endif
