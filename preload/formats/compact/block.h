/* SPDX-License-Identifier: Apache-2.0 */
/* One block of a compact file (compact_layout.h) being written, and the dictionaries that it shares with earlier blocks. */
#ifndef PROBE_FORMATS_COMPACT_BLOCK_H
#define PROBE_FORMATS_COMPACT_BLOCK_H

#include "sink/record.h"

struct compact_block;

/*
 * Reserves about 2 MiB of address space, of which only the used part takes memory. Returns NULL
 * if there is no memory.
 */
struct compact_block *compact_block_open(void);
void compact_block_free(struct compact_block *b);

/*
 * Adds a call with all its rows. Returns 0; -ENOBUFS: the block is full and must be written
 * first; -ENOMEM. After an error the call is not in the block, but entries that it added to the
 * dictionaries stay.
 */
int compact_block_add(struct compact_block *b, const struct record *r);

/*
 * The number of calls in the block; its size in bytes; and the block itself, written to p, which
 * must have this size.
 */
uint32_t compact_block_get_calls(const struct compact_block *b);
size_t compact_block_measure(const struct compact_block *b);
void compact_block_write(struct compact_block *b, unsigned char *p);

/*
 * Continues with an empty block. forget: also empties the dictionaries, as the first block of a
 * file requires.
 */
void compact_block_reset(struct compact_block *b, bool forget);

/* True if the dictionaries are so full that they should be emptied. */
bool compact_block_is_crowded(const struct compact_block *b);

#endif
