/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int drain_open(struct drain *d, struct journal *j, struct sink *sink)
{
	*d = (struct drain){.j = j, .sink = sink};
	d->next = malloc(sizeof(*d->next));
	d->freed = malloc(j->head->nchunk * sizeof(*d->freed));
	d->copy = malloc(JOURNAL_ENTRY_MAX);
	if (!d->next || !d->freed || !d->copy || park_open(&d->park, j) < 0) {
		drain_close(d);
		return -ENOMEM;
	}
	return 0;
}

void drain_close(struct drain *d)
{
	if (d->park.table)
		park_close(&d->park);
	free(d->next);
	free(d->freed);
	free(d->copy);
	*d = (struct drain){0};
}

enum step { NEXT_ENTRY, STOP_CHAIN, END_PASS };

static enum step taken(int err)
{
	return err == 0 ? NEXT_ENTRY : END_PASS;
}

static uint32_t slots(const struct drain *d)
{
	uint32_t n = atomic_load_explicit(&d->j->head->nthread, memory_order_acquire);

	return n < JOURNAL_THREADS ? n : JOURNAL_THREADS;
}

/* The n-th chunk (from 1) if it is one of that thread's, else NULL. */
static struct journal_chunk *chunk_of(
	const struct journal *j, uint32_t n, uint32_t slot, uint32_t generation)
{
	struct journal_chunk *k = n && n <= j->head->nchunk ? journal_chunk(j, n - 1) : NULL;

	return k && journal_chunk_is_of(k, slot, generation) ? k : NULL;
}

static uint64_t seq_of(const struct journal_entry *e)
{
	return e->type == JE_CALL  ? ((const struct journal_call *)e)->seq
	       : e->type == JE_END ? ((const struct journal_end *)e)->seq
				   : 0;
}

/* The entry of that type and call behind the positions reached so far, or NULL. */
static const struct journal_entry *find_ahead(
	const struct drain *d, enum journal_type type, uint64_t seq)
{
	const struct journal *j = d->j;
	uint32_t left = j->head->nchunk;

	for (uint32_t i = 0; i < slots(d); i++) {
		const struct journal_thread *t = journal_thread(j, i);
		const struct journal_pos *pos = &d->next->pos[i];
		uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);
		uint32_t chunk = pos->chunk, at = pos->offset;
		const struct journal_chunk *k;

		if ((state != JT_LIVE && state != JT_DEAD) || d->ended[i])
			continue;
		/* The thread may have come since its slot was looked at. */
		if (pos->generation != t->generation || !chunk) {
			chunk = atomic_load_explicit(&t->first, memory_order_acquire);
			at = 0;
		}
		for (; left && (k = chunk_of(j, chunk, i, t->generation)); left--) {
			uint32_t used = atomic_load_explicit(&k->used, memory_order_acquire);
			const struct journal_entry *e;

			for (; at < used && (e = journal_entry_at(j, k, used, at)); at += e->bytes)
				if (e->type == type && seq_of(e) == seq)
					return e;
			chunk = atomic_load_explicit(&k->next, memory_order_acquire);
			at = 0;
		}
	}
	return NULL;
}

/* A call that goes on when its function has returned: kept until its completion is found. */
static enum step take_started(struct drain *d, const struct journal_call *c)
{
	int err;

	/*
	 * Recovery keeps nothing on the heap: killed in its turn it would lose that. Nor does it need to, for all
	 * completions there are lie before it. Each is passed over later, as an orphan.
	 */
	if (d->j->left && !park_has_room(&d->park, c)) {
		const struct journal_entry *e = find_ahead(d, JE_END, c->seq);

		return taken(sink_call(d->sink, c, (const struct journal_end *)e, !e));
	}
	err = park_add(&d->park, d->next->number, c);
	if (!err || err == -ENOMEM)
		return taken(err);
	/*
	 * No room at all. It must not stay here either: the completions that would make room may lie behind it. So
	 * its row is written now and its completion will be an orphan.
	 */
	((struct journal_call *)c)->flags |= CF_UNTRACKED;
	if (sink_call(d->sink, c, NULL, true))
		return END_PASS;
	if (err == -EINVAL)
		d->j->head->damaged++;
	else
		__atomic_fetch_add(&d->j->head->count[JC_DROP_PENDING], 1, __ATOMIC_RELAXED);
	return NEXT_ENTRY;
}

/*
 * An open call at the end. Threads that are still in their calls may leave them now, and write into the entry what the
 * row of an open call does not show: it is read as it is, once. Its outputs are there when its number of tensors says so.
 */
