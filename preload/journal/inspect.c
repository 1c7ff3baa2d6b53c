/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "terms/redop.h"

/* An asynchronous call, and how many of its bytes can be read. */
struct seen_pending {
	const struct journal_call *call; /* NULL: its END entry was found */
	size_t space;
};

struct look {
	const struct journal *journal;
	void (*fn)(void *, const struct inspect_call *);
	void *arg;
	uint32_t n;
	uint64_t latest; /* ticks */
	/* Asynchronous calls found so far without their END entry. */
	struct seen_pending *pending;
	size_t npending, cap;
};

static void set_api_names(const struct look *l, uint32_t id, struct inspect_call *c)
{
	const char *p = journal_dict_get(l->journal, DICT_API, (uint16_t)id);

	c->lib = c->api = c->op = "";
	if (p) {
		c->lib = p;
		c->api = c->lib + strlen(c->lib) + 1;
		c->op = c->api + strlen(c->api) + 1;
	}
}

/*
 * Returns the first tensor of an open call: the one that it sends, or waits to receive. Returns
 * NULL if it is not known, or is not within `space` bytes.
 */
static const struct journal_tensor *tensor_of_open(const struct journal_call *r, size_t space)
{
	if (space < sizeof(*r) + sizeof(struct journal_tensor))
		return NULL;
	if (r->e.n && r->e.bytes >= sizeof(*r) + sizeof(struct journal_tensor))
		return (const struct journal_tensor *)(r + 1);
	return journal_awaited(r);
}

static void show_open_call(struct look *l, const struct journal_call *r, size_t space, bool async)
{
	const struct journal_tensor *t = tensor_of_open(r, space);
	struct inspect_call c = {
		.seq = r->seq,
		.comm = r->comm,
		.comm_seq = r->comm ? r->comm_seq : JOURNAL_NONE64,
		.start_ns = clock_to_real(&l->journal->head->clock, r->start),
		.step = r->step,
		.stack = r->stack,
		.tid = r->tid,
		.flags = r->flags,
		.rank = r->comm_rank,
		.size = r->comm_size,
		.root = r->root,
		.peer = r->peer,
		.tag = r->tag,
		.async = async,
	};

	set_api_names(l, r->api, &c);
	c.redop = redop_name[r->redop < REDOP_COUNT ? r->redop : 0];
	c.dtype = "";
	if (t) {
		c.dtype = get_dtype_info(t->dtype)->name;
		c.count = t->count;
		c.bytes = t->bytes;
	}
	/* If a call sends to one rank and receives from another, its tensors have these ranks. */
	if (t && r->e.n) {
		c.peer = t->peer != JOURNAL_NONE ? t->peer : c.peer;
		c.tag = t->tag != JOURNAL_NONE ? t->tag : c.tag;
		c.comm_seq = t->comm_seq != JOURNAL_NONE64 ? t->comm_seq : c.comm_seq;
	}
	l->fn(l->arg, &c);
	l->n++;
}

static void record_pending(struct look *l, const struct journal_call *c, size_t space)
{
	if (l->npending == l->cap) {
		size_t want = l->cap ? l->cap * 2 : 256;
		void *more = realloc(l->pending, want * sizeof(*l->pending));

		if (!more)
			return;
		l->pending = more;
		l->cap = want;
	}
	l->pending[l->npending++] = (struct seen_pending){c, space};
}

/* Visits every entry from the committed position of a chain to its end. */
static void walk_chain(struct look *l, uint32_t slot, const struct journal_commit *commit,
	void (*visit)(struct look *, const struct journal_entry *))
{
	const struct journal_thread *t = journal_get_thread(l->journal, slot);
	const struct journal_pos *pos = &commit->pos[slot];
	uint32_t state = atomic_load_explicit(&t->state, memory_order_acquire);
	bool same = pos->generation == t->generation && pos->chunk;
	uint32_t chunk = same ? pos->chunk : atomic_load_explicit(&t->first, memory_order_acquire);
	uint32_t at = same ? pos->offset : 0;

	if (state != JT_LIVE && state != JT_DEAD)
		return;
	for (uint32_t all = journal_get_nchunk(l->journal), left = all;
		chunk && chunk <= all && left; left--) {
		const struct journal_chunk *k = journal_get_chunk(l->journal, chunk - 1);
		uint32_t used = atomic_load_explicit(&k->used, memory_order_acquire);

		if (!journal_chunk_is_of(k, slot, t->generation))
			break;
		/*
		 * The chunk may be freed and reused at any time, so an entry may be overwritten
		 * after it was checked.
		 */
		for (const struct journal_entry *e;
			at < used && (e = journal_get_entry_at(l->journal, k, used, at));) {
			uint32_t bytes = e->bytes;

			visit(l, e);
			if (bytes < sizeof(*e) || bytes % 8 || bytes > used - at)
				break;
			at += bytes;
		}
		chunk = atomic_load_explicit(&k->next, memory_order_acquire);
		at = 0;
	}
}

