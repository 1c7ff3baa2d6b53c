/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of native addresses, from the debugging information in the modules' files or in
 * separate files under /usr/lib/debug. Nothing is fetched over a network.
 */
#ifndef PROBE_TOOLS_LINES_H
#define PROBE_TOOLS_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/loaded/modules.h"

struct lines;

/*
 * Never returns NULL. Removes DEBUGINFOD_URLS from this process's environment, because libdw would
 * ask those servers. On a node without internet access that takes minutes.
 */
struct lines *lines_open(void);
void lines_free(struct lines *l);

/*
 * Writes "file:line" of the call that returns to pc (pc - 1 is looked up) to buf. The file name is
 * the compiler's, made absolute with the compiler's working directory. For inlined calls the
 * innermost function is used. Returns 0; -ENOENT if there is no debugging information, or none for
 * pc; -ESTALE if the file is not the module that was loaded (build id); -ENOBUFS if the text does
 * not fit into cap bytes. Later calls for the same file are fast.
 */
int lines_find(struct lines *l, const struct module *m, uint64_t pc, char *buf, size_t cap);

#endif
