/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables with keys of two 64-bit numbers. An element keeps its number and its address until
 * table_free().
 */
#ifndef PROBE_TOOLS_LIB_TABLE_H
#define PROBE_TOOLS_LIB_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_place {
	uint32_t number; /* number of the element plus 1; 0: empty */
	uint32_t mark; /* some bits of the hash of its key */
};

struct table {
	/* Size of an element in bytes; an element begins with its struct table_key. */
	size_t element;
	uint32_t n, max; /* n: number of elements, at most max */
	struct table_place *place;
	uint32_t nplace;
	/* Cache: the element of the last lookup. The next lookup is often for the same key. */
	void *latest;
	char **page;
	unsigned npage, page_bits; /* page_bits: binary logarithm of the elements per page */
};

struct table_key {
	uint64_t a, b;
};

void table_init(struct table *t, size_t element, uint32_t max);
/*
 * Like table_init(), for many tables with few elements each: memory is allocated for 16 elements at
 * a time.
 */
void table_init_small(struct table *t, size_t element, uint32_t max);
void table_free(struct table *t);

/*
 * Returns the element with key a, b. If there is none, adds one, zero except for the key. Returns
 * NULL if the table is full.
 */
void *table_get(struct table *t, uint64_t a, uint64_t b);
/* Returns the element with key a, b, or NULL if there is none. */
void *table_find(const struct table *t, uint64_t a, uint64_t b);
/* Returns element i, in the order in which they were added. */
void *table_at(const struct table *t, uint32_t i);

#endif