static void handle_open_call(struct look *l, const struct journal_entry *e)
{
	if (e->type != JE_CALL)
		return;

	const struct journal_call *c = (const struct journal_call *)e;
	uint8_t state = atomic_load_explicit(&e->state, memory_order_acquire);

	if (state == JCS_OPEN)
		show_open_call(l, c, e->bytes, false);
	else if (state == JCS_ASYNC)
		record_pending(l, c, e->bytes);
}

static void handle_call_end(struct look *l, const struct journal_entry *e)
{
	if (e->type != JE_END)
		return;

	uint64_t seq = ((const struct journal_end *)e)->seq;

	for (size_t i = 0; i < l->npending; i++)
		if (l->pending[i].call && l->pending[i].call->seq == seq)
			l->pending[i].call = NULL;
}

static void emit_pending_calls(struct look *l, uint64_t commit)
{
	const struct journal_head *h = l->journal->head;
	uint32_t n = (uint32_t)(journal_get_space(l->journal, JP_PENDING) / PENDING_UNIT);

	for (uint32_t i = 0; i < n;) {
		const struct pending_slot *s = (const void *)((const char *)h + h->pending_off +
							      (uint64_t)i * PENDING_UNIT);
		const struct journal_call *c = (const void *)s->data;
		uint64_t born = s->born, died = s->died;
		uint32_t units = s->units;

		if (!born || !units || units > n - i) {
			i++;
			continue;
		}
		if (born <= commit && (!died || died > commit) && c->e.type == JE_CALL && c->seq &&
			units * PENDING_UNIT >= sizeof(*s) + sizeof(*c))
			record_pending(l, c, units * PENDING_UNIT - sizeof(*s));
		i += units;
	}
}

static void emit_waits(struct look *l)
{
	for (uint32_t i = 0, n = journal_get_nthread(l->journal); i < n; i++) {
		const struct journal_thread *t = journal_get_thread(l->journal, i);
		uint32_t api = atomic_load_explicit(&t->wait_api, memory_order_acquire);
		struct inspect_call c = {
			.comm_seq = JOURNAL_NONE64,
			.start_ns = clock_to_real(&l->journal->head->clock, t->wait_tick),
			.step = l->journal->head->step,
			.stack = t->wait_stack,
			.tid = (uint32_t)t->tid,
			.rank = -1,
			.size = -1,
			.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.waiting = true,
			.redop = "",
			.dtype = "",
		};

		if (t->wait_comm) {
			c.comm = t->wait_comm;
			c.peer = t->wait_peer;
			c.tag = t->wait_tag;
			c.rank = t->wait_rank;
			c.size = t->wait_size;
		}
		if (!api || atomic_load_explicit(&t->state, memory_order_relaxed) != JT_LIVE)
			continue;
		set_api_names(l, api, &c);
		if (t->wait_comm && t->wait_number)
			c.comm_seq = (int64_t)t->wait_number - 1;
		else if (t->wait_comm)
			c.op = "probe";
		l->fn(l->arg, &c);
		l->n++;
	}
}

uint32_t inspect_open(
	const struct journal *j, void (*fn)(void *arg, const struct inspect_call *c), void *arg)
{
	struct look l = {.journal = j, .fn = fn, .arg = arg};
	uint64_t seq = atomic_load_explicit(&j->head->commit_seq, memory_order_acquire);
	size_t bytes = journal_get_commit_bytes(j->head->nslot);
	struct journal_commit *commit = malloc(bytes);
	uint32_t n = journal_get_nthread(j);

	if (!commit)
		return 0;
	memcpy(commit, journal_get_commit(j, seq), bytes);
	emit_pending_calls(&l, seq);
	for (uint32_t i = 0; i < n; i++)
		walk_chain(&l, i, commit, handle_open_call);
	if (l.npending)
		for (uint32_t i = 0; i < n; i++)
			walk_chain(&l, i, commit, handle_call_end);
	for (size_t i = 0; i < l.npending; i++)
		if (l.pending[i].call)
			show_open_call(&l, l.pending[i].call, l.pending[i].space, true);
	emit_waits(&l);
	free(l.pending);
	free(commit);
	return l.n;
}

static void handle_call_time(struct look *l, const struct journal_entry *e)
{
	const struct journal_call *c = (const struct journal_call *)e;
	uint64_t at = 0;

	if (e->type == JE_CALL)
		at = atomic_load_explicit(&e->state, memory_order_acquire) == JCS_CLOSED ? c->end
											 : c->start;
	else if (e->type == JE_END)
		at = ((const struct journal_end *)e)->end;
	if (at > l->latest)
		l->latest = at;
}

uint64_t find_latest_event(const struct journal *j)
{
	struct look l = {.journal = j};
	uint64_t seq = atomic_load_explicit(&j->head->commit_seq, memory_order_acquire);

	for (uint32_t i = 0, n = journal_get_nthread(j); i < n; i++) {
		const struct journal_thread *t = journal_get_thread(j, i);

		walk_chain(&l, i, journal_get_commit(j, seq), handle_call_time);
		if (t->wait_api && t->wait_tick > l.latest)
			l.latest = t->wait_tick;
	}
	return l.latest ? clock_to_real(&j->head->clock, l.latest) : 0;
}
