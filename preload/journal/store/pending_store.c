/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/store/pending_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PENDING_HEAP_MAX 65536u

static struct pending_slot *get_pending_unit(const struct pending_store *p, uint32_t i)
{
	return (struct pending_slot *)((char *)p->j->head + p->j->head->pending_off +
				       (uint64_t)i * PENDING_UNIT);
}

static uint32_t count_pending_units(const struct pending_store *p)
{
	return (uint32_t)(journal_get_space(p->j, JP_PENDING) / PENDING_UNIT);
}

static uint32_t compute_units(uint32_t bytes)
{
	return (uint32_t)((sizeof(struct pending_slot) + bytes + PENDING_UNIT - 1) / PENDING_UNIT);
}

static const struct journal_call *get_slot_call(const struct pending_slot *s)
{
	return (const struct journal_call *)s->data;
}

/* Returns the entry of seq in the table, or the free entry for it. */
static struct store_entry *find_store_place(const struct pending_store *p, uint64_t seq)
{
	for (uint32_t i = (uint32_t)hash_mix(seq);; i++) {
		struct store_entry *e = &p->table[i & p->mask];

		if (e->seq == seq || e->seq == 0)
			return e;
	}
}

/* Empties an entry and closes the gap (linear probing without tombstones). */
static void remove_store_entry(struct pending_store *p, struct store_entry *e)
{
	uint32_t hole = (uint32_t)(e - p->table), i = hole;

	p->live--;
	for (;;) {
		p->table[hole].seq = 0;
		for (;;) {
			i = (i + 1) & p->mask;
			if (p->table[i].seq == 0)
				return;

			uint32_t home = (uint32_t)hash_mix(p->table[i].seq) & p->mask;

			/*
			 * Entry i may move to the hole only if its home position is not between
			 * hole and i.
			 */
			if (((i - home) & p->mask) >= ((i - hole) & p->mask))
				break;
		}
		p->table[hole] = p->table[i];
		hole = i;
	}
}

static int add_store_entry(struct pending_store *p, uint64_t seq, struct pending_slot *s, bool heap)
{
	if (p->live >= p->mask / 4 * 3)
		return -ENOSPC;

	struct store_entry *e = find_store_place(p, seq);

	if (e->seq == 0)
		p->live++;
	*e = (struct store_entry){.seq = seq, .slot = s, .heap = heap};
	return 0;
}

static bool is_pending_slot_valid(const struct pending_slot *s, uint64_t commit)
{
	return s->born && s->born <= commit && (s->died == 0 || s->died > commit);
}

static bool is_pending_slot_call(const struct pending_slot *s)
{
	const struct journal_call *c = get_slot_call(s);

	return c->e.type == JE_CALL && c->e.bytes >= sizeof(*c) &&
	       compute_units(c->e.bytes) == s->units && c->seq;
}

/*
 * Wiped from the end: as long as the first unit has the number of units, no unit after it is
 * mistaken for a first one.
 */
static void reset_pending_slot(struct pending_slot *s)
{
	for (uint32_t k = s->units; k-- > 0;)
		((struct pending_slot *)((char *)s + (size_t)k * PENDING_UNIT))->born = 0;
}

int pending_store_open(struct pending_store *p, struct journal *j)
{
	uint64_t commit = atomic_load_explicit(&j->head->commit_seq, memory_order_acquire);
	uint32_t size = 1024;

	*p = (struct pending_store){.j = j};
	while (size < j->head->pending_bytes / PENDING_UNIT / 2 + PENDING_HEAP_MAX)
		size *= 2;
	p->table = calloc(size, sizeof(*p->table));
	if (!p->table)
		return -ENOMEM;
	p->mask = size - 1;
	/* A new journal is not searched: reading would make an eighth of it resident. */
	for (uint32_t i = j->none_parked ? count_pending_units(p) : 0;
		i < count_pending_units(p);) {
		struct pending_slot *s = get_pending_unit(p, i);
		const struct journal_call *c = get_slot_call(s);

		if (!s->born || !s->units || s->units > count_pending_units(p) - i) {
			if (s->born)
				s->born = 0;
			i++;
			continue;
		}

		uint32_t units = s->units;

		if (is_pending_slot_valid(s, commit) && is_pending_slot_call(s) &&
			!pending_store_find(p, c->seq) &&
			add_store_entry(p, c->seq, s, false) == 0) {
			/*
			 * Removed in a pass that was never committed: without this, later commits
			 * would reach the number in `died`.
			 */
			if (s->died)
				s->died = 0;
		} else {
			reset_pending_slot(s);
		}
		i += units;
	}
	return 0;
}

void pending_store_close(struct pending_store *p)
{
	for (uint32_t i = 0; p->table && i <= p->mask; i++)
		if (p->table[i].seq && p->table[i].heap)
			free(p->table[i].slot);
	free(p->table);
	free(p->added);
	free(p->taken);
	*p = (struct pending_store){0};
}

static int record_store_change(uint64_t **list, uint32_t *n, uint32_t *cap, uint64_t seq)
{
	if (*n == *cap) {
		uint32_t want = *cap ? *cap * 2 : 256;
		uint64_t *more = realloc(*list, want * sizeof(**list));

		if (!more)
			return -ENOMEM;
		*list = more;
		*cap = want;
	}
	(*list)[(*n)++] = seq;
	return 0;
}

