/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one rank in the order in which each of its threads made them. The row of an asynchronous operation is written
 * when it completes, after those of later calls. Comparisons between consecutive calls (equal values, zeros) need the order of
 * entry. Within a block of a thread (SEQ_BLOCK), `seq` grows by one from call to call, so a gap means that an earlier call has
 * not been read yet. If it is not read within HELD_MAX calls, the later calls are passed on without it.
 */
#ifndef PROBE_TOOLS_REPORT_CALL_ORDER_H
#define PROBE_TOOLS_REPORT_CALL_ORDER_H

#include "tools/probe/model/read/calls.h"

#define ORDERED_THREADS \
	4 /* threads of a rank at a time; calls of further threads are not reordered */

struct call_order {
	struct {
		uint32_t thread; /* 0: none */
		uint64_t next; /* seq after its last call */
	} of[ORDERED_THREADS];
	unsigned evicted; /* the slot that the next new thread gets */
	struct held_calls *held; /* NULL: none */
};

/* Takes a call that was just read. True: it is held back, because an earlier call of its thread has not been read yet. */
bool hold_early_call(struct call_order *o, const struct call *c);
/* Returns a held call that is next in order in *c. `ended`: nothing more will be read. */
bool take_held_call(struct call_order *o, struct call *c, bool ended);
void free_call_order(struct call_order *o);

#endif
