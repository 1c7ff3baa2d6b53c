/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "journal/tensor_at.h"

int drain_open(struct drain *d, struct journal *j, struct sink *sink)
{
	*d = (struct drain){.j = j, .sink = sink};
	d->next = malloc(journal_get_commit_bytes(j->head->nslot));
	/* Sized for the maximum, because the journal may grow. */
	d->freed = malloc(JOURNAL_CHUNKS_MAX * sizeof(*d->freed));
	d->slot = malloc(j->head->nslot * sizeof(*d->slot));
	d->copy = malloc(JOURNAL_ENTRY_MAX);
	if (!d->next || !d->freed || !d->slot || !d->copy || pending_store_open(&d->store, j) < 0) {
		drain_close(d);
		return -ENOMEM;
	}
	return 0;
}

void drain_close(struct drain *d)
{
	if (d->store.table)
		pending_store_close(&d->store);
	free(d->next);
	free(d->freed);
	free(d->slot);
	free(d->copy);
	*d = (struct drain){0};
}

#define ENTRY_TEXT 64 /* bytes of text that an entry produces, at least, on average */
#define STACKS_NS 1000000 /* time for symbolising stacks in one pass */

enum step { NEXT_ENTRY, STOP_CHAIN, END_PASS };

static enum step get_step_of_result(int err)
{
	return err == 0 ? NEXT_ENTRY : END_PASS;
}

/* Updates the number of slots. New slots start without a position. */
static uint32_t update_slots(struct drain *d)
{
	uint32_t n = journal_get_nthread(d->j);

	for (; d->nslot < n; d->nslot++) {
		d->next->pos[d->nslot] = (struct journal_pos){0};
		d->slot[d->nslot] = (struct drain_slot){0};
	}
	return d->nslot;
}

/* Returns the n-th chunk (from 1) if it belongs to this generation of the slot, else NULL. */
static struct journal_chunk *get_chunk(
	const struct journal *j, uint32_t n, uint32_t slot, uint32_t generation)
{
	struct journal_chunk *k =
		n && n <= journal_get_nchunk(j) ? journal_get_chunk(j, n - 1) : NULL;

	return k && journal_chunk_is_of(k, slot, generation) ? k : NULL;
}

static uint64_t get_seq(const struct journal_entry *e)
{
	return e->type == JE_CALL  ? ((const struct journal_call *)e)->seq
	       : e->type == JE_END ? ((const struct journal_end *)e)->seq
				   : 0;
}

/*
 * Finds the entry of this type and call number after the positions reached so far. Returns NULL
 * if there is none.
 */
static const struct journal_entry *find_ahead(struct drain *d, enum journal_type type, uint64_t seq)
{
	const struct journal *j = d->j;
	uint32_t left = journal_get_nchunk(j);

	for (uint32_t i = 0; i < update_slots(d); i++) {
		const struct journal_thread *t = journal_get_thread(j, i);
		const struct journal_pos *pos = &d->next->pos[i];
		uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);
		uint32_t chunk = pos->chunk, at = pos->offset;
		const struct journal_chunk *k;

		if ((state != JT_LIVE && state != JT_DEAD) || d->slot[i].ended)
			continue;
		/* The thread may have started after its slot was read. */
		if (pos->generation != t->generation || !chunk) {
			chunk = atomic_load_explicit(&t->first, memory_order_acquire);
			at = 0;
		}
		for (; left && (k = get_chunk(j, chunk, i, t->generation)); left--) {
			uint32_t used = atomic_load_explicit(&k->used, memory_order_acquire);
			const struct journal_entry *e;

			for (; at < used && (e = journal_get_entry_at(j, k, used, at));
				at += e->bytes)
				if (e->type == type && get_seq(e) == seq)
					return e;
			chunk = atomic_load_explicit(&k->next, memory_order_acquire);
			at = 0;
		}
	}
	return NULL;
}

/* Handles a call that continues after its function has returned: it is kept until its completion is found. */
static enum step take_started(struct drain *d, const struct journal_call *c)
{
	int err;

