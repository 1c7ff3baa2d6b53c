/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls from an adapter's point of view: it knows handles, statuses and which of them completed; the
 * records and the table of calls under way are kept here.
 */
#ifndef PROBE_CALL_ASYNC_H
#define PROBE_CALL_ASYNC_H

#include "call/pending.h"

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
 * when they are made. complete: it says that the new one is. async_reused() then closes the older ones, except where
 * another thread is on its way to do so. None of their memory is read: the program may have it back by now.
 */
bool async_stands(uint64_t key);
void async_reused(struct call *c, uint64_t key, bool complete);

/* A communicator is being made under that handle; `at` is where its handle will be. async_done() hands it to fill. */
void async_making(struct call *c, uint64_t key, struct comm *parent, void *at);

/*
 * Opens the record of a persistent request that is about to be started (before the real function); *rec is handed to
 * async_restarted() after it. False: the handle is none of ours.
 */
bool async_ready(void); /* true if starts are recorded now; begins recording if need be */

struct async_start {
	struct journal_call *rec; /* NULL: not recorded */
	uint64_t key; /* 0: not ours */
	struct pending p;
};
bool async_restart(struct call *c, uint64_t key, struct async_start *s);
/* key: the handle as it is now, which may be another one. at_once: requests of that handle are complete already. */
void async_restarted(struct async_start *s, uint64_t key, bool ok, int64_t error, bool at_once);

/*
 * The request of that handle completed. fill: lets the adapter put what arrived (counts, source, tag) into p->op
 * before outputs are measured, or take note of a new communicator; NULL: nothing to add. wait: ticks that the completing call took. keep: the handle stays
 * valid (it was only looked at). False: the handle is none of ours.
 */
typedef void async_fill_fn(struct pending *p, void *arg);
bool async_done(struct call *c, uint64_t key, uint64_t end, uint64_t wait, uint32_t flags,
	int32_t error, async_fill_fn *fill, void *arg, bool keep);

/* The request was freed: if it was under way its end is never seen (flag `freed`). */
void async_freed(struct call *c, uint64_t key, uint64_t end);

/*
 * A completing or freeing call of these requests (PENDING_MANY: of several) comes, and has taken what it completed
 * (key 0).
 */
void async_coming(const struct thread *t, uint64_t key);

/* The completion call that this thread now stands in, for `probe report` on a hung job; and that it has left it. */
void async_wait_begin(struct call *c);
/* The same of one that waits for a message. peer, tag: JOURNAL_NONE is any; comm NULL: not known. */
void async_wait_for_message(struct call *c, const struct comm *comm, int32_t peer, int32_t tag);
void async_wait_end(struct call *c);

#endif
