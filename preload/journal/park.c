/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/park.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PARK_HEAP_MAX 65536u

static struct park_slot *unit(const struct park *p, uint32_t i)
{
	return (struct park_slot *)((char *)p->j->head + p->j->head->park_off +
				    (uint64_t)i * PARK_UNIT);
}

static uint32_t nunits(const struct park *p)
{
	return (uint32_t)(p->j->head->park_bytes / PARK_UNIT);
}

static uint32_t units_for(uint32_t bytes)
{
	return (uint32_t)((sizeof(struct park_slot) + bytes + PARK_UNIT - 1) / PARK_UNIT);
}

static const struct journal_call *call_of(const struct park_slot *s)
{
	return (const struct journal_call *)s->data;
}

/* Where seq is, or the free place where it would go. */
static struct park_entry *place(const struct park *p, uint64_t seq)
{
	for (uint32_t i = (uint32_t)hash_mix(seq);; i++) {
		struct park_entry *e = &p->table[i & p->mask];

		if (e->seq == seq || e->seq == 0)
			return e;
	}
}

/* Empties a place and closes the gap (linear probing without tombstones). */
static void erase(struct park *p, struct park_entry *e)
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

			/* May it move to the hole? Only if its home is not between hole and i. */
			if (((i - home) & p->mask) >= ((i - hole) & p->mask))
				break;
		}
		p->table[hole] = p->table[i];
		hole = i;
	}
}

static int insert(struct park *p, uint64_t seq, struct park_slot *s, bool heap)
{
	if (p->live >= p->mask / 4 * 3)
		return -ENOSPC;

	struct park_entry *e = place(p, seq);

	if (e->seq == 0)
		p->live++;
	*e = (struct park_entry){.seq = seq, .slot = s, .heap = heap};
	return 0;
}

static bool valid(const struct park_slot *s, uint64_t commit)
{
	return s->born && s->born <= commit && (s->died == 0 || s->died > commit);
}

static bool is_call(const struct park_slot *s)
{
	const struct journal_call *c = call_of(s);

	return c->e.type == JE_CALL && c->e.bytes >= sizeof(*c) &&
	       units_for(c->e.bytes) == s->units && c->seq;
}

/* Backwards: while the head says how many units there are, none inside is taken for a head. */
static void wipe(struct park_slot *s)
{
	for (uint32_t k = s->units; k-- > 0;)
		((struct park_slot *)((char *)s + (size_t)k * PARK_UNIT))->born = 0;
}

int park_open(struct park *p, struct journal *j)
{
	uint64_t commit = atomic_load_explicit(&j->head->commit_seq, memory_order_acquire);
	uint32_t size = 1024;

	*p = (struct park){.j = j};
	while (size < nunits(p) / 2 + PARK_HEAP_MAX)
		size *= 2;
	p->table = calloc(size, sizeof(*p->table));
	if (!p->table)
		return -ENOMEM;
	p->mask = size - 1;
	for (uint32_t i = 0; i < nunits(p);) {
		struct park_slot *s = unit(p, i);
		const struct journal_call *c = call_of(s);

		if (!s->born || !s->units || s->units > nunits(p) - i) {
			if (s->born)
				s->born = 0;
			i++;
			continue;
		}

		uint32_t units = s->units;

		if (valid(s, commit) && is_call(s) && !park_find(p, c->seq) &&
			insert(p, c->seq, s, false) == 0) {
			/* Taken by a pass that was never committed: numbers go on, and would reach that one. */
			if (s->died)
				s->died = 0;
		} else {
			wipe(s);
		}
		i += units;
	}
	return 0;
}

void park_close(struct park *p)
{
	for (uint32_t i = 0; p->table && i <= p->mask; i++)
		if (p->table[i].seq && p->table[i].heap)
			free(p->table[i].slot);
	free(p->table);
	free(p->added);
	free(p->taken);
	*p = (struct park){0};
}

static int note(uint64_t **list, uint32_t *n, uint32_t *cap, uint64_t seq)
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
static struct park_slot *find_room(struct park *p, uint32_t need)
{
	uint32_t n = nunits(p), i = p->hint, run = 0;