__attribute__((no_sanitize("thread"))) static void copy_open(
	struct drain *d, const struct journal_call *c)
{
	uint32_t bytes = c->e.bytes <= JOURNAL_ENTRY_MAX ? c->e.bytes : (uint32_t)sizeof(*c);
	uint16_t n = __atomic_load_n(&c->e.n, __ATOMIC_ACQUIRE);
	const volatile uint64_t *from = (const volatile uint64_t *)c;
	volatile uint64_t *to = (volatile uint64_t *)d->copy;

	for (uint32_t i = 0; i < bytes / 8; i++)
		to[i] = from[i];
	d->copy->bytes = bytes;
	d->copy->n = n;
}

static enum step take_open(struct drain *d, const struct journal_call *c)
{
	copy_open(d, c);
	return taken(sink_call(d->sink, (const struct journal_call *)d->copy, NULL, true));
}

static enum step take_call(struct drain *d, const struct journal_call *c)
{
	switch (atomic_load_explicit(&c->e.state, memory_order_acquire)) {
	case JCS_CLOSED:
		return taken(sink_call(d->sink, c, NULL, false));
	case JCS_ASYNC:
		return take_started(d, c);
	default:
		return d->last || d->dead ? take_open(d, c) : STOP_CHAIN;
	}
}

static enum step take_end(struct drain *d, const struct journal_end *e, uint32_t slot)
{
	const struct journal_call *c = park_find(&d->park, e->seq);
	int err;

	if (!c && (d->give_up || (d->orphan && d->orphan == e->seq))) {
		d->j->head->damaged += d->give_up;
		d->orphan = 0;
		return NEXT_ENTRY;
	}
	/* Its call stands in the chain of another thread that this round has not come to. */
	if (!c) {
		d->stuck[slot] = e->seq;
		return STOP_CHAIN;
	}
	err = park_take(&d->park, d->next->number, e->seq);
	if (!err) {
		err = sink_call(d->sink, c, e, false);
		if (err)
			park_untake(&d->park, e->seq);
	}
	return taken(err);
}

static enum step take(struct drain *d, const struct journal_entry *e, uint32_t slot)
{
	switch (e->type) {
	case JE_CALL:
		return take_call(d, (const struct journal_call *)e);
	case JE_END:
		return take_end(d, (const struct journal_end *)e, slot);
	case JE_STACK:
		return taken(sink_stack(d->sink, (const struct journal_stack *)e));
	case JE_COMM:
		return taken(sink_comm(d->sink, (const struct journal_comm *)e));
	}
	return NEXT_ENTRY;
}

/* Entries of one chunk from *offset on. */
static enum step drain_chunk(
	struct drain *d, const struct journal_chunk *k, uint32_t *offset, uint32_t slot)
{
	uint32_t used = atomic_load_explicit(&k->used, memory_order_acquire);

	while (*offset < used) {
		const struct journal_entry *e = journal_entry_at(d->j, k, used, *offset);

		if (!e) {
			d->j->head->damaged++;
			*offset = used;
			break;
		}

		enum step s = take(d, e, slot);

		if (s != NEXT_ENTRY)
			return s;
		*offset += e->bytes;
		d->progress = true;
	}
	return NEXT_ENTRY;
}

static void drain_chain(struct drain *d, uint32_t slot)
{
	struct journal_thread *t = journal_thread(d->j, slot);
	struct journal_pos *pos = &d->next->pos[slot];
	uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);

	d->stuck[slot] = 0;
	d->dead = state == JT_DEAD;
	if ((state != JT_LIVE && state != JT_DEAD) || d->ended[slot])
		return;
	if (pos->generation != t->generation)
		*pos = (struct journal_pos){.generation = t->generation};
	if (!pos->chunk) {
		pos->chunk = atomic_load_explicit(&t->first, memory_order_acquire);
		pos->offset = 0;
	}
	while (pos->chunk) {
		struct journal_chunk *k = chunk_of(d->j, pos->chunk, slot, t->generation);

		/* A damaged journal may have a chain in a ring: none is longer than all chunks. */
		if (!k || d->nfreed >= d->j->head->nchunk || d->passed > d->j->head->nchunk) {
			d->j->head->damaged++;
			break;
		}

		enum step s = drain_chunk(d, k, &pos->offset, slot);

		if (s == END_PASS)
			d->full = true;
		if (s != NEXT_ENTRY)
			return;

		uint32_t next = atomic_load_explicit(&k->next, memory_order_acquire);

		/* `next` is stored after the last entry: with it seen, `used` is final; there may be more than before. */
		if (next && pos->offset < atomic_load_explicit(&k->used, memory_order_relaxed))
			continue;
		if (!next)
			break;
		d->freed[d->nfreed++] = pos->chunk - 1;
		d->passed += d->j->left;
		pos->chunk = next;
		pos->offset = 0;
		d->progress = true;
	}
	if (state == JT_DEAD) {
		if (chunk_of(d->j, pos->chunk, slot, t->generation) &&
			d->nfreed < d->j->head->nchunk)
			d->freed[d->nfreed++] = pos->chunk - 1;
		d->ended[slot] = true;
		d->progress = true;
	}
}

