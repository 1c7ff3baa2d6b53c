/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/compact/dictionary.h"

#include <stdlib.h>

#define ENTRIES_MIN 64u

static bool add_entry_space(struct dictionary *d)
{
	uint32_t want = d->cap ? 2 * d->cap : ENTRIES_MIN;
	struct dictionary_entry *entry = realloc(d->entry, want * sizeof(*entry));
	uint32_t *index;

	if (!entry)
		return false;
	d->entry = entry;
	index = calloc(2 * (size_t)want, sizeof(*index));
	if (!index)
		return false;
	free(d->index);
	d->index = index;
	d->mask = 2 * want - 1;
	d->cap = want;
	for (uint32_t n = 0; n < d->n; n++) {
		uint32_t i = d->entry[n].hash & d->mask;

		while (d->index[i])
			i = (i + 1) & d->mask;
		d->index[i] = n + 1;
	}
	return true;
}

static bool add_key_space(struct dictionary *d, uint32_t words)
{
	uint32_t want = d->space ? d->space : 8 * ENTRIES_MIN;
	uint64_t *more;

	while (want < d->used + words)
		want *= 2;
	more = realloc(d->keys, want * sizeof(*more));
	if (!more)
		return false;
	d->keys = more;
	d->space = want;
	return true;
}

uint32_t dictionary_add(struct dictionary *d, const uint64_t *key, uint32_t words, uint32_t hash)
{
	uint32_t i;

	if ((d->n == d->cap && !add_entry_space(d)) ||
		(d->used + words > d->space && !add_key_space(d, words)))
		return UINT32_MAX;
	memcpy(d->keys + d->used, key, words * sizeof(*key));
	d->entry[d->n] = (struct dictionary_entry){.hash = hash, .words = words, .key = d->used};
	d->used += words;
	for (i = hash & d->mask; d->index[i];)
		i = (i + 1) & d->mask;
	d->index[i] = ++d->n;
	return d->n - 1;
}

void dictionary_reset(struct dictionary *d)
{
	d->n = d->used = 0;
	if (d->mask)
		memset(d->index, 0, (d->mask + (size_t)1) * sizeof(*d->index));
}

void dictionary_free(struct dictionary *d)
{
	free(d->index);
	free(d->entry);
	free(d->keys);
	*d = (struct dictionary){0};
}
