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
#include "session/profiled.h"
#include "session/state.h"
#include "session/thinning.h"

/* Returns the claims of this thread, or NULL if it does not record. */
static struct claims *get_thread_claims(void)
{
	const struct thread *t = thread_state.recorder;

	return t ? t->claims : NULL;
}

void async_started(struct call *c, uint64_t key, bool receive)
{
	bool persistent = c->api->spec->completion == DONE_START;
	struct pending p = {
		.seq = c->rec ? c->rec->seq : 0,
		.start = c->start,
		.added = c->end,
		.api = c->api,
		.op = c->op,
		.state = persistent ? PENDING_IDLE : PENDING_STARTED,
		.persistent = persistent,
		.receive = receive,
	};

	/* If a call has no record, its completion is not needed. */
	if (persistent ? !(c->word & (API_LISTED | API_NUMBERED)) : !c->rec)
		return;
	if (pending_add(get_thread_claims(), key, &p)) {
		c->async = true;
	} else if (c->rec) {
		c->op.flags |= CF_UNTRACKED | CF_ASYNC;
		c->op.nout = 0;
		thread_count(c->t, JC_DROP_PENDING);
	}
}

void async_record_complete(struct call *c, uint64_t end)
{
	if (c->rec)
		record_at_once(c->rec, &c->op, end);
	c->rec = NULL;
}

bool async_has_request(uint64_t key)
{
	return pending_get_count() && pending_has_unclaimed(key);
}

void async_reused(struct call *c, uint64_t key, bool complete)
{
	struct thread *t = session_is_on() ? thread_get() : NULL;
	struct pending p;

	while (t && pending_remove_any(key, c->api->spec->lib, &p)) {
		/*
		 * A request with outputs was tested when it was made. It was not complete, so its handle is not a
		 * shared one.
		 */
		bool shared = complete && !p.op.nout && !p.newcomm && !p.persistent;

		if (p.seq && p.state == PENDING_STARTED)
			write_end_record(t, &p, c->end, shared ? 0 : CF_UNSEEN, 0);
		operation_free_copy(&p.op);
	}
}

void async_add_new_comm(struct call *c, uint64_t key, struct comm *parent, void *at)
{
	struct pending p = {
		.api = c->api, .op.comm = parent, .state = PENDING_STARTED, .newcomm = at};

	pending_add(get_thread_claims(), key, &p);
}

/* ---- claims ---- */

bool async_open_claims_slow(struct async_claims *a, struct thread *t, uint64_t n, bool idle)
{
	struct claim_list *list;

	a->level = claims_enter(t->claims, thread_get_call_depth() == 0);
	list = pending_open_claims(t->claims, a->level, n, idle);
	a->thread = list ? t : NULL;
	a->claim = list ? list->claim : NULL;
	a->n = n;
	return list != NULL;
}

/* Returns the claimed request, or NULL if it is not in the table, or no longer. */
static struct pending *open_claimed(const struct pending_claim *claim)
{
	struct claims *claims = claim->entry ? get_thread_claims() : NULL;

	return claims ? pending_open(claims, claim) : NULL;
}

static void free_claimed(struct pending_claim *claim)
{
	pending_free_claim(claim->entry);
	claim->entry = NULL;
}

static void remove_claimed(struct pending_claim *claim)
{
	pending_remove(claim->entry);
	claim->entry = NULL;
}

/* ---- persistent requests ---- */

bool async_is_recording(void)
{
	return recording_enabled() && !get_generation()->paused && session_rank_selected() &&
	       session_rank_profiled() && step_profiled() && session_start();
}

bool async_open_starts(struct async_claims *a, struct thread *t, uint64_t n)
{
	return async_open_claims_slow(a, t, n, true);
}

/*
 * Numbers the start of a persistent request, which counts as a call. Returns the number if it is
 * a collective.
 */
