/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds in which a rank's calls repeat themselves (tools/lib/period.h), for runs that mark no steps. */
#ifndef PROBE_TOOLS_PROBE_JOIN_ROUNDS_H
#define PROBE_TOOLS_PROBE_JOIN_ROUNDS_H

#include <stdbool.h>

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/model/read/round_ends.h"

#define ROUNDS_SURE 0.5 /* confidence from which on a period is believed */

struct rounds {
	struct round_end *end; /* ascending; free() */
	unsigned n, cap;
	uint32_t length; /* calls in a round; 0: there is no period */
	double confidence; /* 0..1 */
};

/* Of all calls of that rank. o: NULL or what its journal has beyond its files. */
void find_rounds(struct rounds *r, const struct rank_dir *d, const struct overlay *o);

/* How dir[i].round of a run's ranks is filled in. */
struct numbering {
	uint64_t
		most; /* bytes of calls files: a larger run is left alone, for they are read once more */
	unsigned threads; /* 0, 1: one */
	const bool *
		want; /* by folder; NULL: all. What is found is the same, for all of them or for some */
	bool longer; /* filled in: there are longer rounds than those that are the steps */
};

/*
 * Fills in dir[i].round of all ranks, so that their calls are numbered alike. A step ends with an operation on a communicator of all
 * ranks: the last one of the places that are called as often as most are; where that tells nothing, the last one in each round of the
 * period of the calls; and with what comes behind it before the places that begin a step. Where these are rounds of a loop inside of a
 * longer one: dir[i].longer, too. overlay[i]: as above. False, with nothing filled in: there is none such, or the run is too large.
 */
bool number_by_rounds(
	struct folders *f, const struct overlay *const *overlay, struct numbering *how);

#endif
