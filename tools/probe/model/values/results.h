/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be equal, or must add up, in each collective operation: the results that all ranks get (corruption), the sum
 * of what went in (not_sum), the bytes that the ranks send and those that they take (mismatch), inputs of ranks that have been equal so far (diverged), the place in the program from which
 * the ranks make the call (out of step), the number of the step in which they make it (a step that one left out).
 */
#ifndef PROBE_TOOLS_RESULTS_H
#define PROBE_TOOLS_RESULTS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/places/sites.h"

#define NAMED_MAX 16

/* The first operation of its kind. */
struct odd_meeting {
	bool any;
	struct call call; /* on one of its ranks, the first of the culprits where it is known */
	uint32_t rank[NAMED_MAX],
		other[NAMED_MAX]; /* indices: who differs; who it was compared with */
	unsigned nrank, nother; /* may be more than there is room for */
	bool unsure; /* none is in the majority: rank[] has both sides */
	double have, want,
		bound; /* not_sum: mean of the result, mean that the inputs make, rounding error;
			  volumes: bytes of the rank now, and as ever; want < 0: not known */
	bool moved; /* not_sum: of an operation that only moves, so that something arrived as something else; of whom nobody knows */
	bool extreme; /* not_sum: of a least or largest value */
	bool sent; /* volumes: those bytes are what it sent */
	uint64_t agreed; /* meetings before it that were as they should be */
	uint64_t more, event;
};

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
	struct table replicas; /* struct replicas */
	struct table
		exchanges; /* struct exchange: lines from which ranks may give different amounts */
	struct table volumes; /* struct usual_volume: what each rank gave there */
	struct table lags; /* struct step_lag */
	struct table pairs; /* struct place_met: places, and whether they met each other */
	const struct clock_fix *skew;
	const struct sites *sites;
	struct odd_meeting corruption, not_sum, volume, diverged, places;
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