static int64_t set_start_number(struct operation *w, const struct api *f)
{
	const struct kind *k = f->spec->kind;
	int64_t comm_seq = JOURNAL_NONE64;

	if (!(get_api_word(f) & API_NUMBERED)) {
		/*
		 * Starts before the function was switched on are not known, so this one has no
		 * number.
		 */
	} else if (k->collective && w->comm) {
		comm_seq = comm_get_next_seq(w->comm);
	} else if (w->comm) {
		/* Every start is a separate message. */
		struct buffer *v = w->nin ? &w->in[0] : w->nout ? &w->out[0] : NULL;

		if (v && v->comm_seq != JOURNAL_NONE64 && w->peer != JOURNAL_NONE)
			v->comm_seq =
				spec_is_partitioned(f->spec)
					? comm_get_next_partitioned(
						  w->comm, w->nin > 0, w->peer, w->tag)
					: comm_get_next_p2p(w->comm, w->nin > 0, w->peer, w->tag);
	}
	return comm_seq;
}

void async_count_start(struct call *c, uint64_t key)
{
	struct pending p;

	if (!pending_find_idle(key, &p))
		return;
	set_start_number(&p.op, p.api);
	if (async_is_recording() && (c->t = thread_get()))
		thread_count(c->t, JC_SEEN);
}

void async_open_start(
	struct call *c, struct async_claims *a, uint64_t i, uint64_t key, struct async_start *s)
{
	const struct pending *p;
	int64_t comm_seq;

	s->rec = NULL;
	pending_claim_next(a->thread->claims, a->level, i, key, true);
	p = open_claimed(&a->claim[i]);
	if (!p) {
		a->claim[i].entry = NULL;
		return;
	}
	s->p = *p;
	pending_close(a->claim[i].entry);
	comm_seq = set_start_number(&s->p.op, s->p.api);
	s->p.op.config = get_config();
	if (!async_is_recording() || !(c->t = thread_get()))
		return;
	thread_count(c->t, JC_SEEN);
	if (is_thinning_on() && is_thinned_out(c->t, &s->p.op, comm_seq)) {
		thread_count(c->t, JC_SKIP_OVERHEAD);
		return;
	}

	uint32_t stack = are_stack_ids_wanted() ? stack_id(c->t, s->p.api, c->pc, c->frame) : 0;

	if (stack == STACK_UNWANTED) {
		thread_count(c->t, JC_SKIP_CALLER);
		return;
	}
	s->rec = record_start(c->t, s->p.api, &s->p.op, comm_seq, stack, 0);
}

/* The entry keeps its description. Only the fields that describe this start change. */
static void set_started(struct pending *p, const struct async_start *s)
{
	const struct operation *w = &s->p.op;

	p->seq = s->rec->seq;
	p->start = s->rec->start;
	p->wait = 0;
	p->cancel = false;
	p->op.row = w->row;
	p->op.step = w->step;
	p->op.config = w->config;
	p->op.in[0].comm_seq = w->in[0].comm_seq;
	p->op.out[0].comm_seq = w->out[0].comm_seq;
	pending_set_state(p, PENDING_STARTED);
}

/* The library has changed the request's handle. */
static void set_claimed_key(struct pending_claim *claim, uint64_t key, const struct pending *p)
{
	struct pending copy = *p;

	remove_claimed(claim);
	/* pending_add() keeps a reference to what the copy needs. */
	pending_add(get_thread_claims(), key, &copy);
	operation_free_copy(&copy.op);
}

void async_close_start(struct async_claims *a, uint64_t i, struct async_start *s, uint64_t key,
	bool ok, int64_t error, bool at_once)
{
	struct pending_claim *claim = &a->claim[i];
	struct pending *p = open_claimed(claim);
	bool goes_on = ok && !at_once && s->rec;

	if (!ok) {
		if (s->rec)
			record_not_started(s->rec, &s->p.op, clock_ticks(), error);
	} else if (s->rec && at_once) {
		record_started_at_once(s->rec, &s->p.op, clock_ticks());
	} else if (s->rec) {
		record_started(s->rec, &s->p.op);
	}
	if (!p)
		return;
	if (goes_on)
		set_started(p, s);
	if (key != claim->key)
		set_claimed_key(claim, key, p);
	else
		free_claimed(claim);
}

/* ---- the end ---- */

static void record_end(struct call *c, struct pending *p, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg)
{
	p->wait = wait;
	/* Statuses of file operations may report a cancellation by accident (Open MPI 4). */
	if (!pending_is_cancelled(p))
		flags &= ~(uint32_t)CF_CANCELLED;
	if (fill && (p->seq || p->newcomm) && !(flags & (CF_ERROR | CF_FREED)))
		fill(p, arg);
	if (p->seq && session_is_on() && (c->t = thread_get()))
		write_end_record(c->t, p, end, flags, error);
}

