/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a dump: <dump_path>/step<N>/rank<R>/, by default next to the ranks' folders. */
#ifndef PROBE_SINK_DUMP_FOLDER_H
#define PROBE_SINK_DUMP_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/files.h"

/* The folder of all steps' folders, made if there is none. -errno. */
int dump_root_open(struct files *f);

/*
 * Makes and opens step<step>/rank<R>. own: it belongs to this process already; else files of an earlier run are moved
 * to step<step>.<n>/rank<R> first. Returns the descriptor, or -errno.
 */
int dump_folder_open(struct files *f, uint32_t step, bool own);

/* True if it contains a dump.json already. */
bool dump_folder_is_made(struct files *f, uint32_t step);

#endif
