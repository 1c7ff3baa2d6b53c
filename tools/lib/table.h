/* SPDX-License-Identifier: Apache-2.0 */
/* Tables found by a key of two 64-bit numbers. Elements keep their number and their address; they are freed all at once. */
#ifndef PROBE_TOOLS_LIB_TABLE_H
#define PROBE_TOOLS_LIB_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_place {
	uint32_t number; /* of the element, + 1; 0: empty */
	uint32_t mark; /* of its key's hash */
};

struct table {
	size_t element; /* bytes of an element, which begins with the two key words */
	uint32_t n, max; /* never more than max */
	struct table_place *place;
	uint32_t nplace;
	void *latest; /* the element of the last lookup: it is often looked up again */
	char **page;
	unsigned npage, page_bits; /* elements of a page */
};

struct table_key {
	uint64_t a, b;
};

void table_init(struct table *t, size_t element, uint32_t max);
/* For one of many tables with few elements each: memory is allocated for 16 at a time. */
void table_init_small(struct table *t, size_t element, uint32_t max);
void table_free(struct table *t);

/* The element of that key, added (zero except for the key) if there is none; NULL when the table is full. */
void *table_get(struct table *t, uint64_t a, uint64_t b);
/* The same without adding one; NULL: none. */
void *table_find(const struct table *t, uint64_t a, uint64_t b);
/* The i-th element in the order of insertion. */
void *table_at(const struct table *t, uint32_t i);

#endif
