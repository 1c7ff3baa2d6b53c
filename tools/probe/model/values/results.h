/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be equal, or must add up, in each collective operation: the results that all ranks get (corruption), the sum
 * of what went in (not_sum), the bytes that the ranks send and those that they take (mismatch), the place in the program from which
 * the ranks make the call (out of step), the number of the step in which they make it (a step that one left out).
 */
#ifndef PROBE_TOOLS_RESULTS_H
#define PROBE_TOOLS_RESULTS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/values/odd_meeting.h"

/* Of a communicator: a rank that is some steps behind the others, or ahead of them, and stays so. */
struct step_lag {
	struct table_key key; /* a: communicator */
	uint64_t equal,
		since; /* steps that all were in at once; steps of the others since one was not */
	uint64_t last; /* step of the others */
	int64_t lag; /* > 0: behind */
	uint32_t rank; /* index */
	bool mixed; /* it went on otherwise */
	struct call call; /* the first one of that rank */
	uint64_t event;
};

struct results {
	struct table contracts; /* struct contract: results of an operation on a communicator */
	struct table
		exchanges; /* struct exchange: lines from which ranks may give different amounts */
	struct table volumes; /* struct usual_volume: what each rank gave there */
	struct table lags; /* struct step_lag */
	struct table pairs; /* struct place_met: places, and whether they met each other */
	const struct clock_fix *skew;
	const struct sites *sites;
	struct odd_meeting corruption, not_sum, volume, places;
	/* The first reduction by the least or largest value from which some ranks got a NaN and others none: what they do then differs. */
	struct {
		bool any;
		uint64_t event;
	} parted;
};

void results_init(struct results *r, const struct clock_fix *skew, const struct sites *sites);
void results_free(struct results *r);
/* The earliest; NULL: none. */
const struct step_lag *first_step_lag(const struct results *r);
/* When the first rank came, by the first host's clock. */
uint64_t meeting_event(const struct results *r, const struct meeting *m);
/* Of judge_results(). */
void judge_steps(struct results *r, const struct meeting *m);
void judge_results(struct results *r, const struct meeting *m, bool complete);

#endif
