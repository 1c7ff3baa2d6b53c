/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the calls of one rank into the order in which each of its threads entered them. The row of
 * an asynchronous operation is written when the operation completes, after the rows of later calls.
 * Comparisons of consecutive calls (equal values, zeros) need the order of entry. Within a block of
 * a thread (SEQ_BLOCK), `seq` grows by one from call to call, so a gap means that an earlier call
 * has not been read yet. If the missing call is not read within HELD_MAX calls, the later calls are
 * passed on without it.
 */
#ifndef PROBE_TOOLS_REPORT_CALL_ORDER_H
#define PROBE_TOOLS_REPORT_CALL_ORDER_H

#include "tools/probe/model/read/calls.h"

/* threads of a rank that are sorted; other threads keep the order of the file */
#define ORDERED_THREADS 4

struct call_order {
	struct {
		uint32_t thread; /* 0: the slot is free */
		uint64_t next; /* seq after its last call */
	} of[ORDERED_THREADS];
	unsigned evicted; /* the slot that the next new thread gets */
	struct held_calls *held; /* calls that wait for an earlier one; NULL if no call waits */
};

/*
 * Checks the turn of call c, which was just read. Returns true if c was stored until an earlier
 * call of its thread has been read.
 */
bool hold_early_call(struct call_order *o, const struct call *c);
/*
 * Copies the next stored call whose turn has come to *c. If `ended`, no more calls will be read,
 * and any stored call may be returned. Returns false if no stored call has its turn.
 */
bool take_held_call(struct call_order *o, struct call *c, bool ended);
void free_call_order(struct call_order *o);

#endif
