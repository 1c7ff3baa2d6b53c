/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds one step in which a rank makes the same calls as in all its other steps, but in another order, once and on one rank.
 * Operations of different communicators may be swapped without any rank having to wait: then nothing else shows it. Memory
 * depends on the number of ranks.
 */
#ifndef PROBE_TOOLS_REPORT_STEP_ORDER_H
#define PROBE_TOOLS_REPORT_STEP_ORDER_H

#include "tools/probe/model/read/calls.h"

#define STEP_SORTS 4

/*
 * Calls are equal by their places in the program, or by their kind: a rank that swaps two calls in a separate branch makes both
 * from new lines.
 */
enum order_way { ORDER_BY_PLACE, ORDER_BY_KIND, ORDER_WAYS };

struct rank_order {
	bool any;
	uint32_t thread; /* the thread whose calls are followed */
	uint64_t step;
	struct call first; /* first call of the current step */
	struct order_seen {
		/*
		 * Hashes of the calls of this step, and of a few kinds of steps (such as with and without a check): with the
		 * order, and without it.
		 */
		struct ordered_step {
			uint64_t order, set;
			uint64_t n; /* steps of this kind */
			uint32_t calls;
		} now, sort[STEP_SORTS];
		/*
		 * This step began with the calls of a usual step in another order: number of steps of that kind. An evaluation
		 * may follow.
		 */
		uint64_t astray;
		uint64_t odd; /* steps with the same calls in another order */
		struct call odd_first; /* first call of the first such step */
		uint64_t odd_usual; /* steps before it that had the same calls in the usual order */
	} by[ORDER_WAYS];
};

struct step_orders {
	struct rank_order *rank;
	unsigned n;
};

void step_orders_init(struct step_orders *s, unsigned nrank);
void step_orders_free(struct step_orders *s);

/* The calls of a rank's thread must come in the order in which it made them; steps are marked. */
void note_step_order(struct step_orders *s, const struct call *c);

/* The only step with another order, if it occurred on only one rank. NULL: there is none, or there are several. */
const struct order_seen *find_odd_step_order(const struct step_orders *s, enum order_way *way);

/* False for asynchronous calls: they may be started after the completion of others. */
bool is_ordered(const struct call *c);

/* The operation with its parameters, independent of the place of the call. */
uint64_t hash_kind_of_call(const struct call *c);

#endif
