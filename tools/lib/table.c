/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"

#define PAGE_BITS 8
#define SMALL_PAGE_BITS 4

void table_init(struct table *t, size_t element, uint32_t max)
{
	*t = (struct table){.element = element, .max = max, .page_bits = PAGE_BITS};
}

void table_init_small(struct table *t, size_t element, uint32_t max)
{
	*t = (struct table){.element = element, .max = max, .page_bits = SMALL_PAGE_BITS};
}

void table_free(struct table *t)
{
	for (unsigned i = 0; i < t->npage; i++)
		free(t->page[i]);
	free(t->page);
	free(t->place);
	*t = (struct table){.element = t->element, .max = t->max, .page_bits = t->page_bits};
}

void *table_at(const struct table *t, uint32_t i)
{
	return t->page[i >> t->page_bits] + (size_t)(i & ((1u << t->page_bits) - 1)) * t->element;
}

/* Half of the hash is stored with the number: most elements with other keys need not be read. */
static uint64_t compute_key_hash(uint64_t a, uint64_t b)
{
	return hash_u64(a, b);
}

/* Returns the slot of the key, or the free slot for it. */
static struct table_place *find_key_place(
	const struct table *t, uint64_t hash, uint64_t a, uint64_t b)
{
	uint32_t mask = t->nplace - 1;

	for (uint32_t p = (uint32_t)hash & mask;; p = (p + 1) & mask) {
		struct table_place *at = &t->place[p];
		const struct table_key *k;

		if (!at->number)
			return at;
		if (at->mark != (uint32_t)(hash >> 32))
			continue;
		k = table_at(t, at->number - 1);
		if (k->a == a && k->b == b)
			return at;
	}
}

static void add_table_places(struct table *t)
{
	uint32_t want = t->nplace ? t->nplace * 2 : 64, was = t->nplace;
	struct table_place *old = t->place;

	t->place = tool_alloc((size_t)want * sizeof(*t->place));
	t->nplace = want;
	for (uint32_t i = 0; i < was; i++) {
		const struct table_key *k;
		uint64_t hash;

		if (!old[i].number)
			continue;
		k = table_at(t, old[i].number - 1);
		hash = compute_key_hash(k->a, k->b);
		*find_key_place(t, hash, k->a, k->b) = old[i];
	}
	free(old);
}

void *table_find(const struct table *t, uint64_t a, uint64_t b)
{
	struct table_place *p = t->nplace ? find_key_place(t, compute_key_hash(a, b), a, b) : NULL;

	return p && p->number ? table_at(t, p->number - 1) : NULL;
}

void *table_get(struct table *t, uint64_t a, uint64_t b)
{
	struct table_key *k = t->latest;

	if (k && k->a == a && k->b == b)
		return k;
	if (t->n >= t->nplace / 2)
		add_table_places(t);

	uint64_t hash = compute_key_hash(a, b);
	struct table_place *p = find_key_place(t, hash, a, b);

	if (p->number)
		return t->latest = table_at(t, p->number - 1);
	if (t->n == t->max)
		return NULL;
	if (t->n >> t->page_bits == t->npage) {
		t->page = tool_realloc(t->page, (t->npage + 1) * sizeof(*t->page));
		t->page[t->npage++] = tool_alloc(t->element << t->page_bits);
	}
	*p = (struct table_place){.number = ++t->n, .mark = (uint32_t)(hash >> 32)};

	k = t->latest = table_at(t, t->n - 1);
	k->a = a;
	k->b = b;
	return k;
}
