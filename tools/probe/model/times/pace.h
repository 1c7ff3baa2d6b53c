/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each rank was busy outside of recorded calls in each step: its computation, without its waits. In a long run
 * neighbouring steps are combined, so that memory depends only on the number of ranks.
 */
#ifndef PROBE_TOOLS_PACE_H
#define PROBE_TOOLS_PACE_H

#include "tools/probe/model/read/calls.h"

#define PACE_CELLS 256u
#define PACE_STEPS_MIN 8 /* with fewer steps nothing can be concluded: noise.h */
#define PACE_STEPS_WARM 2 /* steps at the beginning: they compile, and fill caches */
#define PACE_AHEAD \
	64u /* calls that are sorted by their starts: rows of calls that were open for a long time come late */

struct pace_call {
	uint64_t start, dur, wait, step;
	uint32_t bits;
};

struct rank_pace {
	bool any;
	struct pace_call ahead
		[PACE_AHEAD]; /* a ring buffer of the next calls, the earliest at first_ahead */
	unsigned first_ahead, nahead;
	uint64_t step, begun,
		end; /* start of the current step; end of the step before, and of the latest call */
	uint64_t
		covered; /* time until which the rank was inside calls that are counted in `inside` */
	double inside; /* ns in calls of the current step */
	uint32_t made; /* calls of the current step */
	uint64_t messages; /* calls with a peer, of all steps */
	uint64_t per_cell,
		base; /* cell k has the steps from (base + k) * per_cell on; per_cell 0: none yet */
	uint32_t calls[PACE_CELLS]; /* calls of the cell's steps */
	float cell[PACE_CELLS]; /* ns outside of calls, for one step or several */
	uint16_t n[PACE_CELLS]; /* steps in it */
	float longest[PACE_CELLS]; /* the longest of its steps */
	uint32_t longest_step[PACE_CELLS];
};

struct pace {
	struct rank_pace *rank;
	unsigned n;
	bool steps; /* the steps are marked */
	/* Set by end_pace(): the same cells for all ranks. */
	bool any;
	uint64_t first_step, per_cell;
	struct pace_matrix *mean,
		*longest; /* times of the cells' steps, and the longest of each; NULL: none */
};

enum pace_kind { PACE_EVEN, PACE_SLOW, PACE_JITTER, PACE_STALL };

struct pace_found {
	enum pace_kind kind;
	uint32_t rank; /* index */
	uint64_t step; /* slow: the first slow step; stall: the step; jitter: the first late step */
	/*
	 * ns outside of calls in a step. Slow: of the other ranks and of this one. Otherwise: how much more than the others the
	 * rank's other steps take (median), and its longest one.
	 */
	double usual, seen;
	double spread; /* three quarters of the other ranks' steps differ by less than this */
	double share; /* of the steps */
	uint64_t worst; /* the latest step */
	unsigned times; /* late steps; consecutive ones count once */
	double chance,
		chance_once; /* expected number of such findings in a healthy run; and of one such step */
};

void pace_init(struct pace *p, unsigned nrank);
void pace_free(struct pace *p);
/* Threads may call it for different ranks. */
void note_pace(struct pace *p, const struct call *c);
/* No more calls will come. */
void end_pace(struct pace *p);
/*
 * True for a rank that exchanges messages in its steps, and does not compute longer than others by half of ns or more. If such
 * a rank arrives last, the data that it needs arrived late, as in the first stage of a pipeline, whose backward pass is the
 * last. Call end_pace() first.
 */
bool is_late_by_messages(const struct pace *p, uint32_t rank, double ns);
/* kind PACE_EVEN: no rank stands out. Call end_pace() first. */
struct pace_found judge_pace(const struct pace *p, enum pace_kind kind);

/* In pace_readings.c. longest: uses the longest steps of the cells; otherwise all their steps. */
struct pace_matrix *compute_pace_matrix(const struct pace *p, bool longest);
void free_pace_matrix(struct pace_matrix *m); /* NULL: nothing */

#endif