	/*
	 * Recovery keeps no calls on the heap: they would be lost if recovery were killed too. It
	 * need not either: all completions are found before the row is written now, and each of
	 * them is skipped later, as an orphan.
	 */
	if (d->j->left && !pending_store_has_space(&d->store, c)) {
		const struct journal_entry *e = find_ahead(d, JE_END, c->seq);

		return get_step_of_result(
			sink_add_call(d->sink, c, (const struct journal_end *)e, !e));
	}
	err = pending_store_add(&d->store, d->next->number, c);
	if (!err || err == -ENOMEM)
		return get_step_of_result(err);
	/*
	 * No space at all, not even on the heap. The drain must not stop, because the completions
	 * that free space may come later in this chain. So the row is written now, and its
	 * completion will be an orphan.
	 */
	((struct journal_call *)c)->flags |= CF_UNTRACKED;
	if (sink_add_call(d->sink, c, NULL, true))
		return END_PASS;
	if (err == -EINVAL)
		d->j->head->damaged++;
	else
		__atomic_fetch_add(&d->j->head->count[JC_DROP_PENDING], 1, __ATOMIC_RELAXED);
	return NEXT_ENTRY;
}

/*
 * Copies an entry of a call that is open at the end. Its thread may return from the call now, and
 * write fields that the row of an open call does not show. So the entry is read once, as it is.
 * Its outputs are complete if its number of tensors includes them.
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

static enum step take_open_entry(struct drain *d, const struct journal_call *c)
{
	copy_open(d, c);
	return get_step_of_result(
		sink_add_call(d->sink, (const struct journal_call *)d->copy, NULL, true));
}

static enum step handle_call_record(struct drain *d, const struct journal_call *c)
{
	switch (atomic_load_explicit(&c->e.state, memory_order_acquire)) {
	case JCS_CLOSED:
		return get_step_of_result(sink_add_call(d->sink, c, NULL, false));
	case JCS_ASYNC:
		return take_started(d, c);
	default:
		return d->last || d->dead ? take_open_entry(d, c) : STOP_CHAIN;
	}
}

static enum step handle_end_entry(struct drain *d, const struct journal_end *e, uint32_t slot)
{
	const struct journal_call *c = pending_store_find(&d->store, e->seq);
	int err;

	if (!c && (d->give_up || (d->orphan && d->orphan == e->seq))) {
		d->j->head->damaged += d->give_up;
		d->orphan = 0;
		return NEXT_ENTRY;
	}
	/* The call is in the chain of another thread, which this round has not reached yet. */
	if (!c) {
		d->slot[slot].stuck = e->seq;
		return STOP_CHAIN;
	}
	err = pending_store_remove(&d->store, d->next->number, e->seq);
	if (!err) {
		err = sink_add_call(d->sink, c, e, false);
		if (err)
			pending_store_undo_remove(&d->store, e->seq);
	}
	return get_step_of_result(err);
}

/* Reading the symbol tables of a library may take a second, so one pass does this at most once. */
static enum step handle_stack_entry(struct drain *d, const struct journal_stack *e)
{
	if (d->light)
		return STOP_CHAIN;

	enum step s = get_step_of_result(sink_add_stack(d->sink, e));

	if (clock_ns(CLOCK_MONOTONIC) > d->until)
		d->entries = 1; /* end the pass after this entry */
	return s;
}

static enum step handle_journal_entry(struct drain *d, const struct journal_entry *e, uint32_t slot)
{
	switch (e->type) {
	case JE_CALL:
		return handle_call_record(d, (const struct journal_call *)e);
	case JE_END:
		return handle_end_entry(d, (const struct journal_end *)e, slot);
	case JE_STACK:
		return handle_stack_entry(d, (const struct journal_stack *)e);
	case JE_COMM:
		return get_step_of_result(sink_add_comm(d->sink, (const struct journal_comm *)e));
	case JE_KIND:
		return get_step_of_result(
			sink_add_kind(d->sink, (const struct journal_kind_row *)e));
	case JE_NAME:
		return get_step_of_result(sink_add_name(d->sink, (const struct journal_name *)e));
	case JE_SCALAR:
		return get_step_of_result(
			sink_add_scalar(d->sink, (const struct journal_scalar *)e));
	}
	return NEXT_ENTRY;
}

/* Drains the entries of one chunk from *offset on. */
static enum step read_chunk(
	struct drain *d, const struct journal_chunk *k, uint32_t *offset, uint32_t slot)
{
	uint32_t used = atomic_load_explicit(&k->used, memory_order_acquire);
	bool whole = used <= journal_get_chunk_cap(d->j);

