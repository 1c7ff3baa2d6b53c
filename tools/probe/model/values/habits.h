/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Habits of the values at each place of the program, by rank: new in each step (else stale), not all zeros (zero), in a range,
 * also relative to the other ranks (spike). One pass collects broken habits. When all calls are read, they are weighed by the
 * habits of the whole run (evidence.h). Memory depends on the number of ranks and places.
 */
#ifndef PROBE_TOOLS_HABITS_H
#define PROBE_TOOLS_HABITS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/values/evidence.h"

/* A value that broke a habit. */
struct strange {
	bool any;
	enum weight weight;
	struct call call;
	double now,
		before; /* spike: largest absolute value, and the largest one of the steps before */
	bool turn; /* stale: equal to the previous turn in a loop, and not to the previous step */
	uint32_t seen; /* steps at this place on this rank until then */
	uint64_t more; /* similar values elsewhere */
	uint32_t ranks; /* spike: of the same operation */
	uint64_t event; /* ns, by the corrected clocks */
	/* Internal: the place that ranks share; steps that it lasted; whether the habit resumed. */
	uint64_t place;
	uint32_t length;
	bool ended;
	double distance,
		width; /* spike: above the largest so far, and the range so far; logarithms */
};

struct strange_list {
	struct strange *item;
	unsigned n, cap;
};

/* Places at which a habit is tested, and those where breaking it would be reported: the others have too few confirmations. */
struct habit_power {
	uint32_t tested, able;
};

struct habits {
	struct table *rank; /* of each rank, struct rank_habits */
	unsigned n;
	struct table places; /* struct place_habits: all ranks combined, filled in at the end */
	struct table
		beside; /* struct beside: for a line, the largest value and its factor above the second one */
	const struct clock_fix *skew;
	struct strange_list stale, zero, level, apart;
	uint64_t levels, meetings; /* values, and operations, that were compared with a range */
	uint32_t fresh_places, filled_places; /* under test */
	struct habit_power stale_power, zero_power, level_power; /* weigh_habits() */
	struct strange spike, first_stale, first_zero, first_once; /* of the whole run */
};

void habits_init(struct habits *h, unsigned nrank, const struct clock_fix *skew);
void habits_free(struct habits *h);

/* Handles a call with its site and values. */
void note_values(struct habits *h, const struct call *c);

/* Handles a complete meeting: compares the inputs of the ranks. */
void note_values_beside_others(struct habits *h, const struct meeting *m);

/* Called after the last call: fills in spike, first_stale, first_zero, first_once; once: zeros in one step only. */
void weigh_habits(struct habits *h);

#endif
