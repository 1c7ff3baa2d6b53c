/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"

#define PAGE_BITS 8
#define PAGE (1u << PAGE_BITS)

void table_init(struct table *t, size_t element, uint32_t max)
{
	*t = (struct table){.element = element, .max = max};
}

void table_free(struct table *t)
{
	for (unsigned i = 0; i < t->npage; i++)
		free(t->page[i]);
	free(t->page);
	free(t->place);
	*t = (struct table){.element = t->element, .max = t->max};
}

void *table_at(const struct table *t, uint32_t i)
{
	return t->page[i >> PAGE_BITS] + (size_t)(i & (PAGE - 1)) * t->element;
}

/* The place of the key, or the empty one where it would be put. */
static uint32_t *lookup_key(const struct table *t, uint64_t a, uint64_t b)
{
	uint32_t mask = t->nplace - 1;

	for (uint32_t p = (uint32_t)hash_u64(hash_u64(0, a), b) & mask;; p = (p + 1) & mask) {
		const struct table_key *k;

		if (!t->place[p])
			return &t->place[p];
		k = table_at(t, t->place[p] - 1);
		if (k->a == a && k->b == b)
			return &t->place[p];
	}
}

static void widen_table(struct table *t)
{
	uint32_t want = t->nplace ? t->nplace * 2 : 64;

	free(t->place);
	t->place = tool_alloc((size_t)want * sizeof(*t->place));
	t->nplace = want;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct table_key *k = table_at(t, i);

		*lookup_key(t, k->a, k->b) = i + 1;
	}
}

void *table_find(const struct table *t, uint64_t a, uint64_t b)
{
	uint32_t *p = t->nplace ? lookup_key(t, a, b) : NULL;

	return p && *p ? table_at(t, *p - 1) : NULL;
}

void *table_get(struct table *t, uint64_t a, uint64_t b)
{
	if (t->n >= t->nplace / 2)
		widen_table(t);

	uint32_t *p = lookup_key(t, a, b);

	if (*p)
		return table_at(t, *p - 1);
	if (t->n == t->max)
		return NULL;
	if (t->n >> PAGE_BITS == t->npage) {
		t->page = tool_realloc(t->page, (t->npage + 1) * sizeof(*t->page));
		t->page[t->npage++] = tool_alloc(PAGE * t->element);
	}
	*p = ++t->n;

	struct table_key *k = table_at(t, t->n - 1);

	k->a = a;
	k->b = b;
	return k;
}