bool async_record_done(struct call *c, struct pending_claim *claim, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg, bool keep)
{
	struct pending *p = open_claimed(claim), copy;
	bool stays, known;

	if (!p)
		return false;
	stays = keep || p->persistent || p->state == PENDING_IDLE;
	/*
	 * The request's end may have been recorded when a test saw it complete; now its handle is
	 * released, too.
	 */
	known = p->state == PENDING_STARTED || (p->state == PENDING_SEEN && !keep);
	if (p->state == PENDING_STARTED) {
		/*
		 * record_end() stores the message of this start, which may differ from that of
		 * the next one.
		 */
		if (stays)
			copy = *p;
		record_end(c, stays ? &copy : p, end, wait, flags, error, fill, arg);
	}
	if (stays) {
		if (known)
			pending_set_state(p, keep ? PENDING_SEEN : PENDING_IDLE);
		free_claimed(claim);
		return known;
	}
	operation_free_copy(&p->op);
	remove_claimed(claim);
	return true;
}

bool async_record_done_by_key(struct call *c, uint64_t key, uint64_t before, uint64_t end,
	uint64_t wait, uint32_t flags, int32_t error, async_fill_fn *fill, void *arg)
{
	struct pending p;

	if (!pending_remove_oldest(key, before, &p))
		return false;
	record_end(c, &p, end, wait, flags, error, fill, arg);
	operation_free_copy(&p.op);
	return true;
}

void async_freed(
	struct call *c, struct pending_claim *claim, uint64_t end, uint32_t flags, int32_t error)
{
	struct pending *p = open_claimed(claim);

	if (!p)
		return;
	if (p->state == PENDING_STARTED)
		record_end(c, p, end, 0, flags, error, NULL, NULL);
	operation_free_copy(&p->op);
	remove_claimed(claim);
}

/* number: value for journal_thread.wait_number. */
static void open_wait(
	struct call *c, const struct comm *comm, int32_t peer, int32_t tag, uint32_t number)
{
	if (!session_is_on() || !(c->t = thread_get()))
		return;

	struct journal_thread *s = c->t->chain.slot;

	s->wait_comm = comm ? comm->id : 0;
	s->wait_peer = peer;
	s->wait_tag = tag;
	s->wait_number = number;
	s->wait_rank = comm ? comm->rank : -1;
	s->wait_size = comm ? comm->size : -1;
	s->wait_stack = are_stack_ids_wanted() ? stack_id(c->t, c->api, c->pc, c->frame) : 0;
	if (s->wait_stack == STACK_UNWANTED)
		s->wait_stack = 0;
	s->wait_tick = clock_ticks();
	atomic_store_explicit(&s->wait_api, record_api(c->api), memory_order_release);
}

void async_wait_begin(struct call *c)
{
	open_wait(c, NULL, JOURNAL_NONE, JOURNAL_NONE, 0);
}

void async_wait_for_message(struct call *c, const struct comm *comm, int32_t peer, int32_t tag)
{
	open_wait(c, comm, peer, tag, 0);
}

void async_wait_for_members(struct call *c, struct comm *comm)
{
	uint64_t next = comm ? atomic_load_explicit(&comm->seq, memory_order_relaxed) : 0;
	struct thread *t;

	/*
	 * Begins the session: functions that make communicators may be a program's first calls,
	 * and a job that hangs in one of them must be recorded.
	 */
	if (!async_is_recording() || !(t = thread_get()))
		return;
	if (!comm || next >= UINT32_MAX || comm->flags & CF_LOCALCOMM) {
		async_wait_begin(c);
		return;
	}
	if (!atomic_load_explicit(&comm->announced, memory_order_relaxed))
		comm_write_row(comm, t);
	open_wait(c, comm, JOURNAL_NONE, JOURNAL_NONE, (uint32_t)next + 1);
}

void async_remove_claims(struct call *c)
{
	if (thread_state.recorder)
		claims_reset(thread_state.recorder->claims);
	async_wait_end(c);
}

void async_wait_end(struct call *c)
{
	if (c->t && c->t == thread_inside()->recorder)
		atomic_store_explicit(&c->t->chain.slot->wait_api, 0, memory_order_relaxed);
}
