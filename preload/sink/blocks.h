/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls files in a folder: blocks of steps, in parts. Used for the limit on the folder's size, and to continue in
 * the newest part of a block. Part of sink/files.c.
 */
#ifndef PROBE_SINK_BLOCKS_H
#define PROBE_SINK_BLOCKS_H

#include "sink/files.h"

#define BLOCK_PATH_MAX 56

/* The name of a calls file without .gz; block: its first step. */
void blocks_path(const struct files *f, enum calls_kind kind, uint32_t block, uint32_t part,
	char *buf, size_t cap);

/* The entry of that file, NULL if there is none; and a new one, NULL if there is no memory. */
struct out_block *blocks_find(struct files *f, enum calls_kind kind, uint32_t block, uint32_t part);
struct out_block *blocks_add(
	struct files *f, enum calls_kind kind, uint32_t block, uint32_t part, uint64_t bytes);

/*
 * Reads the content of the folder. Removes empty files, left by a pass that was killed before it wrote, and the results of a
 * killed compression: the plain file is complete as long as it exists. Returns 0 or -errno.
 */
int blocks_scan(struct files *f);

/* Closes the file and drops its text; the second does so for the file of that name. */
void files_forget(struct out_file *o);
void blocks_close(struct files *f, const char *path);

#endif
