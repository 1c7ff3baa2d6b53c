/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary of a compact file: keys (sequences of 64-bit words), numbered from 0 in the order
 * of insertion.
 */
#ifndef PROBE_FORMATS_COMPACT_DICTIONARY_H
#define PROBE_FORMATS_COMPACT_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dictionary_entry {
	uint32_t hash, words; /* of the key: hash, and length in words */
	uint32_t key; /* position of the key among all keys */
	uint32_t pad;
};

struct dictionary {
	uint32_t n, cap, used, space; /* entries, their maximum; words of keys, their maximum */
	uint32_t mask; /* size of index[] - 1; 0: no index yet */
	uint32_t *index; /* hash table of 1 + number of the entry; 0: free */
	struct dictionary_entry *entry;
	uint64_t *keys;
};

static inline uint32_t dictionary_compute_hash(const uint64_t *key, uint32_t words)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < words; i++)
		h = (h ^ key[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 32;
	return (uint32_t)h;
}

/* Returns the number of the entry with this key, or UINT32_MAX. */
static inline uint32_t dictionary_find(
	const struct dictionary *d, const uint64_t *key, uint32_t words, uint32_t hash)
{
	if (!d->mask)
		return UINT32_MAX;
	for (uint32_t i = hash & d->mask, at; (at = d->index[i]); i = (i + 1) & d->mask) {
		const struct dictionary_entry *e = &d->entry[at - 1];
		const uint64_t *own = d->keys + e->key;
		uint64_t other = 0;

		if (e->hash != hash || e->words != words)
			continue;
		for (uint32_t k = 0; k < words; k++)
			other |= own[k] ^ key[k];
		if (!other)
			return at - 1;
	}
	return UINT32_MAX;
}

/*
 * Adds a key that the dictionary does not contain. Returns its number, or UINT32_MAX if there is
 * no memory.
 */
uint32_t dictionary_add(struct dictionary *d, const uint64_t *key, uint32_t words, uint32_t hash);
void dictionary_reset(struct dictionary *d); /* keeps the memory */
void dictionary_free(struct dictionary *d);

#endif
