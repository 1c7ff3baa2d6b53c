/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls from an adapter's point of view: it knows handles, statuses and which of them completed; the
 * records and the table of calls under way are kept here.
 */
#ifndef PROBE_CALL_ASYNC_H
#define PROBE_CALL_ASYNC_H

#include "call/pending.h"
#include "call/recorder.h"

/*
 * The call of `c` (DONE_REQUEST or DONE_START) succeeded and gave back handle `key`. receive: see struct pending.
 * From the adapter's leave; call_leave() then leaves the record open.
 */
void async_started(struct call *c, uint64_t key, bool receive);

/* Complete since tick `end`, with no Wait of the program: outputs are measured now, the record is closed. From leave. */
void async_at_once(struct call *c, uint64_t end);

/*
 * Does handle `key`, which the call of `c` was just given, stand in the table? The library gives out again only what is
 * over: the older call has ended without our seeing it, or the library has one handle for all calls that are complete
 * when they are made. complete: it says that the new one is. async_reused() then closes the older ones, but those that a
 * call has claimed: it is on its way to do so. None of their memory is read: the program may have it back by now.
 */
bool async_stands(uint64_t key);
void async_reused(struct call *c, uint64_t key, bool complete);

/* A communicator is being made under that handle; `at` is where its handle will be. async_done() hands it to fill. */
void async_making(struct call *c, uint64_t key, struct comm *parent, void *at);

/*
 * Calls that complete, start or free what handles stand for: the entries are claimed in the adapter's enter, before the real
 * function, and its leave reports what becomes of them. What is not reported as over is what it was: the call failed, or
 * completed nothing (call/pending.h). It lies in c->note, and leaves nothing else there.
 */
struct async_claims {
	struct thread *thread; /* NULL: nothing was begun, nothing is to be done */
	struct pending_claim *claim; /* `n` of them */
	uint64_t n;
	unsigned level;
	struct pending_claim one;
};

/* Of one request. t NULL: nothing is begun. */
static inline void async_claim_one(struct async_claims *a, struct thread *t, uint64_t key)
{
	a->thread = t;
	if (!t)
		return;
	a->claim = &a->one;
	a->n = 1;
	a->level = claims_enter(t->claims, thread_on_the_way() == 0);
	pending_claim_one(t->claims, a->level, key, &a->one);
}

/* Of n. False: there is no room, nothing is begun. */
bool async_claims_begin_slow(struct async_claims *a, struct thread *t, uint64_t n, bool idle);

static inline bool async_claims_begin(struct async_claims *a, struct thread *t, uint64_t n)
{
	struct claim_list *list = &t->claims->list[0][0];

	/* The usual case: the outermost call, about as many requests as the last one or more. */
	if (__builtin_expect(
		    thread_on_the_way() || n < list->n || n > list->room || t->claims->list[0][1].n,
		    0))
		return async_claims_begin_slow(a, t, n, false);
	a->thread = t;
	a->claim = list->claim;
	a->n = n;
	a->level = claims_enter(t->claims, true);
	claims_say(t->claims, 0, claim_of_list(t->claims, 0, false));
	return true;
}

/*
 * Claims them. handle_at: gives the i-th handle; key_of: 0 where it is no request. A program may ask about thousands again and
 * again.
 */
static inline __attribute__((always_inline)) void async_claim_each(struct async_claims *a,
	const void *array, uint64_t (*handle_at)(const void *array, uint64_t i),
	uint64_t (*key_of)(uint64_t handle))
{
	struct claims *claims = a->thread->claims;
	const struct claim_list *list = &claims->list[a->level][0];
	uint64_t mark = claim_of_list(claims, a->level, false), n = a->n, known = list->n;
	const struct pending_claim *c = list->claim;

	for (uint64_t i = 0; i < n; i++, c++) {
		uint64_t h = handle_at(array, i);

		if (__builtin_expect(i < known && pending_still_claimed(c, h, mark), 1))
			continue;
		pending_claim_anew(claims, a->level, i, key_of(h), false);
		known = list->n;
	}
}

/* In leave: are there any? In a forked child they are its parent's. */
static inline bool async_has_claims(const struct async_claims *a)
{
	return a->thread && a->thread == thread_state.recorder;
}

static inline void async_claims_end(struct async_claims *a)
{
	claims_leave(a->thread->claims, a->level);
}

bool async_ready(void); /* true if starts are recorded now; begins recording if need be */

/*
 * Opens the records of n persistent requests that are about to be started (before the real function): async_starts_begin(), then
 * async_restart() for each. After it async_restarted() for each, and async_claims_end(). key: the handle as it is then, which may be
 * another one. at_once: requests of that handle are complete already.
 */
struct async_start {
	struct journal_call *rec; /* NULL: not recorded */
	struct pending p;
};
bool async_starts_begin(struct async_claims *a, struct thread *t, uint64_t n);
void async_restart(
	struct call *c, struct async_claims *a, uint64_t i, uint64_t key, struct async_start *s);
void async_restarted(struct async_claims *a, uint64_t i, struct async_start *s, uint64_t key,
	bool ok, int64_t error, bool at_once);

/* The start of an idle request of that handle is counted where there is no room to record it. */
void async_count_start(struct call *c, uint64_t key);

/*
 * The claimed request completed. fill: lets the adapter put what arrived (counts, source, tag) into p->op
 * before outputs are measured, or take note of a new communicator; NULL: nothing to add. wait: ticks that the completing call took. keep: the handle stays
 * valid (it was only looked at). False: the handle is none of ours.
 */
typedef void async_fill_fn(struct pending *p, void *arg);
bool async_done(struct call *c, struct pending_claim *claim, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg, bool keep);

/*
 * The same of the oldest call under a key that no library gives out again, added at tick `before` or earlier (0: whenever):
 * nothing is claimed.
 */
bool async_done_of_key(struct call *c, uint64_t key, uint64_t before, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg);

/*
 * The claimed request was freed. If it was under way this is how it ended: CF_FREED if no call will see its end, else as it stood
 * at tick `end`.
 */
void async_freed(
	struct call *c, struct pending_claim *claim, uint64_t end, uint32_t flags, int32_t error);

/* The completion call that this thread is blocked in, for `probe report` on a hung job; and that it has left it. */
void async_wait_begin(struct call *c);
/* The same of one that waits for a message. peer, tag: JOURNAL_NONE is any; comm NULL: not known. */
void async_wait_for_message(struct call *c, const struct comm *comm, int32_t peer, int32_t tag);
void async_wait_end(struct call *c);

/* The call, which may have begun to claim or to wait, was left by an exception. */
void async_left(struct call *c);

#endif
