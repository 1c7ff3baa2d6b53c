/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds in which a rank's calls repeat (tools/lib/period.h), for runs that mark no steps. */
#ifndef PROBE_TOOLS_PROBE_JOIN_ROUNDS_H
#define PROBE_TOOLS_PROBE_JOIN_ROUNDS_H

#include <stdbool.h>

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/model/read/round_ends.h"

#define ROUNDS_SURE 0.5 /* least confidence of a period that is used */

struct rounds {
	struct round_end *end; /* ascending; free() */
	unsigned n, cap;
	uint32_t length; /* calls in a round; 0: there is no period */
	double confidence; /* 0..1 */
};

/* Finds the rounds in all calls of that rank. o: NULL, or the additional rows of its journal. */
void find_rounds(struct rounds *r, const struct rank_dir *d, const struct overlay *o);

/* How dir[i].round of a run's ranks is filled in. */
struct numbering {
	uint64_t
		most; /* bytes of calls files; a larger run is not searched, because the files are read a second time */
	unsigned threads; /* 0, 1: one */
	const bool
		*want; /* by folder; NULL: all. The rounds are the same for a subset as for all. */
	bool longer; /* output: there are longer rounds than those used as steps */
};

/*
 * Fills in dir[i].round of all ranks, so that their calls get the same step numbers. A step ends with an operation on a
 * communicator of all ranks: the last one of the places with the most common number of calls, or if these give no answer, the
 * last one in each round of the period of the calls. Calls after it belong to the step until a place comes that begins a step.
 * If these are rounds of an inner loop, fills in dir[i].longer too. overlay[i]: as above. False, with nothing filled in: there
 * is no such operation, or the run is too large.
 */
bool number_by_rounds(
	struct folders *f, const struct overlay *const *overlay, struct numbering *how);

#endif
