/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks each collective operation for values that must be equal or must add up: the results that all ranks get (corruption), the sum of
 * the inputs (not_sum), the bytes that the ranks send and receive (mismatch), the place in the program from which the ranks make the call
 * (out of step), and the number of the step in which they make it (a step that one rank skipped).
 */
#ifndef PROBE_TOOLS_RESULTS_H
#define PROBE_TOOLS_RESULTS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/values/odd_meeting.h"

/* For a communicator: a rank that is some steps later or earlier than the others, and stays there. */
struct step_lag {
	struct table_key key; /* a: communicator */
	uint64_t equal,
		since; /* number of steps in which all were together; number of steps of the others since one rank was not */
	uint64_t last; /* step of the others */
	int64_t lag; /* > 0: this many steps behind */
	uint32_t rank; /* index */
	bool mixed; /* the lag changed */
	struct call call; /* its first such call */
	uint64_t event;
};

struct results {
	struct table contracts; /* struct contract: results of an operation on a communicator */
	struct table
		exchanges; /* struct exchange: lines from which ranks may contribute different amounts */
	struct table volumes; /* struct usual_volume: the amounts of each rank there */
	struct table lags; /* struct step_lag */
	struct table pairs; /* struct place_met: places, and whether they met each other */
	const struct clock_fix *skew;
	const struct sites *sites;
	struct odd_meeting corruption, not_sum, volume, places;
	/*
	 * The first minimum or maximum from which some ranks got a NaN and others did not: from then on they act differently.
	 */
	struct {
		bool any;
		uint64_t event;
	} parted;
};

void results_init(struct results *r, const struct clock_fix *skew, const struct sites *sites);
void results_free(struct results *r);
/* The earliest; NULL: none. */
const struct step_lag *first_step_lag(const struct results *r);
/* The time when the first rank entered it, by the first host's clock. */
uint64_t meeting_event(const struct results *r, const struct meeting *m);
/* Called by judge_results(). */
void judge_steps(struct results *r, const struct meeting *m);
void judge_results(struct results *r, const struct meeting *m, bool complete);

#endif
