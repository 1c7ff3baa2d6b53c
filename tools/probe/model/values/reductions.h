/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reductions of backward passes: which of them stop while the training continues, and communicators on which all ranks
 * contribute the same data to each of them. Also the last broadcast before the first reduction: it is what made the ranks'
 * parameters equal, if anything did.
 */
#ifndef PROBE_TOOLS_PROBE_VALUES_REDUCTIONS_H
#define PROBE_TOOLS_PROBE_VALUES_REDUCTIONS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"

/* Reductions of one size on a communicator. */
struct reduction_size {
	struct table_key key; /* a: communicator, b: operation, elements and type */
	uint64_t first, last; /* steps */
	uint64_t steps; /* steps in which it was made */
	struct call call; /* the last one */
};

struct reduction_group {
	struct table_key key; /* a: communicator */
	uint64_t made, equal; /* reductions; reductions to which all ranks contributed the same */
	uint64_t steps, last; /* steps that have some; the last of these */
	struct call call; /* the first one */
	struct call broadcast; /* the last one before it; rows 0: none */
};

struct reductions {
	struct table sizes, groups;
};

void reductions_init(struct reductions *r);
void reductions_free(struct reductions *r);
/* Handles a complete meeting with equal parameters on all ranks. */
void note_reduction(struct reductions *r, const struct meeting *m);

/*
 * The size of reductions that stopped: made in each step from the first ones on, at least REDUCTION_STEPS_MIN of them, and in
 * none of as many steps or more before `last_step`. NULL: there is none. skip: how many such sizes to skip.
 */
#define REDUCTION_STEPS_MIN 3
const struct reduction_size *find_ended_reduction(
	const struct reductions *r, uint64_t last_step, unsigned skip);

#endif
