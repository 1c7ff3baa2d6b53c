/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which a rank makes the calls of a step: the same calls in all its steps, and in one of them in another order, once and
 * on one rank. Operations of different communicators may be swapped without anybody having to wait: then nothing else tells of it.
 * Memory by ranks.
 */
#ifndef PROBE_TOOLS_REPORT_STEP_ORDER_H
#define PROBE_TOOLS_REPORT_STEP_ORDER_H

#include "tools/probe/model/read/calls.h"

#define STEP_SORTS 4

/* Calls are the same by their places in the program, or by what they are: who changes two in a branch of its own makes both from new lines. */
enum order_way { ORDER_BY_PLACE, ORDER_BY_KIND, ORDER_WAYS };

struct rank_order {
	bool any;
	uint32_t thread; /* whose calls they are */
	uint64_t step;
	struct call first; /* of the present step */
	struct order_seen {
		/* Of the calls of this step, and of those of steps of a few sorts (with a check, without): with their order, and without it. */
		struct ordered_step {
			uint64_t order, set;
			uint64_t n; /* steps that were like this */
			uint32_t calls;
		} now, sort[STEP_SORTS];
		/* This step began with the calls of such a usual one, in another order: steps that were like that one. An evaluation may follow. */
		uint64_t astray;
		uint64_t odd; /* steps with the same calls in another order */
		struct call odd_first; /* of the first of those steps */
		uint64_t odd_usual; /* steps before it that had the same calls in the usual order */
	} by[ORDER_WAYS];
};

struct step_orders {
	struct rank_order *rank;
	unsigned n;
};

void step_orders_init(struct step_orders *s, unsigned nrank);
void step_orders_free(struct step_orders *s);

/* Calls of a rank's thread come in the order in which it made them; steps are marked. */
void note_step_order(struct step_orders *s, const struct call *c);

/* The one step of the one rank whose order was another one. NULL: there is none, or there are several. */
const struct order_seen *find_odd_step_order(const struct step_orders *s, enum order_way *way);

/* False for what is only started: it may be started when something else has been completed. */
bool is_ordered(const struct call *c);

/* The operation with its terms, wherever it was made. */
uint64_t hash_kind_of_call(const struct call *c);

#endif
