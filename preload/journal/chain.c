/* SPDX-License-Identifier: Apache-2.0 */
/* The writing side of the journal: code that runs on threads of the job. No lock, no allocation, and no system call except when the dictionary grows. */
#include <errno.h>
#include <string.h>

#include "journal/journal.h"

/* Takes the first free slot from number `from` on. Returns -1 if none is free. */
static int64_t take_slot(struct journal *j, uint32_t from)
{
	for (uint32_t i = from, n = journal_get_nslot(j); i < n; i++) {
		struct journal_thread *s = journal_get_thread(j, i);
		uint32_t is_free = JT_FREE;

		if (atomic_load_explicit(&s->state, memory_order_relaxed) == JT_FREE &&
			atomic_compare_exchange_strong(&s->state, &is_free, JT_TAKING))
			return i;
	}
	return -1;
}

int chain_open(struct chain *c, struct journal *j, int64_t tid)
{
	uint32_t from = atomic_load_explicit(&j->slots_from, memory_order_relaxed);
	int64_t i = take_slot(j, from);
	struct journal_thread *s;

	if (i < 0 && from)
		i = take_slot(j, 0);
	if (i < 0)
		return -EAGAIN;
	/* If a slot below is freed, journal_free_slot() lowers the hint again. */
	atomic_compare_exchange_strong(&j->slots_from, &from, (uint32_t)i + 1);
	s = journal_get_thread(j, (uint32_t)i);
	s->tid = tid;
	atomic_store_explicit(&s->wait_api, 0, memory_order_relaxed);
	atomic_store_explicit(&s->first, 0, memory_order_relaxed);
	s->generation++;
	*c = (struct chain){.j = j, .slot = s, .generation = s->generation, .index = (uint32_t)i};
	atomic_store_explicit(&s->state, JT_LIVE, memory_order_release);

	uint32_t seen = atomic_load_explicit(&j->head->nthread, memory_order_relaxed);

	while (seen <= i &&
		!atomic_compare_exchange_weak(&j->head->nthread, &seen, (uint32_t)i + 1))
		;
	return 0;
}

void journal_free_slot(struct journal *j, uint32_t i)
{
	uint32_t from = atomic_load_explicit(&j->slots_from, memory_order_relaxed);

	atomic_store_explicit(&journal_get_thread(j, i)->state, JT_FREE, memory_order_release);
	while (from > i && !atomic_compare_exchange_weak(&j->slots_from, &from, i))
		;
}

void chain_close(struct chain *c)
{
	uint32_t live = JT_LIVE;

	/* If the chain of the slot was given up, the slot is not reused. */
	if (c->slot)
		atomic_compare_exchange_strong(&c->slot->state, &live, JT_DEAD);
	c->slot = NULL;
	c->chunk = NULL;
}

/*
 * Each thread starts its search at a different position, so that it usually gets chunks that it
 * had before: writing to memory that another core wrote last takes several times as long. From
 * this position on it takes the first free chunk, so that few pages are touched if there are few
 * records.
 */
#define CHUNKS_APART 32u

/* Claims a free chunk. Returns -1 if none is free. */
static int64_t claim_chunk(struct journal *j, uint32_t slot)
{
	struct journal_head *h = j->head;
	uint32_t n = atomic_load_explicit(&h->nchunk, memory_order_acquire);
	uint32_t words = (n + 63) / 64, from = n ? slot * CHUNKS_APART % n : 0;

	/* In a forked child, the parent's journal is replaced by zeros. */
	if (!n)
		return -1;
	/* The first word is visited again at the end, for the bits below `from`. */
	for (uint32_t k = 0; k <= words; k++) {
		uint32_t w = (from / 64 + k) % words;
		uint64_t below = k ? 0 : (UINT64_C(1) << (from & 63)) - 1;
		uint64_t bits = atomic_load_explicit(&h->bitmap[w], memory_order_relaxed) | below;

		while (bits != UINT64_MAX) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(~bits);
			uint64_t bit = UINT64_C(1) << (i & 63);

			if (i >= n)
				break;
			bits = atomic_fetch_or_explicit(&h->bitmap[w], bit, memory_order_acquire);
			if (!(bits & bit))
				return i;
			bits |= below;
		}
	}
	return -1;
}

/* If the chain was given up, opens another one in a free slot. Returns false if there is none. */
static bool open_another_if_lost(struct chain *c)
{
	return atomic_load_explicit(&c->slot->state, memory_order_relaxed) != JT_LOST ||
	       chain_open(c, c->j, c->slot->tid) == 0;
}

/* Returns the number of chunks in use at which the writer is woken. */
static inline uint32_t count_early_chunks(const struct journal *j, uint32_t all)
{
	return j->early_chunks < all / 2 ? j->early_chunks : all / 2;
}

