/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one rank in the order in which each of its threads made them. The row of an operation that is only started is written
 * when it is complete, behind those of later calls; what is looked for from call to call (equal values, zeros) needs the order of
 * entry. The number `seq` grows by one from call to call within a block of a thread (SEQ_BLOCK), so that a gap says that
 * an earlier call is still to come. Where it does not come within HELD_MAX calls the others go on without it.
 */
#ifndef PROBE_TOOLS_REPORT_CALL_ORDER_H
#define PROBE_TOOLS_REPORT_CALL_ORDER_H

#include "tools/probe/model/read/calls.h"

#define ORDERED_THREADS 4 /* of a rank at a time; calls of others are taken as they come */

struct call_order {
	struct {
		uint32_t thread; /* 0: none */
		uint64_t next; /* seq behind its last call */
	} of[ORDERED_THREADS];
	unsigned evicted; /* whose place the next thread gets */
	struct held_calls *held; /* NULL: none */
};

/* Of a call that was just read: true, and it is kept, if an earlier one of its thread is still to come. */
bool hold_early_call(struct call_order *o, const struct call *c);
/* *c is a call that was kept, and its turn has come. `ended`: nothing more is read. */
bool take_held_call(struct call_order *o, struct call *c, bool ended);
void free_call_order(struct call_order *o);

#endif
