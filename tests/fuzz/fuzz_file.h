/* SPDX-License-Identifier: Apache-2.0 */
/* For fuzzers of what is read by its path: a folder of this process, below TMPDIR, that goes away at its end. */
#ifndef PROBE_TESTS_FUZZ_FILE_H
#define PROBE_TESTS_FUZZ_FILE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUZZ_PATH_MAX 512

static char fuzz_folder[FUZZ_PATH_MAX];

static int remove_fuzz_entry(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

static void remove_fuzz_folder(void)
{
	nftw(fuzz_folder, remove_fuzz_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* True the first time, when the folder has just been made. */
static inline bool make_fuzz_folder(void)
{
	const char *below = getenv("TMPDIR");

	if (*fuzz_folder)
		return false;
	snprintf(fuzz_folder, sizeof(fuzz_folder), "%.400s/fuzz.XXXXXX",
		below && *below ? below : "/tmp");
	if (!mkdtemp(fuzz_folder) || atexit(remove_fuzz_folder))
		abort();
	return true;
}

/* The path of that name in the folder, into `path` of FUZZ_PATH_MAX bytes; returns it. */
static inline const char *fuzz_path(char *path, const char *name)
{
	if (snprintf(path, FUZZ_PATH_MAX, "%s/%s", fuzz_folder, name) >= FUZZ_PATH_MAX)
		abort();
	return path;
}

static inline void make_fuzz_subfolder(const char *name)
{
	char path[FUZZ_PATH_MAX];

	if (mkdir(fuzz_path(path, name), 0700))
		abort();
}

/* Those bytes are all that the file of that name holds. */
static inline void put_fuzz_file(const char *name, const void *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	int fd = open(fuzz_path(path, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

#endif
