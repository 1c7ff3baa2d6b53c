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
void async_restarted(struct async_start *s, bool ok, int64_t error);

/*
 * The request of that handle completed. fill: lets the adapter put what arrived (counts, source, tag) into p->what
 * before outputs are measured, or take note of a new communicator; NULL: nothing to add. wait: ticks that the completing call took. keep: the handle stays
 * valid (it was only looked at). False: the handle is none of ours.
 */
typedef void async_fill_fn(struct pending *p, void *arg);
bool async_done(struct call *c, uint64_t key, uint64_t end, uint64_t wait, uint32_t flags,
	int32_t error, async_fill_fn *fill, void *arg, bool keep);

/* The request was freed: if it was under way nobody will see its end (flag `freed`). */
void async_freed(struct call *c, uint64_t key, uint64_t end);

/* The completion call that this thread now stands in, for `probe report` on a hung job; and that it has left it. */
void async_wait_begin(struct call *c);
void async_wait_end(struct call *c);

#endif
