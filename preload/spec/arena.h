/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once, and never more of it than a limit. */
#ifndef PROBE_SPEC_ARENA_H
#define PROBE_SPEC_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_block *blocks;
	size_t room; /* bytes left in the first block */
	size_t used; /* bytes handed out */
	size_t limit; /* of `used` */
};

/* n bytes, zeroed, aligned for any type; NULL: no memory, or beyond the limit. */
void *arena_new(struct arena *a, size_t n);

/* Gives all of it back; the arena can be used again. */
void arena_free(struct arena *a);

#endif