	while (*offset < used) {
		const struct journal_entry *e =
			whole ? journal_get_call_at(k, used, *offset) : NULL;

		if (!e)
			e = journal_get_entry_at(d->j, k, used, *offset);
		if (!e) {
			d->j->head->damaged++;
			*offset = used;
			break;
		}

		enum step s = handle_journal_entry(d, e, slot);

		if (s != NEXT_ENTRY)
			return s;
		*offset += e->bytes;
		d->progress = true;
		if (!--d->entries)
			return END_PASS;
	}
	return NEXT_ENTRY;
}

/*
 * Gives up a chain that contradicts itself: it is counted once and no longer read, and the rest
 * of it is lost. Other chains are still read. Its thread starts a new chain when it needs its
 * next chunk.
 */
static void stop_damaged_chain(struct drain *d, uint32_t slot)
{
	struct journal_thread *t = journal_get_thread(d->j, slot);

	d->j->head->damaged++;
	if (!d->j->left)
		log_loss(LOSS_DAMAGED,
			"the journal's chain of thread %lld is inconsistent: up to %llu "
			"KiB of its records are lost; the other threads are still recorded",
			(long long)t->tid, (unsigned long long)journal_get_size(d->j) >> 10);
	atomic_store_explicit(&t->state, JT_LOST, memory_order_release);
}

static void read_chain(struct drain *d, uint32_t slot)
{
	struct journal_thread *t = journal_get_thread(d->j, slot);
	struct journal_pos *pos = &d->next->pos[slot];
	uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);

	d->slot[slot].stuck = 0;
	d->dead = state == JT_DEAD;
	if ((state != JT_LIVE && state != JT_DEAD) || d->slot[slot].ended)
		return;
	if (pos->generation != t->generation)
		*pos = (struct journal_pos){.generation = t->generation};
	if (!pos->chunk) {
		pos->chunk = atomic_load_explicit(&t->first, memory_order_acquire);
		pos->offset = 0;
	}
	while (pos->chunk) {
		struct journal_chunk *k = get_chunk(d->j, pos->chunk, slot, t->generation);

		/*
		 * In a damaged journal a chain may be circular: it is given up after as many
		 * chunks as the journal has.
		 */
		if (!k || d->nfreed >= journal_get_nchunk(d->j) ||
			d->passed > journal_get_nchunk(d->j)) {
			stop_damaged_chain(d, slot);
			return;
		}

		enum step s = read_chunk(d, k, &pos->offset, slot);

		if (s == END_PASS)
			d->full = true;
		if (s != NEXT_ENTRY)
			return;

		uint32_t next = atomic_load_explicit(&k->next, memory_order_acquire);

		/*
		 * `next` is stored after the last entry: once it is seen, `used` is final, and may have grown since it
		 * was read.
		 */
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
		if (get_chunk(d->j, pos->chunk, slot, t->generation) &&
			d->nfreed < JOURNAL_CHUNKS_MAX)
			d->freed[d->nfreed++] = pos->chunk - 1;
		d->slot[slot].ended = true;
		d->progress = true;
	}
}

/*
 * Slots are freed before chunks: until a dead thread's slot is free, its last chunk must not
 * belong to another thread. If the process were killed in between, recovery would continue
 * reading in that chunk.
 */
static void free_read_chunks(struct drain *d)
{
	struct journal_head *h = d->j->head;

	for (uint32_t i = 0; i < d->nslot; i++)
		if (d->slot[i].ended)
			journal_free_slot(d->j, i);
	for (uint32_t i = 0; i < d->nfreed; i++) {
		uint32_t c = d->freed[i];

		atomic_fetch_and_explicit(
			&h->bitmap[c / 64], ~(UINT64_C(1) << (c & 63)), memory_order_release);
		atomic_fetch_add_explicit(&h->free_chunks, 1, memory_order_relaxed);
	}
}

