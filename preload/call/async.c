/* SPDX-License-Identifier: Apache-2.0 */
#include "call/async.h"

#include "base/thread.h"
#include "call/comm.h"
#include "call/record.h"
#include "call/stackid.h"
#include "call/step.h"
#include "call/thread.h"
#include "session.h"

void async_started(struct call *c, uint64_t key, bool receive)
{
	bool persistent = c->api->spec->completion == DONE_START;
	struct pending p = {
		.seq = c->rec ? c->rec->seq : 0,
		.start = c->start,
		.api = c->api,
		.what = c->what,
		.state = persistent ? PENDING_IDLE : PENDING_STARTED,
		.persistent = persistent,
		.receive = receive,
	};

	/* Nobody is interested in the end of a call that has no record. */
	if (persistent ? !(c->api->traits & API_LISTED) : !c->rec)
		return;
	if (pending_add(key, &p)) {
		c->async = true;
	} else if (c->rec) {
		c->what.flags |= CF_UNTRACKED | CF_ASYNC;
		c->what.nout = 0;
		thread_count(c->t, JC_DROP_PENDING);
	}
}

void async_making(struct call *c, uint64_t key, struct comm *parent, void *at)
{
	struct pending p = {
		.api = c->api, .what.comm = parent, .state = PENDING_STARTED, .newcomm = at};

	pending_add(key, &p);
}

struct started {
	uint64_t seq, start;
	int64_t in_seq, out_seq; /* numbers of the message that this start sends or receives */
};

static void mark_started(struct pending *p, void *arg)
{
	const struct started *s = arg;

	p->state = PENDING_STARTED;
	p->seq = s->seq;
	p->start = s->start;
	p->wait = 0;
	p->cancel = false;
	p->what.in[0].comm_seq = s->in_seq;
	p->what.out[0].comm_seq = s->out_seq;
}

bool async_ready(void)
{
	return !atomic_load_explicit(&session.paused, memory_order_relaxed) &&
	       session_rank_selected() && step_selected() && session_start();
}

bool async_restart(struct call *c, uint64_t key, struct async_start *s)
{
	int64_t comm_seq = JOURNAL_NONE64;

	s->rec = NULL;
	s->key = 0;
	if (!pending_get(key, PENDING_IDLE, false, &s->p))
		return false;
	s->key = key;

	struct what *w = &s->p.what;
	struct api *f = s->p.api;
	const struct kind *k = f->spec->kind;

	if (k->collective && w->comm)
		comm_seq = comm_next(w->comm);
	else if (w->comm) {
		/* Every start is a message of its own. */
		struct view *v = w->nin ? &w->in[0] : w->nout ? &w->out[0] : NULL;

		if (v && v->comm_seq != JOURNAL_NONE64 && w->peer != JOURNAL_NONE)
			v->comm_seq = comm_next_p2p(w->comm, w->nin > 0, w->peer, w->tag);
	}
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

void async_restarted(struct async_start *s, bool ok, int64_t error)
{
	if (!ok) {
		if (s->rec)
			record_not_started(s->rec, &s->p.what, clock_ticks(), error);
		return;
	}

	if (!s->key || !s->rec)
		return;

	const struct what *w = &s->p.what;
	struct started now = {s->rec->seq, s->rec->start, w->in[0].comm_seq, w->out[0].comm_seq};

	record_started(s->rec, w);
	pending_change(s->key, PENDING_IDLE, mark_started, &now);
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
		if (!p.persistent && p.what.comm)
			comm_release(p.what.comm);
		return true;
	}
	if (keep)
		pending_change(key, PENDING_STARTED, mark_seen, NULL);
	p.wait = wait;
	if (fill && (p.seq || p.newcomm) && !(flags & (CF_ERROR | CF_FREED)))
		fill(&p, arg);
	if (p.seq && session_is_on() && (c->t = thread_get()))
		record_end(c->t, &p, end, flags, error);
	if (!keep && !p.persistent && p.what.comm)
		comm_release(p.what.comm);
	return true;
}

void async_freed(struct call *c, uint64_t key, uint64_t end)
{
	async_done(c, key, end, 0, CF_FREED, 0, NULL, NULL, false);
	/* A persistent one is idle now; its handle may be given to another request at any time. */
	pending_forget(key);
}

void async_wait_begin(struct call *c)
{
	if (!session_is_on() || !(c->t = thread_get()))
		return;

	struct journal_thread *s = c->t->chain.slot;

	s->wait_stack = stack_id_wanted() ? stack_id(c->t, c->api, c->pc, c->frame) : 0;
	if (s->wait_stack == STACK_UNWANTED)
		s->wait_stack = 0;
	s->wait_tick = clock_ticks();
	atomic_store_explicit(&s->wait_api, record_api(c->api), memory_order_release);
}

void async_wait_end(struct call *c)
{
	if (c->t && c->t == thread_word.self)
		atomic_store_explicit(&c->t->chain.slot->wait_api, 0, memory_order_relaxed);
}
