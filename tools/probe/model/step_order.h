/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a single step in which one rank made its usual calls in another order. Operations of
 * different communicators can be swapped without making any rank wait, so nothing else shows it.
 * Memory depends on the number of ranks.
 */
#ifndef PROBE_TOOLS_REPORT_STEP_ORDER_H
#define PROBE_TOOLS_REPORT_STEP_ORDER_H

#include "tools/probe/model/read/calls.h"

#define STEP_SORTS 4

/*
 * How calls are compared: by call site, or by operation. A rank that swaps two calls in a separate
 * branch makes both from new lines, so their call sites are new.
 */
enum order_way { ORDER_BY_PLACE, ORDER_BY_KIND, ORDER_WAYS };

struct rank_order {
	bool any;
	uint32_t thread; /* the thread whose calls are compared */
	uint64_t step;
	struct call first; /* first call of the current step */
	struct order_seen {
		/*
		 * Hashes of the calls of this step, and of a few kinds of steps (such as with and
		 * without an evaluation). order: in their order. set: independent of the order.
		 */
		struct ordered_step {
			uint64_t order, set;
			uint64_t n; /* number of steps of this kind */
			uint32_t calls;
		} now, sort[STEP_SORTS];
		/*
		 * Number of steps of the usual kind whose calls this step began with in another
		 * order. An evaluation may follow.
		 */
		uint64_t astray, astray_set;
		uint64_t odd; /* number of steps with the same calls in another order */
		struct call odd_first; /* the first call of the first such step */
		uint64_t odd_usual; /* earlier steps with the same calls in the usual order */
		uint64_t odd_set; /* their `set` */
	} by[ORDER_WAYS];
};

struct step_orders {
	struct rank_order *rank;
	unsigned n;
};

void step_orders_init(struct step_orders *s, unsigned nrank);
void step_orders_free(struct step_orders *s);

/*
 * Handles call c. The calls of a thread must come in the order in which it made them, and the steps
 * must be marked.
 */
void note_step_order(struct step_orders *s, const struct call *c);

/*
 * Returns the step with another order, if it occurred once and on one rank only, else NULL. *way:
 * how its calls were compared.
 */
const struct order_seen *find_odd_step_order(const struct step_orders *s, enum order_way *way);

/* Returns false for asynchronous calls, which may start after later calls are complete. */
bool is_ordered(const struct call *c);

/* Returns a hash of the operation and its parameters, independent of the call site. */
uint64_t hash_kind_of_call(const struct call *c);

#endif