static void start_commit(struct drain *d, size_t text)
{
	uint64_t seq = atomic_load_explicit(&d->j->head->commit_seq, memory_order_relaxed);

	d->nslot = journal_get_nthread(d->j);
	memcpy(d->next, journal_get_commit(d->j, seq), journal_get_commit_bytes(d->nslot));
	/* +2, because announcing new files may take one number. */
	d->next->number = seq + 2;
	/*
	 * Read before the chains, which then contain all calls that returned before this step
	 * began.
	 */
	d->step = atomic_load_explicit(&d->j->head->step, memory_order_acquire);
	d->entries = (uint32_t)(text / ENTRY_TEXT);
	d->until = clock_ns(CLOCK_MONOTONIC) + STACKS_NS;
	d->sink->files.text_most = text;
	d->nfreed = 0;
	d->orphan = 0;
	d->full = d->progress = d->any = d->give_up = false;
	memset(d->slot, 0, d->nslot * sizeof(*d->slot));
}

static int write_drained_pass(struct drain *d)
{
	struct journal_head *h = d->j->head;
	int err = sink_write(d->sink, d->next);

	if (err) {
		pending_store_rollback(&d->store);
		return err;
	}

	uint64_t now = atomic_load_explicit(&h->commit_seq, memory_order_relaxed);
	uint64_t seq = d->next->number;

	/* The copy that is written to must not be the valid one. */
	if (((seq ^ now) & 1) == 0)
		seq++;
	d->next->number = seq;
	/* Positions of additional slots are zero in both copies. */
	memcpy(journal_get_commit(d->j, seq), d->next, journal_get_commit_bytes(d->nslot));
	atomic_store_explicit(&h->commit_seq, seq, memory_order_release);
	/*
	 * From here on the process may be killed at any time; chunks that the new commit no
	 * longer needs are freed only after this point.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	pending_store_commit(&d->store);
	free_read_chunks(d);
	return 0;
}

/*
 * Finds a completion that blocks a chain and whose call exists nowhere. Returns its number, 0 if
 * there is none. A call is published before its completion can be, so a search that starts after
 * the completion was seen is conclusive.
 */
static uint64_t find_orphan(struct drain *d)
{
	for (uint32_t i = 0; i < d->nslot; i++)
		if (d->slot[i].stuck && !find_ahead(d, JE_CALL, d->slot[i].stuck))
			return d->slot[i].stuck;
	return 0;
}

/* Drains all chains once, repeated as long as completions find their calls. */
static void run_drain_pass(struct drain *d)
{
	do {
		uint32_t n = update_slots(d);

		d->progress = false;
		/*
		 * Round robin: a thread that fills its chain as fast as it is drained must not
		 * keep the other chains from being drained.
		 */
		for (uint32_t i = 0, from = d->turn; i < n && !d->full; i++) {
			read_chain(d, (from + i) % n);
			if (d->full)
				d->turn = (from + i + 1) % n;
		}
		d->any |= d->progress;
		d->orphan = d->progress || d->full || d->light ? 0 : find_orphan(d);
	} while ((d->progress || d->orphan) && !d->full);
}

/* Writes the rest at the end: calls that were started and never completed. */
static int write_pending_rows(struct drain *d)
{
	const struct journal_call *c;
	uint32_t at = 0;

	while ((c = pending_store_get_next(&d->store, &at))) {
		if (pending_store_remove(&d->store, d->next->number, c->seq) < 0)
			return -ENOMEM;
		if (sink_add_call(d->sink, c, NULL, true)) {
			pending_store_undo_remove(&d->store, c->seq);
			d->full = true;
			return 0;
		}
		d->any = true;
	}
	return 0;
}

int drain_one_pass(struct drain *d, size_t text, bool light, bool last)
{
	int err;

	d->last = last;
	d->light = light;
	start_commit(d, text);
	run_drain_pass(d);
	if (last && !d->full) {
		d->give_up = true;
		run_drain_pass(d);
	}
	if (last && !d->full) {
		err = write_pending_rows(d);
		if (err) {
			sink_reset_pass(d->sink);
			pending_store_rollback(&d->store);
			return err;
		}
	}
	if (!d->full)
		d->full = sink_add_step(d->sink, d->step) != 0;
	err = write_drained_pass(d);
	if (!err && d->full && !d->any)
		return -ENOMEM;
	return err ? err : d->full;
}

int drain_all(struct drain *d, bool last)
{
	int more;

	do
		more = drain_one_pass(d, DRAIN_TEXT, false, last);
	while (more > 0);
	return more;
}
