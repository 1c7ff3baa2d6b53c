/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every test, with a folder of its own. */
#ifndef TESTS_UNIT_TMP_HELPER_H
#define TESTS_UNIT_TMP_HELPER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void empty_dir(int fd)
{
	DIR *d = fdopendir(fd);

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
			unlinkat(fd, e->d_name, 0) < 0) {
			empty_dir(openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
			unlinkat(fd, e->d_name, AT_REMOVEDIR);
		}
	if (d)
		closedir(d);
}

static inline void remove_tree(const char *path)
{
	empty_dir(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	rmdir(path);
}

static inline void make_tmp(char *dir, size_t cap)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, cap, "%s/probe-unit-XXXXXX", tmp && strlen(tmp) < cap - 24 ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
}

#endif
