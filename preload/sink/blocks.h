/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls files a folder holds: blocks of steps, in parts. For the limit on the folder's size, and to go on in the
 * newest part of a block. Part of sink/files.c.
 */
#ifndef PROBE_SINK_BLOCKS_H
#define PROBE_SINK_BLOCKS_H

#include "sink/files.h"

/* The name of a calls file; block: its first step. */
void blocks_path(const struct files *f, uint32_t block, uint32_t part, char *buf, size_t cap);

/* The entry of that file, NULL if there is none; and a new one, NULL if there is no memory. */
struct out_block *blocks_find(struct files *f, uint32_t block, uint32_t part);
struct out_block *blocks_add(struct files *f, uint32_t block, uint32_t part, uint64_t bytes);

/* Looks at what the folder holds. Empty files, made by a pass that was killed before it wrote, are removed. -errno. */
int blocks_scan(struct files *f);

/* Closes the file and forgets its text. */
void files_forget(struct out_file *o);

#endif
