/* SPDX-License-Identifier: Apache-2.0 */
#include "call/async.h"

#include "api/enabled.h"
#include "base/thread.h"
#include "call/comm.h"
#include "call/keep.h"
#include "call/record.h"
#include "call/stackid.h"
#include "call/step.h"
#include "call/recorder.h"
#include "session/state.h"

void async_started(struct call *c, uint64_t key, bool receive)
{
	bool persistent = c->api->spec->completion == DONE_START;
	struct pending p = {
		.seq = c->rec ? c->rec->seq : 0,
		.start = c->start,
		.api = c->api,
		.op = c->op,
		.state = persistent ? PENDING_IDLE : PENDING_STARTED,
		.persistent = persistent,
		.receive = receive,
	};

	/* The end of a call without a record is not needed. */
	if (persistent ? !(c->word & (API_LISTED | API_NUMBERED)) : !c->rec)
		return;
	if (pending_add(key, &p)) {
		c->async = true;
	} else if (c->rec) {
		c->op.flags |= CF_UNTRACKED | CF_ASYNC;
		c->op.nout = 0;
		thread_count(c->t, JC_DROP_PENDING);
	}
}

void async_at_once(struct call *c, uint64_t end)
{
	if (c->rec)
		record_at_once(c->rec, &c->op, end);
	c->rec = NULL;
}

bool async_stands(uint64_t key)
{
	return pending_count() && pending_stands(key);
}

static unsigned thread_slot_of(const struct thread *t)
{
	return (unsigned)(t->chain.slot - journal_thread(&session.journal, 0));
}

void async_coming(const struct thread *t, uint64_t key)
{
	pending_coming(thread_slot_of(t), key);
}

void async_reused(struct call *c, uint64_t key, bool complete)
{
	struct thread *t = session_is_on() ? thread_get() : NULL;
	struct pending p;

	if (!t ||
		pending_awaited(key, thread_slot_of(t),
			atomic_load_explicit(&session.journal.head->nthread, memory_order_relaxed)))
		return;
	while (pending_evict(key, c->api->spec->lib, &p)) {
		/* One with outputs was asked when it was made: it was not complete, so its handle is not such a one. */
		bool shared = complete && !p.op.nout && !p.newcomm && !p.persistent;

		if (p.seq && p.state == PENDING_STARTED)
			write_end_record(t, &p, c->end, shared ? 0 : CF_UNSEEN, 0);
		operation_release(&p.op);
	}
}

void async_making(struct call *c, uint64_t key, struct comm *parent, void *at)
{
	struct pending p = {
		.api = c->api, .op.comm = parent, .state = PENDING_STARTED, .newcomm = at};

	pending_add(key, &p);
}

struct started {
	uint64_t seq, start;
	const struct api *row;
	uint32_t step;
	int64_t in_seq, out_seq; /* numbers of the message that this start sends or receives */
	const struct config *by;
};

static void mark_started(struct pending *p, void *arg)
{
	const struct started *s = arg;

	p->state = PENDING_STARTED;
	p->seq = s->seq;
	p->start = s->start;
	p->wait = 0;
	p->cancel = false;
	p->op.row = s->row;
	p->op.step = s->step;
	p->op.by = s->by;
	p->op.in[0].comm_seq = s->in_seq;
	p->op.out[0].comm_seq = s->out_seq;
}

bool async_ready(void)
{
	return recording_enabled() && !generation_now()->paused && session_rank_selected() &&
	       session_rank_profiled() && step_profiled() && session_start();
}

bool async_restart(struct call *c, uint64_t key, struct async_start *s)
{
	int64_t comm_seq = JOURNAL_NONE64;

	s->rec = NULL;
	s->key = 0;
	if (!pending_get(key, PENDING_IDLE, false, &s->p))
		return false;
	s->key = key;

	struct operation *w = &s->p.op;
	struct api *f = s->p.api;
	const struct kind *k = f->spec->kind;

	if (!(api_word(f) & API_NUMBERED)) {
		/* What came before is not known. */
	} else if (k->collective && w->comm) {
		comm_seq = comm_next(w->comm);
	} else if (w->comm) {
		/* Every start is a separate message. */
		struct buffer *v = w->nin ? &w->in[0] : w->nout ? &w->out[0] : NULL;

		if (v && v->comm_seq != JOURNAL_NONE64 && w->peer != JOURNAL_NONE)
			v->comm_seq =
				spec_is_parted(f->spec)
					? comm_next_parted(w->comm, w->nin > 0, w->peer, w->tag)
					: comm_next_p2p(w->comm, w->nin > 0, w->peer, w->tag);
	}
	w->by = config_now(); /* each start is a call of its own */
	if (!async_ready() || !(c->t = thread_get()))
		return true;
	thread_count(c->t, JC_SEEN);

	uint32_t stack = stack_id_wanted() ? stack_id(c->t, f, c->pc, c->frame) : 0;

	if (stack == STACK_UNWANTED) {
		thread_count(c->t, JC_SKIP_CALLER);
		return true;
	}
	s->rec = record_start(c->t, f, w, comm_seq, stack, 0);
	return true;
}

