/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file that ld.so would load for a library's name: DT_RPATH of the requesting objects (unless they have DT_RUNPATH),
 * LD_LIBRARY_PATH as it was at process start, DT_RUNPATH, /etc/ld.so.cache, the standard folders; in each folder first the
 * subfolders of glibc-hwcaps that this processor can use. Files for other machines are skipped. See ld.so(8).
 *
 * Not followed: the old hwcaps subfolders (haswell, tls ...), and a program's own --library-path.
 */
#ifndef PROBE_ELF_ELF_SEARCH_H
#define PROBE_ELF_ELF_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "elf/elf_file.h"

#define ELF_PATH_MAX 4096

/* An object that requests libraries. */
struct elf_asker {
	const char *path; /* of the object's file, for $ORIGIN */
	const char *rpath, *runpath; /* NULL: none */
	bool no_default;
	const struct elf_asker *by; /* the object that needs this one; NULL: none */
};

/*
 * Opens the file that ld.so would load for `name` (with a slash: a path). path gets its name. library_path: LD_LIBRARY_PATH or
 * NULL. False: ld.so would find none; f is closed.
 */
bool elf_search(struct elf_file *f, const char *name, const struct elf_asker *by,
	const char *library_path, char path[ELF_PATH_MAX]);

/*
 * Looks a name up in ld.so.cache: calls visit for each file of that name for this machine, best first, until it
 * returns true. False: none.
 */
bool ld_cache_find(const char *name, bool (*visit)(const char *path, void *arg), void *arg);

/* The same in a file in memory. Nothing in it is trusted. */
bool ld_cache_find_in(const void *bytes, size_t size, const char *name,
	bool (*visit)(const char *path, void *arg), void *arg);

/* True if this processor can use glibc-hwcaps/<name>. */
bool elf_hwcaps_usable(const char *name, size_t len);

#endif
