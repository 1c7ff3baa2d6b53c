/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reductions of backward passes: which of them stop while the training continues, and on which
 * communicators all ranks contribute equal data to each. Also the last broadcast before the first
 * reduction, because that broadcast may have made the ranks' parameters equal.
 */
#ifndef PROBE_TOOLS_PROBE_VALUES_REDUCTIONS_H
#define PROBE_TOOLS_PROBE_VALUES_REDUCTIONS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"

/* Reductions of one size on a communicator, with one operation and type. */
struct reduction_size {
	/* a: communicator; b: hash of operation, number of elements and type. */
	struct table_key key;
	uint64_t first, last; /* first and last step in which one was made */
	uint64_t steps; /* number of steps in which one was made */
	struct call call; /* the last of these calls */
};

struct reduction_group {
	struct table_key key; /* a: communicator */
	/* Number of reductions; number of those to which all ranks contributed equal data. */
	uint64_t made, equal;
	uint64_t steps, last; /* number of steps with a reduction; the last of them */
	struct call call; /* the first reduction */
	/* The last broadcast before the first reduction; its rows are 0 if there was none. */
	struct call broadcast;
};

struct reductions {
	struct table sizes, groups;
};

void reductions_init(struct reductions *r);
void reductions_free(struct reductions *r);
/* Handles complete meeting m. Its parameters must be equal on all ranks. */
void note_reduction(struct reductions *r, const struct meeting *m);

/*
 * Returns a size of reductions that stopped: they were made in each step from the first reductions
 * on, in at least REDUCTION_STEPS_MIN steps, and then in none of as many steps or more before
 * `last_step`. skip: number of such sizes to skip. Returns NULL if no more exist.
 */
#define REDUCTION_STEPS_MIN 3
const struct reduction_size *find_ended_reduction(
	const struct reductions *r, uint64_t last_step, unsigned skip);

#endif