/*
 * Slots before chunks: while a dead thread's slot is not free its last chunk must not be anybody else's. Killed in
 * between, recovery would read on there.
 */
static void give_back(struct drain *d)
{
	struct journal_head *h = d->j->head;

	for (uint32_t i = 0; i < JOURNAL_THREADS; i++)
		if (d->ended[i])
			atomic_store_explicit(
				&journal_thread(d->j, i)->state, JT_FREE, memory_order_release);
	for (uint32_t i = 0; i < d->nfreed; i++) {
		uint32_t c = d->freed[i];

		atomic_fetch_and_explicit(
			&h->bitmap[c / 64], ~(UINT64_C(1) << (c & 63)), memory_order_release);
		atomic_fetch_add_explicit(&h->free_chunks, 1, memory_order_relaxed);
	}
}

static void begin(struct drain *d)
{
	uint64_t seq = atomic_load_explicit(&d->j->head->commit_seq, memory_order_relaxed);

	memcpy(d->next, journal_commit(d->j, seq), sizeof(*d->next));
	/* +1 may be taken for announcing new files. */
	d->next->number = seq + 2;
	d->nfreed = 0;
	d->orphan = 0;
	d->full = d->progress = d->any = d->give_up = false;
	memset(d->ended, 0, sizeof(d->ended));
	memset(d->stuck, 0, sizeof(d->stuck));
}

static int commit(struct drain *d)
{
	struct journal_head *h = d->j->head;
	int err = sink_write(d->sink, d->next);

	if (err) {
		park_rollback(&d->park);
		return err;
	}

	uint64_t now = atomic_load_explicit(&h->commit_seq, memory_order_relaxed);
	uint64_t seq = d->next->number;

	/* The copy that is valid now must not be the one written to. */
	if (((seq ^ now) & 1) == 0)
		seq++;
	d->next->number = seq;
	memcpy(journal_commit(d->j, seq), d->next, sizeof(*d->next));
	atomic_store_explicit(&h->commit_seq, seq, memory_order_release);
	/* Killed here or later: what the new commit no longer needs may be half gone. Not before. */
	atomic_signal_fence(memory_order_seq_cst);
	park_commit(&d->park);
	give_back(d);
	return 0;
}

/*
 * A completion that a chain is stuck at and whose call is nowhere, 0: none. The call was published before its
 * completion could be, so a look around after the completion has been seen decides it.
 */
static uint64_t find_orphan(const struct drain *d)
{
	for (uint32_t i = 0; i < JOURNAL_THREADS; i++)
		if (d->stuck[i] && !find_ahead(d, JE_CALL, d->stuck[i]))
			return d->stuck[i];
	return 0;
}

/* One pass over all chains, again and again while completions find their calls. */
static void pass(struct drain *d)
{
	do {
		uint32_t n = slots(d);

		d->progress = false;
		for (uint32_t i = 0; i < n && !d->full; i++)
			drain_chain(d, i);
		d->any |= d->progress;
		d->orphan = d->progress || d->full ? 0 : find_orphan(d);
	} while ((d->progress || d->orphan) && !d->full);
}

/* The rest at the end: calls that were started and never completed. */
static int parked_rows(struct drain *d)
{
	const struct journal_call *c;
	uint32_t at = 0;

	while ((c = park_any(&d->park, &at))) {
		if (park_take(&d->park, d->next->number, c->seq) < 0)
			return -ENOMEM;
		if (sink_call(d->sink, c, NULL, true)) {
			park_untake(&d->park, c->seq);
			d->full = true;
			return 0;
		}
		d->any = true;
	}
	return 0;
}

int drain_all(struct drain *d, bool last)
{
	int err;

	d->last = last;
	do {
		begin(d);
		pass(d);
		if (last && !d->full) {
			d->give_up = true;
			pass(d);
		}
		if (last && !d->full) {
			err = parked_rows(d);
			if (err) {
				sink_drop(d->sink);
				park_rollback(&d->park);
				return err;
			}
		}
		err = commit(d);
		if (!err && d->full && !d->any)
			return -ENOMEM;
	} while (!err && d->full);
	return err;
}
