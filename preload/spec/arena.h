/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once, with an upper limit. */
#ifndef PROBE_SPEC_ARENA_H
#define PROBE_SPEC_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_block *blocks;
	size_t space; /* bytes left in the first block */
	size_t used; /* bytes handed out */
	size_t limit; /* maximum of `used` */
};

/*
 * Returns n bytes, zeroed, aligned for any type. Returns NULL if there is no memory, or the limit
 * would be exceeded.
 */
void *arena_new(struct arena *a, size_t n);

/* Frees all memory; the arena can be used again. */
void arena_free(struct arena *a);

#endif