/* First fit from where the last search ended. */
static struct pending_slot *find_free_units(struct pending_store *p, uint32_t need)
{
	uint32_t n = count_pending_units(p), i = p->hint, run = 0;

	if (p->too_large && need >= p->too_large)
		return NULL;
	for (uint32_t looked = 0; looked < 2 * n;) {
		if (i >= n) {
			i = 0;
			run = 0;
		}

		struct pending_slot *s = get_pending_unit(p, i);
		uint32_t step = s->born && s->units ? s->units : 1;

		run = s->born ? 0 : run + 1;
		i += step;
		looked += step;
		if (run == need) {
			p->hint = i;
			return get_pending_unit(p, i - need);
		}
	}
	p->too_large = need;
	return NULL;
}

/* Like find_free_units(). If there is none, the journal grows. */
static struct pending_slot *find_free_slots(struct pending_store *p, uint32_t need)
{
	for (;;) {
		struct pending_slot *s = find_free_units(p, need);
		uint32_t before = count_pending_units(p);

		if (s || need > p->j->head->pending_bytes / PENDING_UNIT)
			return s;
		journal_grow(p->j, JP_PENDING);
		if (count_pending_units(p) == before)
			return NULL;
		p->hint = before;
		p->too_large = 0;
	}
}

bool pending_store_has_space(struct pending_store *p, const struct journal_call *call)
{
	uint32_t hint = p->hint;
	bool space = find_free_slots(p, compute_units(call->e.bytes)) != NULL;

	p->hint = hint;
	return space;
}

int pending_store_add(struct pending_store *p, uint64_t number, const struct journal_call *call)
{
	uint32_t need = compute_units(call->e.bytes);
	struct pending_slot *s;
	bool heap;
	int err;

	if (!call->seq || find_store_place(p, call->seq)->seq)
		return -EINVAL;
	s = find_free_slots(p, need);
	heap = !s;
	if (heap) {
		if (p->nheap >= PENDING_HEAP_MAX)
			return -ENOSPC;
		s = calloc(need, PENDING_UNIT);
		if (!s)
			return -ENOMEM;
	}
	err = add_store_entry(p, call->seq, s, heap);
	if (!err) {
		err = record_store_change(&p->added, &p->nadded, &p->cap_added, call->seq);
		if (err)
			remove_store_entry(p, find_store_place(p, call->seq));
	}
	if (err) {
		if (heap)
			free(s);
		return err;
	}
	if (heap) {
		p->nheap++;
		p->j->head->spilled = p->nheap;
	} else {
		p->j->none_parked = false;
	}
	/*
	 * The first unit is written first. If the process is killed during the copy, this leaves
	 * a slot of known length that no commit made valid, and no units that may look like a
	 * first one.
	 */
	s->units = need;
	s->died = 0;
	atomic_store_explicit(&s->born, number, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(s->data, call, call->e.bytes);
	return 0;
}

const struct journal_call *pending_store_find(const struct pending_store *p, uint64_t seq)
{
	const struct store_entry *e = find_store_place(p, seq);

	return seq && e->seq == seq && !e->gone ? get_slot_call(e->slot) : NULL;
}

int pending_store_remove(struct pending_store *p, uint64_t number, uint64_t seq)
{
	struct store_entry *e = find_store_place(p, seq);

	if (e->seq != seq || e->gone)
		return -ENOENT;

	int err = record_store_change(&p->taken, &p->ntaken, &p->cap_taken, seq);

	if (err)
		return err;
	e->gone = true;
	atomic_store_explicit(&e->slot->died, number, memory_order_release);
	return 0;
}

void pending_store_undo_remove(struct pending_store *p, uint64_t seq)
{
	struct store_entry *e = find_store_place(p, seq);

	if (e->seq != seq || !e->gone)
		return;
	e->gone = false;
	e->slot->died = 0;
	p->ntaken--;
}

static void free_pending_slot(struct pending_store *p, uint64_t seq)
{
	struct store_entry *e = find_store_place(p, seq);

	if (e->seq != seq)
		return;
	if (e->heap) {
		free(e->slot);
		p->nheap--;
		p->j->head->spilled = p->nheap;
	} else {
		reset_pending_slot(e->slot);
		p->too_large = 0;
	}
	remove_store_entry(p, e);
}

void pending_store_commit(struct pending_store *p)
{
	for (uint32_t i = 0; i < p->ntaken; i++)
		free_pending_slot(p, p->taken[i]);
	p->nadded = p->ntaken = 0;
	/* Starts at the beginning again, so that memory that was never used stays non-resident. */
	if (!p->live)
		p->hint = 0;
}

void pending_store_rollback(struct pending_store *p)
{
	for (uint32_t i = 0; i < p->ntaken; i++) {
		struct store_entry *e = find_store_place(p, p->taken[i]);

		if (e->seq != p->taken[i])
			continue;
		e->gone = false;
		e->slot->died = 0;
	}
	for (uint32_t i = 0; i < p->nadded; i++)
		free_pending_slot(p, p->added[i]);
	p->nadded = p->ntaken = 0;
}

const struct journal_call *pending_store_get_next(const struct pending_store *p, uint32_t *at)
{
	/* Usually there is none, and the table has its maximum size. */
	for (; p->live > p->ntaken && *at <= p->mask; ++*at)
		if (p->table[*at].seq && !p->table[*at].gone)
			return get_slot_call(p->table[*at].slot);
	return NULL;
}
