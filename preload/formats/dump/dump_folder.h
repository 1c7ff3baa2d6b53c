/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a dump: <dump_path>/step<N>/rank<R>/, by default next to the ranks' folders. */
#ifndef PROBE_SINK_DUMP_FOLDER_H
#define PROBE_SINK_DUMP_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/files.h"

/*
 * Opens the folder that contains all step folders, and makes it if necessary. Returns a
 * descriptor or -errno.
 */
int dump_root_open(struct files *f);

/*
 * Makes and opens step<step>/rank<R>. own: the folder belongs to this process already; if not,
 * files of an earlier run are first moved to step<step>.<n>/rank<R>. Returns the descriptor, or
 * -errno.
 */
int dump_folder_open(struct files *f, uint32_t step, bool own);

/* True if the folder of `step` already contains a dump.json. */
bool dump_folder_is_made(struct files *f, uint32_t step);

#endif
