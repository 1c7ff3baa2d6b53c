/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls, the interface for adapters. The adapter knows handles, statuses, and which of them completed. The
 * records and the table of pending calls are kept here.
 */
#ifndef PROBE_CALL_ASYNC_H
#define PROBE_CALL_ASYNC_H

#include "call/pending.h"
#include "call/recorder.h"

/*
 * The call of `c` (DONE_REQUEST or DONE_START) succeeded and returned handle `key`. receive: see struct pending. Call
 * it from the adapter's leave; call_leave() then keeps the record open.
 */
void async_started(struct call *c, uint64_t key, bool receive);

/*
 * The operation was complete at tick `end`, without a Wait of the program: outputs are measured now and the record is
 * closed. Call it from leave.
 */
void async_at_once(struct call *c, uint64_t end);

/*
 * True if handle `key`, which the call of `c` just returned, is in the table. The library reuses only handles of completed
 * operations. So either the older call ended unseen, or the library has one handle for all calls that complete immediately.
 * complete: the library reports that the new one is complete. async_reused() then closes the older ones, except those claimed
 * by a call that is about to do so. Their memory is not read: the program may have got it back by now.
 */
bool async_stands(uint64_t key);
void async_reused(struct call *c, uint64_t key, bool complete);

/*
 * A communicator is being made under that handle; its own handle will be stored at `at`. async_done() passes it to
 * fill.
 */
void async_making(struct call *c, uint64_t key, struct comm *parent, void *at);

/*
 * For calls that complete, start or free operations by handle. The adapter's enter claims the entries before the real
 * function runs; its leave reports the outcome. An entry without a report stays as it was: the call failed, or
 * completed nothing (call/pending.h). The struct is in c->note, which has no room for more.
 */
struct async_claims {
	struct thread *thread; /* NULL: nothing was begun, and nothing is to be done */
	struct pending_claim *claim; /* `n` of them */
	uint64_t n;
	unsigned level;
	struct pending_claim one;
};

/* Claims one request. t NULL: nothing is begun. */
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

/* Begins claims of n requests. False: there is no room, and nothing is begun. */
bool async_claims_begin_slow(struct async_claims *a, struct thread *t, uint64_t n, bool idle);

static inline bool async_claims_begin(struct async_claims *a, struct thread *t, uint64_t n)
{
	struct claim_list *list = &t->claims->list[0][0];

	/* The usual case: the outermost call, with about as many requests as the last one, or more. */
	if (__builtin_expect(
		    thread_on_the_way() || n < list->n || n > list->room || t->claims->list[0][1].n,
		    0))
		return async_claims_begin_slow(a, t, n, false);
	a->thread = t;
	a->claim = list->claim;
	a->n = n;
	a->level = claims_enter(t->claims, true);
	claims_say(t->claims, 0, get_list_claim(t->claims, 0, false));
	return true;
}

/*
 * Claims n requests. handle_at: returns the i-th handle; key_of: 0 if it is not a request. Must be fast: programs test
 * thousands of requests repeatedly.
 */
static inline __attribute__((always_inline)) void async_claim_each(struct async_claims *a,
	const void *array, uint64_t (*handle_at)(const void *array, uint64_t i),
	uint64_t (*key_of)(uint64_t handle))
{
	struct claims *claims = a->thread->claims;
	const struct claim_list *list = &claims->list[a->level][0];
	uint64_t mark = get_list_claim(claims, a->level, false), n = a->n, known = list->n;
	const struct pending_claim *c = list->claim;

	for (uint64_t i = 0; i < n; i++, c++) {
		uint64_t h = handle_at(array, i);

		if (__builtin_expect(i < known && pending_still_claimed(c, h, mark), 1))
			continue;
		pending_claim_again(claims, a->level, i, key_of(h), false);
		known = list->n;
	}
}

/* True if there are claims to be handled in leave. In a forked child they belong to the parent. */
static inline bool async_has_claims(const struct async_claims *a)
{
	return a->thread && a->thread == thread_state.recorder;
}

static inline void async_claims_end(struct async_claims *a)
{
	claims_leave(a->thread->claims, a->level);
}

bool async_ready(void); /* true if starts are recorded now; begins recording if necessary */

/*
 * Opens the records of n persistent requests before the real function starts them: async_starts_begin(), then
 * async_restart() for each. After the function: async_restarted() for each, then async_claims_end(). key: the handle
 * afterwards, which may differ. at_once: requests with that handle are complete already.
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

/* Counts the start of an idle request with that handle that cannot be recorded for lack of room. */
void async_count_start(struct call *c, uint64_t key);

/*
 * The claimed request completed. fill: lets the adapter put what arrived (counts, source, tag) into p->op before
 * outputs are measured, or handle a new communicator; NULL: nothing to add. wait: ticks that the completing call took.
 * keep: the handle stays valid (it was only tested). False: the handle is not ours.
 */
typedef void async_fill_fn(struct pending *p, void *arg);
bool async_done(struct call *c, struct pending_claim *claim, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg, bool keep);

/*
 * The same for the oldest call with a key that no library reuses, added at tick `before` or earlier (0: at any time).
 * Nothing is claimed.
 */
bool async_done_of_key(struct call *c, uint64_t key, uint64_t before, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg);

/*
 * The claimed request was freed. If it was pending, this ends its record: with CF_FREED if no later call can see its
 * end, else with its state at tick `end`.
 */
void async_freed(
	struct call *c, struct pending_claim *claim, uint64_t end, uint32_t flags, int32_t error);

/*
 * Marks the completion call in which this thread is blocked, for `probe report` on a hung job; the second function
 * clears it.
 */
void async_wait_begin(struct call *c);
/* The same for a call that waits for a message. peer, tag: JOURNAL_NONE is any; comm NULL: not known. */
void async_wait_for_message(struct call *c, const struct comm *comm, int32_t peer, int32_t tag);
/*
 * The same for a call that all members of comm make, and that is no numbered collective (MPI_Comm_split). Begins the
 * session. comm NULL: not known.
 */
void async_wait_for_members(struct call *c, struct comm *comm);
void async_wait_end(struct call *c);

/* The call was left by an exception; clears its claims and its wait. */
void async_left(struct call *c);

#endif
