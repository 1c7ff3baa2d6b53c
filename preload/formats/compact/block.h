/* SPDX-License-Identifier: Apache-2.0 */
/* One block of a compact file (compact_layout.h) being written, and the dictionaries that it shares with earlier blocks. */
#ifndef PROBE_FORMATS_COMPACT_BLOCK_H
#define PROBE_FORMATS_COMPACT_BLOCK_H

#include "sink/record.h"

struct compact_block;

/* Reserves about 2 MiB of address space, of which only the used part takes memory. NULL: no memory. */
struct compact_block *compact_block_open(void);
void compact_block_free(struct compact_block *b);

/*
 * Adds a call with all its rows: 0, or without adding it -ENOBUFS: the block must be written first, or -ENOMEM. Entries already
 * added to the dictionaries stay there.
 */
int compact_block_add(struct compact_block *b, const struct record *r);

/* The number of calls in the block, the bytes that it takes, and the block itself, written at p, which has that many bytes. */
uint32_t compact_block_get_calls(const struct compact_block *b);
size_t compact_block_measure(const struct compact_block *b);
void compact_block_write(struct compact_block *b, unsigned char *p);

/* Continues with an empty block. forget: also with empty dictionaries, which the first block of a file needs. */
void compact_block_reset(struct compact_block *b, bool forget);

/* True if its dictionaries are so full that they should be reset. */
bool compact_block_is_crowded(const struct compact_block *b);

#endif
