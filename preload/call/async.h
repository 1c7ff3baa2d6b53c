/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface for adapters of asynchronous calls. The adapter knows the handles and statuses,
 * and which operations have completed. This module keeps the records and the table of pending
 * calls.
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
 * The operation was already complete at tick `end`, without a Wait of the program: measures the
 * outputs and closes the record. Call it from the adapter's leave.
 */
void async_record_complete(struct call *c, uint64_t end);

/*
 * Handle `key` was just returned by call c. async_has_request() is true if it is already in the table.
 * Libraries reuse only handles of completed operations, so either the program completed the older
 * operation unseen by us, or the library has one handle for all calls that complete immediately.
 * async_reused() then closes the older records, except those claimed by a call that is about to
 * close them. complete: the library reports that the new operation is complete. The buffers of
 * the older operations are not read: the program may have freed them by now.
 */
bool async_has_request(uint64_t key);
void async_reused(struct call *c, uint64_t key, bool complete);

/*
 * A communicator is being made under request `key`; the library will store its handle at `at`.
 * async_record_done() passes `at` to the adapter's fill() (pending.newcomm).
 */
void async_add_new_comm(struct call *c, uint64_t key, struct comm *parent, void *at);

/*
 * For calls that complete, start or free operations by handle. The adapter's enter claims the
 * entries before the real function runs; its leave reports what happened to each. An entry
 * without a report is unchanged: the call failed, or completed nothing (call/pending.h). This
 * struct fills c->note completely.
 */
struct async_claims {
	struct thread *thread; /* NULL: nothing was claimed, nothing is to be reported */
	struct pending_claim *claim; /* array of n */
	uint64_t n;
	unsigned level;
	struct pending_claim one;
};

/* Claims request `key`. t NULL: claims nothing. */
static inline void async_claim_one(struct async_claims *a, struct thread *t, uint64_t key)
{
	a->thread = t;
	if (!t)
		return;
	a->claim = &a->one;
	a->n = 1;
	a->level = claims_enter(t->claims, thread_get_call_depth() == 0);
	pending_claim_one(t->claims, a->level, key, &a->one);
}

/*
 * Begins claims of n requests. idle: of persistent requests that are not started. Returns false,
 * having done nothing, if there is no memory.
 */
bool async_open_claims_slow(struct async_claims *a, struct thread *t, uint64_t n, bool idle);

static inline bool async_open_claims(struct async_claims *a, struct thread *t, uint64_t n)
{
	struct claim_list *list = &t->claims->list[0][0];

	/* The usual case: the outermost call, with about as many requests as the last one, or more. */
	if (__builtin_expect(thread_get_call_depth() || n < list->n || n > list->space ||
				     t->claims->list[0][1].n,
		    0))
		return async_open_claims_slow(a, t, n, false);
	a->thread = t;
	a->claim = list->claim;
	a->n = n;
	a->level = claims_enter(t->claims, true);
	claims_set(t->claims, 0, get_list_claim(t->claims, 0, false));
	return true;
}

/*
 * Claims n requests. handle_at(array, i) returns the i-th handle; key_of() returns its key, or 0
 * if it is not a request. Both must be fast: programs test thousands of requests repeatedly.
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

		if (__builtin_expect(i < known && pending_is_still_claimed(c, h, mark), 1))
			continue;
		pending_claim_again(claims, a->level, i, key_of(h), false);
		known = list->n;
	}
}

/*
 * True if leave has claims to report. In a forked child the claims belong to the parent, and are
 * ignored.
 */
static inline bool async_has_claims(const struct async_claims *a)
{
	return a->thread && a->thread == thread_state.recorder;
}

static inline void async_close_claims(struct async_claims *a)
{
	claims_leave(a->thread->claims, a->level);
}

bool async_is_recording(void); /* true if calls are recorded now; starts recording if necessary */

/*
 * For a call that starts n persistent requests. Before the real function: async_open_starts(),
 * then async_open_start() for each request, which opens its record. After it: async_close_start() for
 * each, then async_close_claims(). In async_close_start(), key is the handle after the call, which
 * may be a new one, and at_once says that the request is complete already.
 */
struct async_start {
	struct journal_call *rec; /* NULL: not recorded */
	struct pending p;
};
bool async_open_starts(struct async_claims *a, struct thread *t, uint64_t n);
void async_open_start(
	struct call *c, struct async_claims *a, uint64_t i, uint64_t key, struct async_start *s);
void async_close_start(struct async_claims *a, uint64_t i, struct async_start *s, uint64_t key,
	bool ok, int64_t error, bool at_once);

/* Counts the start of idle request `key` if it cannot be recorded for lack of memory. */
void async_count_start(struct call *c, uint64_t key);

/*
 * Records that the claimed request completed at tick `end`. fill: lets the adapter put what
 * arrived (counts, source, tag) into p->op before outputs are measured, or handle a new
 * communicator; NULL: nothing to add. wait: ticks that the completing call took. keep: the handle
 * stays valid (it was only tested). Returns false if the claim was lost, or the request was not
 * pending.
 */
typedef void async_fill_fn(struct pending *p, void *arg);
bool async_record_done(struct call *c, struct pending_claim *claim, uint64_t end, uint64_t wait,
	uint32_t flags, int32_t error, async_fill_fn *fill, void *arg, bool keep);

/*
 * Like async_record_done(), without a claim: for the oldest pending call with this key that was added at
 * tick `before` or earlier (0: at any time). Only for keys that no library reuses. Returns false
 * if there is none.
 */
bool async_record_done_by_key(struct call *c, uint64_t key, uint64_t before, uint64_t end,
	uint64_t wait, uint32_t flags, int32_t error, async_fill_fn *fill, void *arg);

/*
 * The claimed request was freed. If it was pending, its record ends at tick `end` with these
 * flags; CF_FREED: no later call can show when the operation completes.
 */
void async_freed(
	struct call *c, struct pending_claim *claim, uint64_t end, uint32_t flags, int32_t error);

/*
 * Marks call c as the completion call in which this thread is blocked, for `probe report` on a
 * hung job. async_wait_end() removes the mark.
 */
void async_wait_begin(struct call *c);
/*
 * Like async_wait_begin(), for a call that waits for a message. peer, tag JOURNAL_NONE: any; comm
 * NULL: not known.
 */
void async_wait_for_message(struct call *c, const struct comm *comm, int32_t peer, int32_t tag);
/*
 * Like async_wait_begin(), for a call that all members of comm make but that is not a numbered
 * collective (MPI_Comm_split). Begins the session. comm NULL: not known.
 */
void async_wait_for_members(struct call *c, struct comm *comm);
void async_wait_end(struct call *c);

/* Call c was left by an exception: removes its claims and its mark of async_wait_begin(). */
void async_remove_claims(struct call *c);

#endif