	if (p->too_large && need >= p->too_large)
		return NULL;
	for (uint32_t looked = 0; looked < 2 * n;) {
		if (i >= n) {
			i = 0;
			run = 0;
		}

		struct park_slot *s = unit(p, i);
		uint32_t step = s->born && s->units ? s->units : 1;

		run = s->born ? 0 : run + 1;
		i += step;
		looked += step;
		if (run == need) {
			p->hint = i;
			return unit(p, i - need);
		}
	}
	p->too_large = need;
	return NULL;
}

bool park_has_room(struct park *p, const struct journal_call *call)
{
	uint32_t hint = p->hint;
	bool room = find_room(p, units_for(call->e.bytes)) != NULL;

	p->hint = hint;
	return room;
}

int park_add(struct park *p, uint64_t number, const struct journal_call *call)
{
	uint32_t need = units_for(call->e.bytes);
	struct park_slot *s;
	bool heap;
	int err;

	if (!call->seq || place(p, call->seq)->seq)
		return -EINVAL;
	s = find_room(p, need);
	heap = !s;
	if (heap) {
		if (p->nheap >= PARK_HEAP_MAX)
			return -ENOSPC;
		s = calloc(need, PARK_UNIT);
		if (!s)
			return -ENOMEM;
	}
	err = insert(p, call->seq, s, heap);
	if (!err) {
		err = note(&p->added, &p->nadded, &p->cap_added, call->seq);
		if (err)
			erase(p, place(p, call->seq));
	}
	if (err) {
		if (heap)
			free(s);
		return err;
	}
	if (heap) {
		p->nheap++;
		p->j->head->spilled = p->nheap;
	}
	/*
	 * The head comes first: a process that dies in the middle of the copy leaves a slot of known length that no
	 * commit made valid, not a heap of bytes in which some unit may look like a head.
	 */
	s->units = need;
	s->died = 0;
	atomic_store_explicit(&s->born, number, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(s->data, call, call->e.bytes);
	return 0;
}

const struct journal_call *park_find(const struct park *p, uint64_t seq)
{
	const struct park_entry *e = place(p, seq);

	return seq && e->seq == seq && !e->gone ? call_of(e->slot) : NULL;
}

int park_take(struct park *p, uint64_t number, uint64_t seq)
{
	struct park_entry *e = place(p, seq);

	if (e->seq != seq || e->gone)
		return -ENOENT;

	int err = note(&p->taken, &p->ntaken, &p->cap_taken, seq);

	if (err)
		return err;
	e->gone = true;
	atomic_store_explicit(&e->slot->died, number, memory_order_release);
	return 0;
}

void park_untake(struct park *p, uint64_t seq)
{
	struct park_entry *e = place(p, seq);

	if (e->seq != seq || !e->gone)
		return;
	e->gone = false;
	e->slot->died = 0;
	p->ntaken--;
}

static void release(struct park *p, uint64_t seq)
{
	struct park_entry *e = place(p, seq);

	if (e->seq != seq)
		return;
	if (e->heap) {
		free(e->slot);
		p->nheap--;
		p->j->head->spilled = p->nheap;
	} else {
		wipe(e->slot);
		p->too_large = 0;
	}
	erase(p, e);
}

void park_commit(struct park *p)
{
	for (uint32_t i = 0; i < p->ntaken; i++)
		release(p, p->taken[i]);
	p->nadded = p->ntaken = 0;
}

void park_rollback(struct park *p)
{
	for (uint32_t i = 0; i < p->ntaken; i++) {
		struct park_entry *e = place(p, p->taken[i]);

		if (e->seq != p->taken[i])
			continue;
		e->gone = false;
		e->slot->died = 0;
	}
	for (uint32_t i = 0; i < p->nadded; i++)
		release(p, p->added[i]);
	p->nadded = p->ntaken = 0;
}

const struct journal_call *park_any(const struct park *p, uint32_t *at)
{
	for (; *at <= p->mask; ++*at)
		if (p->table[*at].seq && !p->table[*at].gone)
			return call_of(p->table[*at].slot);
	return NULL;
}