void async_restarted(struct async_start *s, uint64_t key, bool ok, int64_t error, bool at_once)
{
	if (s->key && key != s->key)
		pending_rename(s->key, key);
	if (!ok) {
		if (s->rec)
			record_not_started(s->rec, &s->p.op, clock_ticks(), error);
		return;
	}

	if (!s->key || !s->rec)
		return;

	if (at_once) {
		record_started_at_once(s->rec, &s->p.op, clock_ticks());
		return;
	}

	const struct operation *w = &s->p.op;
	struct started now = {
		.seq = s->rec->seq,
		.start = s->rec->start,
		.row = w->row,
		.step = w->step,
		.in_seq = w->in[0].comm_seq,
		.out_seq = w->out[0].comm_seq,
		.by = w->by,
	};

	record_started(s->rec, w);
	pending_change(key, PENDING_IDLE, mark_started, &now);
}

static void mark_seen(struct pending *p, void *arg)
{
	(void)arg;
	p->state = PENDING_SEEN;
}

bool async_done(struct call *c, uint64_t key, uint64_t end, uint64_t wait, uint32_t flags,
	int32_t error, async_fill_fn *fill, void *arg, bool keep)
{
	struct pending p;

	if (!pending_get_before(key, PENDING_STARTED, !keep, c->start, &p)) {
		/* Perhaps its end was recorded when it was looked at; now the handle goes too. */
		if (keep || !pending_get_before(key, PENDING_SEEN, true, c->start, &p))
			return false;
		if (!p.persistent)
			operation_release(&p.op);
		return true;
	}
	if (keep)
		pending_change(key, PENDING_STARTED, mark_seen, NULL);
	p.wait = wait;
	/* Statuses of file operations say it by chance (Open MPI 4). */
	if (!p.cancel)
		flags &= ~(uint32_t)CF_CANCELLED;
	if (fill && (p.seq || p.newcomm) && !(flags & (CF_ERROR | CF_FREED)))
		fill(&p, arg);
	if (p.seq && session_is_on() && (c->t = thread_get()))
		write_end_record(c->t, &p, end, flags, error);
	if (!keep && !p.persistent)
		operation_release(&p.op);
	return true;
}

void async_freed(struct call *c, uint64_t key, uint64_t end)
{
	async_done(c, key, end, 0, CF_FREED, 0, NULL, NULL, false);
	/* A persistent one is idle now; its handle may be given to another request at any time. */
	pending_forget(key, c->start);
}

void async_wait_begin(struct call *c)
{
	async_wait_for_message(c, NULL, JOURNAL_NONE, JOURNAL_NONE);
}

void async_wait_for_message(struct call *c, const struct comm *comm, int32_t peer, int32_t tag)
{
	if (!session_is_on() || !(c->t = thread_get()))
		return;

	struct journal_thread *s = c->t->chain.slot;

	s->wait_comm = comm ? comm->id : 0;
	s->wait_peer = peer;
	s->wait_tag = tag;
	s->wait_rank = comm ? comm->rank : -1;
	s->wait_size = comm ? comm->size : -1;
	s->wait_stack = stack_id_wanted() ? stack_id(c->t, c->api, c->pc, c->frame) : 0;
	if (s->wait_stack == STACK_UNWANTED)
		s->wait_stack = 0;
	s->wait_tick = clock_ticks();
	atomic_store_explicit(&s->wait_api, record_api(c->api), memory_order_release);
}

void async_wait_end(struct call *c)
{
	if (c->t && c->t == thread_inside()->recorder)
		atomic_store_explicit(&c->t->chain.slot->wait_api, 0, memory_order_relaxed);
}
