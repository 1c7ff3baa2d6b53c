/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of native addresses, from the debugging information in the modules' files or in separate files under /usr/lib/debug. Nothing
 * is fetched from a network.
 */
#ifndef PROBE_TOOLS_LINES_H
#define PROBE_TOOLS_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/loaded/modules.h"

struct lines;

/*
 * Never returns NULL. Removes DEBUGINFOD_URLS from this process's environment: libdw would ask those servers, which takes minutes on a node
 * without internet access.
 */
struct lines *lines_new(void);
void lines_free(struct lines *l);

/*
 * Writes "file:line" of the call that returns to pc (pc - 1 is looked up); the file as the compiler recorded it, made absolute
 * by its working directory. For inlined calls the innermost function is used. Returns 0, -ENOENT: no debugging information or
 * none for pc, -ESTALE: the file differs from the module that was loaded (build id), -ENOBUFS: does not fit into cap bytes.
 * Later calls for the same file are fast.
 */
int lines_find(struct lines *l, const struct module *m, uint64_t pc, char *buf, size_t cap);

#endif
