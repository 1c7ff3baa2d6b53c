/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls files in a folder: blocks of steps, in parts. Used for the limit on the folder's size, and to continue in
 * the newest part of a block. Part of sink/files.c.
 */
#ifndef PROBE_SINK_BLOCKS_H
#define PROBE_SINK_BLOCKS_H

#include "sink/files.h"

#define BLOCK_PATH_MAX 56

/* The name of a calls file without .gz; block: the first step in it. */
void format_block_path(const struct files *f, enum calls_kind kind, uint32_t block, uint32_t part,
	char *buf, size_t cap);

/*
 * blocks_find() returns the entry of the file, or NULL if there is none; blocks_add() makes it,
 * or returns NULL if there is no memory.
 */
struct out_block *blocks_find(struct files *f, enum calls_kind kind, uint32_t block, uint32_t part);
struct out_block *blocks_add(
	struct files *f, enum calls_kind kind, uint32_t block, uint32_t part, uint64_t bytes);

/*
 * Reads which calls files the folder contains. Removes empty files of a pass that was killed
 * before it wrote, and the results of a killed compression: the plain file is complete as long as
 * it exists. Returns 0 or -errno.
 */
int blocks_load_and_clean(struct files *f);

/*
 * Closes the file and drops its buffered text; the second function does so for the file with this
 * path.
 */
void files_close_unwritten(struct out_file *o);
void blocks_close(struct files *f, const char *path);

#endif
