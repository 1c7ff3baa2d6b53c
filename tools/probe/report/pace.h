/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each rank was busy outside of recorded calls in each step: what it computed, apart from what it waited. Of a
 * long run neighbouring steps are put together, so that memory goes by ranks only.
 */
#ifndef PROBE_TOOLS_PACE_H
#define PROBE_TOOLS_PACE_H

#include "tools/probe/read/calls.h"

#define PACE_CELLS 256u

struct rank_pace {
	bool any;
	uint64_t step, begun,
		end; /* the present step; the end of the one before, and of the latest call */
	double inside; /* ns in calls of the present step */
	uint32_t made; /* calls of the present step */
	uint32_t calls[PACE_CELLS]; /* made in it */
	uint64_t wait, wait_end; /* of the latest call that was waited for */
	float cell[PACE_CELLS]; /* ns outside of calls, by step or steps */
	uint16_t n[PACE_CELLS]; /* steps in it */
	float longest[PACE_CELLS]; /* the one of them that took longest */
	uint32_t longest_step[PACE_CELLS];
};

struct pace {
	struct rank_pace *rank;
	unsigned n;
	uint64_t first_step, per_cell;
	bool any, steps;
};

enum pace_kind { PACE_EVEN, PACE_SLOW, PACE_JITTER, PACE_STALL };

struct pace_found {
	enum pace_kind kind;
	uint32_t rank; /* index */
	uint64_t step; /* slow: from here on; stall: in this one */
	double usual, seen; /* ns outside of calls in a step: of the other ranks, of this one */
	double spread; /* of the other ranks */
	double share; /* of the steps */
	unsigned times; /* stalls */
};

void pace_init(struct pace *p, unsigned nrank);
void pace_free(struct pace *p);
void note_pace(struct pace *p, const struct call *c);
/* kind PACE_EVEN: nothing that stands out. */
struct pace_found judge_pace(const struct pace *p, enum pace_kind kind);

#endif
