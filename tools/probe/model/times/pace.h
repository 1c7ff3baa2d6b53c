/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each rank was busy outside of recorded calls in each step: its computation, without
 * waiting times. In a long run, neighbouring steps are combined, so that memory depends only on the
 * number of ranks.
 */
#ifndef PROBE_TOOLS_PACE_H
#define PROBE_TOOLS_PACE_H

#include "tools/probe/model/read/calls.h"

#define PACE_CELLS 256u
#define PACE_STEPS_MIN 8 /* fewer steps do not show anything, see noise.h */
#define PACE_STEPS_WARM 2 /* first steps that do not count: they compile, and fill caches */
/* calls that are sorted by their starts, because the rows of long calls come late */
#define PACE_AHEAD 64u

struct pace_call {
	uint64_t start, dur, wait, step;
	uint32_t bits;
};

struct rank_pace {
	bool any;
	/* A ring buffer of calls that are not counted yet, the earliest at first_ahead. */
	struct pace_call ahead[PACE_AHEAD];
	unsigned first_ahead, nahead;
	/*
	 * begun: start of the current step. end: end of the latest call, or of the previous step.
	 */
	uint64_t step, begun, end;
	/* Up to this time, calls are counted in `inside`. */
	uint64_t covered;
	double inside; /* ns that the rank spent in calls of the current step */
	uint32_t made; /* number of calls of the current step */
	uint64_t messages; /* calls with a peer, in all steps */
	/*
	 * Cell k begins at step (base + k) * per_cell and has per_cell steps; per_cell 0: no cell
	 * yet.
	 */
	uint64_t per_cell, base;
	uint32_t calls[PACE_CELLS]; /* number of calls in the steps of the cell */
	float cell[PACE_CELLS]; /* ns outside of calls, summed over the steps of the cell */
	uint16_t n[PACE_CELLS]; /* number of steps in the cell */
	float longest[PACE_CELLS]; /* ns outside of calls in the longest step of the cell */
	uint32_t longest_step[PACE_CELLS];
};

struct pace {
	struct rank_pace *rank;
	unsigned n;
	bool steps; /* the program marks its steps */
	/* Set by end_pace(), which gives all ranks the same cells. */
	bool any;
	uint64_t first_step, per_cell;
	/* mean: from all steps of a cell. longest: from the longest step of each. NULL: none. */
	struct pace_matrix *mean, *longest;
};

enum pace_kind { PACE_EVEN, PACE_SLOW, PACE_JITTER, PACE_STALL };

struct pace_found {
	enum pace_kind kind;
	uint32_t rank; /* index */
	/* slow: the first slow step; stall: the long step; jitter: the first late step. */
	uint64_t step;
	/*
	 * ns outside of calls in a step. PACE_SLOW: `usual` of the other ranks, `seen` of this
	 * rank. Otherwise they say how much longer than the other ranks it was: `usual` in its
	 * other steps (median), `seen` in its longest step.
	 */
	double usual, seen;
	double spread; /* three quarters of the other ranks' steps differ by less than this */
	double share; /* share of the steps that are slow or late */
	uint64_t worst; /* the step with the longest delay */
	unsigned times; /* number of late steps; consecutive ones count as one */
	/* Expected number of such findings in a healthy run. chance_once: of one such step. */
	double chance, chance_once;
};

void pace_init(struct pace *p, unsigned nrank);
void pace_free(struct pace *p);
/* Handles call c. Several threads may call this function at once, each for different ranks. */
void note_pace(struct pace *p, const struct call *c);
/* Call this after the last call. */
void end_pace(struct pace *p);
/*
 * True if messages explain a delay of `ns` of the rank: it exchanges messages in its steps, and its
 * own computation explains less than half of the delay. Such a rank arrives last because its data
 * arrives late, as the first stage of a pipeline does in the backward pass. Call end_pace() first.
 */
bool is_late_by_messages(const struct pace *p, uint32_t rank, double ns);
/*
 * Looks for one rank that stands out in the way of `kind`. Returns kind PACE_EVEN if there is none.
 * Call end_pace() first.
 */
struct pace_found judge_pace(const struct pace *p, enum pace_kind kind);

/* pace_readings.c; longest: use the longest step of each cell, else all its steps */
struct pace_matrix *compute_pace_matrix(const struct pace *p, bool longest);
void free_pace_matrix(struct pace_matrix *m); /* m may be NULL */

#endif
