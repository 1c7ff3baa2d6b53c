/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each rank was busy outside of recorded calls in each step: what it computed, apart from what it waited. Of a
 * long run neighbouring steps are put together, so that memory goes by ranks only.
 */
#ifndef PROBE_TOOLS_PACE_H
#define PROBE_TOOLS_PACE_H

#include "tools/probe/model/read/calls.h"

#define PACE_CELLS 256u
#define PACE_STEPS_MIN 8 /* fewer show no habit */
#define PACE_STEPS_WARM 2 /* at the beginning: they compile, and fill caches */
#define PACE_AHEAD \
	64u /* calls that are put in the order of their starts: rows of what was open for long come late */

struct pace_call {
	uint64_t start, dur, wait, step;
	uint32_t bits;
};

struct rank_pace {
	bool any;
	struct pace_call ahead[PACE_AHEAD]; /* the next ones, the earliest first */
	unsigned nahead;
	uint64_t step, begun,
		end; /* the present step; the end of the one before, and of the latest call */
	uint64_t covered; /* up to here the rank was inside of calls that are in `inside` */
	double inside; /* ns in calls of the present step */
	uint32_t made; /* calls of the present step */
	uint64_t messages; /* calls with a peer, of all steps */
	uint64_t per_cell,
		base; /* cell k has the steps from (base + k) * per_cell on; per_cell 0: none yet */
	uint32_t calls[PACE_CELLS]; /* made in it */
	float cell[PACE_CELLS]; /* ns outside of calls, by step or steps */
	uint16_t n[PACE_CELLS]; /* steps in it */
	float longest[PACE_CELLS]; /* the one of them that took longest */
	uint32_t longest_step[PACE_CELLS];
};

struct pace {
	struct rank_pace *rank;
	unsigned n;
	bool steps; /* something marks them */
	/* By end_pace(): the same cells for all ranks. */
	bool any;
	uint64_t first_step, per_cell;
	struct pace_middle *middle; /* by end_pace() */
};

enum pace_kind { PACE_EVEN, PACE_SLOW, PACE_JITTER, PACE_STALL };

struct pace_found {
	enum pace_kind kind;
	uint32_t rank; /* index */
	uint64_t step; /* slow: from here on; stall: in this one; jitter: the first late one */
	double usual, seen; /* ns outside of calls in a step: of the other ranks, of this one */
	double spread; /* of the other ranks */
	double share; /* of the steps */
	unsigned times; /* stalls */
};

void pace_init(struct pace *p, unsigned nrank);
void pace_free(struct pace *p);
/* Threads may do so for different ranks. */
void note_pace(struct pace *p, const struct call *c);
/* There are no more calls. */
void end_pace(struct pace *p);
/*
 * A rank that exchanges messages in its steps, and does not compute longer than others by as much as half of ns: where it comes last it
 * is what it needs that came late, as to the first stage of a pipeline, whose backward pass is the last. Behind end_pace().
 */
bool is_late_by_messages(const struct pace *p, uint32_t rank, double ns);
/* kind PACE_EVEN: nothing that stands out. Behind end_pace(). */
struct pace_found judge_pace(const struct pace *p, enum pace_kind kind);

#endif
