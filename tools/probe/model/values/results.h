/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks each collective operation for data that must be equal or must add up: the results that all
 * ranks get (corruption), the reduction of the inputs (not_sum), the bytes that the ranks send and
 * receive (mismatch), the call sites of the ranks (out of step), and their step numbers (a step
 * that one rank skipped).
 */
#ifndef PROBE_TOOLS_RESULTS_H
#define PROBE_TOOLS_RESULTS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/values/odd_meeting.h"

/*
 * A rank that made more or fewer calls on a communicator than the others: its calls are joined with calls of another step, and at the
 * end some operations were made by it alone, or by all others.
 */
struct odd_count {
	bool any, several; /* several: more than one rank was in another step */
	bool more; /* the rank was in an earlier step than the others, so it had made more calls */
	uint32_t rank; /* index of the rank's folder */
	uint32_t left, explained; /* operations without all ranks; those that this rank explains */
	uint64_t other_step; /* step of the other ranks */
	struct call call; /* the surplus call, or that of another rank which the rank skipped */
	uint64_t event;
};

/* A communicator with one rank that is some steps later or earlier than the others and stays so. */
struct step_lag {
	struct table_key key; /* a: communicator */
	/*
	 * equal: steps in which all ranks had the same step number. since: steps of the other ranks
	 * since then.
	 */
	uint64_t equal, since;
	uint64_t last; /* latest step of the other ranks */
	int64_t lag; /* by how many steps the rank lags; negative: it is ahead */
	uint32_t rank; /* index of the rank's folder */
	bool mixed; /* the lag has changed since then */
	struct call call; /* the rank's first call with another step number */
	uint64_t event;
	struct odd_count odd;
	/* Ranks met in an operation that had another number of the step on each; the smallest such number. */
	bool apart;
	uint64_t apart_from;
};

struct results {
	struct table contracts; /* struct contract: results of an operation on a communicator */
	/* struct exchange: lines of the program at which ranks may contribute different amounts. */
	struct table exchanges;
	struct table volumes; /* struct usual_volume: the amounts of each rank at these lines */
	struct table lags; /* struct step_lag */
	/*
	 * struct place_met, by call site: operations that all ranks made from it, or that it shared
	 * with another call site
	 */
	struct table pairs;
	const struct clock_fix *skew;
	const struct sites *sites;
	const struct comms *comms;
	struct odd_meeting corruption, not_sum, volume, places;
	/*
	 * The first minimum or maximum from which some ranks got a NaN and others did not: after
	 * it, the ranks may branch differently.
	 */
	struct {
		bool any;
		uint64_t event;
	} diverged;
};

void results_init(struct results *r, const struct clock_fix *skew, const struct sites *sites,
	const struct comms *comms);
void results_free(struct results *r);
/* Returns the earliest lag, or NULL if there is none. */
const struct step_lag *first_step_lag(const struct results *r);
/* Returns the time at which the first rank entered operation m, by the first host's clock. */
uint64_t meeting_event(const struct results *r, const struct meeting *m);
/* Returns the earliest one, or NULL if there is none. Valid if all ranks have finished and all their calls were read. */
const struct odd_count *first_odd_count(const struct results *r);
/* Called by judge_results(). */
void judge_steps(struct results *r, const struct meeting *m);
void note_unfinished(struct results *r, const struct meeting *m);
void judge_results(struct results *r, const struct meeting *m, bool complete);

#endif
