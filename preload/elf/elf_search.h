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

/* An object that needs libraries. */
struct elf_asker {
	const char *path; /* path of the object's file, for $ORIGIN */
	const char *rpath, *runpath; /* NULL: none */
	bool no_default;
	const struct elf_asker *by; /* the object that needs this object; NULL: none */
};

/*
 * Opens the file that ld.so would load for `name` (with a slash: a path), and stores its path in
 * path[]. library_path: LD_LIBRARY_PATH or NULL. Returns false, with f closed, if ld.so would
 * find none.
 */
bool elf_find_file(struct elf_file *f, const char *name, const struct elf_asker *by,
	const char *library_path, char path[ELF_PATH_MAX]);

/*
 * Looks a name up in ld.so.cache: calls visit() for each file of this name for this machine, best
 * first, until visit() returns true. Returns false if it never did.
 */
bool ld_cache_find(const char *name, bool (*visit)(const char *path, void *arg), void *arg);

/* Like ld_cache_find(), in a cache file in memory. Nothing in the file is trusted. */
bool ld_cache_find_in(const void *bytes, size_t size, const char *name,
	bool (*visit)(const char *path, void *arg), void *arg);

/* True if this processor can use glibc-hwcaps/<name>. */
bool elf_has_hwcaps(const char *name, size_t len);

#endif