/* Takes a new chunk. last: the reserved last chunks may be taken too. */
static bool next_chunk(struct chain *c, bool last, bool *wake)
{
	if (!open_another_if_lost(c))
		return false;

	_Atomic uint64_t *free_chunks = &c->j->head->free_chunks;
	uint32_t all = atomic_load_explicit(&c->j->head->nchunk, memory_order_relaxed);
	uint32_t keep = last ? 0 : all / JOURNAL_ENDS;
	int64_t i = keep && atomic_load_explicit(free_chunks, memory_order_relaxed) <= keep
			    ? -1
			    : claim_chunk(c->j, c->index);

	if (i < 0) {
		*wake = true;
		return false;
	}
	if (atomic_fetch_sub_explicit(free_chunks, 1, memory_order_relaxed) <=
		all - count_early_chunks(c->j, all))
		*wake = true;

	uint32_t touched = atomic_load_explicit(&c->j->touched, memory_order_relaxed);

	if (touched && touched < all && (uint32_t)i >= touched / 4 * 3)
		*wake = true;

	struct journal_chunk *n = journal_get_chunk(c->j, (uint32_t)i);

	atomic_store_explicit(&n->used, 0, memory_order_relaxed);
	atomic_store_explicit(&n->next, 0, memory_order_relaxed);
	n->slot = c->index;
	n->generation = c->generation;
	if (c->chunk)
		atomic_store_explicit(&c->chunk->next, (uint32_t)i + 1, memory_order_release);
	else
		atomic_store_explicit(&c->slot->first, (uint32_t)i + 1, memory_order_release);
	c->chunk = n;
	c->used = 0;
	c->cap = journal_get_chunk_cap(c->j);
	return true;
}

static inline void *reserve_entry(struct chain *c, uint32_t bytes, bool last, bool *wake)
{
	void *p = chain_get_space(c, bytes);

	if (p)
		return p;
	if (bytes > JOURNAL_ENTRY_MAX || !next_chunk(c, last, wake))
		return NULL;
	return c->chunk->data + c->used;
}

void *chain_reserve(struct chain *c, uint32_t bytes, bool *wake)
{
	return reserve_entry(c, bytes, false, wake);
}

void *chain_reserve_end(struct chain *c, uint32_t bytes, bool *wake)
{
	return reserve_entry(c, bytes, true, wake);
}

/* Returns the end of what entries of this kind may use. */
static uint64_t dict_end(uint64_t space, enum dict_kind kind)
{
	return kind == DICT_API ? space : space - space / DICT_ONLY_API;
}

/*
 * Reserves an entry of the dictionary and sets its length. On failure returns NULL, and *err is
 * -ENOSPC or -EMSGSIZE.
 */
static struct dict_entry *reserve_dict_entry(
	struct journal *j, enum dict_kind kind, size_t bytes, int *err)
{
	struct journal_head *h = j->head;
	uint32_t need = (uint32_t)((sizeof(struct dict_entry) + bytes + 7) & ~(size_t)7);
	uint64_t at;

	*err = bytes > JOURNAL_ENTRY_MAX ? -EMSGSIZE : -ENOSPC;
	if (bytes > JOURNAL_ENTRY_MAX)
		return NULL;
	at = atomic_load_explicit(&h->dict_used, memory_order_relaxed);
	/*
	 * In a journal to which `probe recover` writes, any byte may be damaged: this offset
	 * could point anywhere.
	 */
	do {
		uint64_t space = journal_get_space(j, JP_DICT), end = dict_end(space, kind);

		while (at % 8 == 0 && at <= space && (at > end || need > end - at)) {
			uint64_t before = space;

			journal_grow(j, JP_DICT);
			space = journal_get_space(j, JP_DICT);
			end = dict_end(space, kind);
			if (space == before)
				return NULL;
		}
		if (at % 8 || at > end || need > end - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&h->dict_used, &at, at + need));

	struct dict_entry *e = (struct dict_entry *)((char *)h + h->dict_off + at);

	/*
	 * The length is stored first: if the process is killed now, readers still find the
	 * entries that other threads added after this one.
	 */
	__atomic_store_n(&e->bytes, need, __ATOMIC_RELAXED);
	return e;
}

static void publish_dict_entry(struct dict_entry *e, enum dict_kind kind, uint16_t id)
{
	/* Stored atomically: a reader that looks for the end of a gap (entry.c) may read it at the same time. */
	__atomic_store_n(&e->id, id, __ATOMIC_RELAXED);
	__atomic_store_n(&e->kind, (uint16_t)kind, __ATOMIC_RELEASE);
}

int journal_dict_add(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *strings, size_t bytes)
{
	int err;
	struct dict_entry *e = reserve_dict_entry(j, kind, bytes, &err);

	if (!e)
		return err;
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = 0;

		memcpy(&word, strings + i, bytes - i < 8 ? bytes - i : 8);
		__atomic_store_n((uint64_t *)((char *)(e + 1) + i), word, __ATOMIC_RELEASE);
	}
	publish_dict_entry(e, kind, id);
	return 0;
}

int journal_dict_add_texts(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *const *text, unsigned n)
{
	unsigned char word[8] = {0};
	size_t bytes = 0, at = 0;
	struct dict_entry *e;
	int err;

	for (unsigned i = 0; i < n; i++)
		bytes += strlen(text[i]) + 1;
	e = reserve_dict_entry(j, kind, bytes, &err);
	if (!e)
		return err;
	for (const char *s = text[0]; n;) {
		uint64_t whole;

		word[at % 8] = (unsigned char)*s;
		at++;
		if (*s)
			s++;
		else if (--n)
			s = *++text;
		if (at % 8 && n)
			continue;
		memcpy(&whole, word, 8);
		__atomic_store_n(
			(uint64_t *)((char *)(e + 1) + (at - 1) / 8 * 8), whole, __ATOMIC_RELEASE);
		memset(word, 0, 8);
	}
	publish_dict_entry(e, kind, id);
	return 0;
}
