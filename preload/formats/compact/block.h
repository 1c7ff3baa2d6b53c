/* SPDX-License-Identifier: Apache-2.0 */
/* One block of a compact file (compact_layout.h) in the making, and the dictionaries that it shares with those before it. */
#ifndef PROBE_FORMATS_COMPACT_BLOCK_H
#define PROBE_FORMATS_COMPACT_BLOCK_H

#include "sink/record.h"

struct compact_block;

/* Some 2 MiB of addresses, of which only what is used takes memory. NULL: no memory. */
struct compact_block *compact_block_open(void);
void compact_block_free(struct compact_block *b);

/*
 * Adds a call with all its rows: 0, or, with no call added, -ENOBUFS: the block has to be written first, and -ENOMEM. What
 * is in the dictionaries by then stays there.
 */
int compact_block_add(struct compact_block *b, const struct record *r);

/* The number of calls in the block, the bytes that it takes, and the block itself, written at p, which has that many bytes. */
uint32_t compact_block_get_calls(const struct compact_block *b);
size_t compact_block_measure(const struct compact_block *b);
void compact_block_write(struct compact_block *b, unsigned char *p);

/* Goes on with an empty block. forget: and with empty dictionaries, as the first block of a file has to. */
void compact_block_reset(struct compact_block *b, bool forget);

/* Its dictionaries are so full that they should be forgotten. */
bool compact_block_is_crowded(const struct compact_block *b);

#endif
