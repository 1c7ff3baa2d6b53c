/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose calls are read next. Ranks take turns of some calls each, so that all ranks are read up to about the same time and
 * few operations are in memory that not all ranks have entered. The caller makes sweeps: a turn of the rank whose next call is the
 * earliest, then one of each rank that has calls before that rank's next one, in the order of their numbers. Ranks of a
 * communicator are often neighbours: what one of them has read of their meetings is still in the cache for the next.
 */
#ifndef PROBE_TOOLS_PROBE_MODEL_TURNS_H
#define PROBE_TOOLS_PROBE_MODEL_TURNS_H

#include <stdint.h>

/* The ranks that have calls left and no turn in the current sweep: a heap, first[0] has the earliest next call. */
struct turns {
	struct turn {
		uint64_t start; /* of the next call, ns */
		uint32_t rank;
	} * first;
	unsigned n;
	uint32_t *due; /* memory for the ranks of a sweep */
};

/* Makes *t an empty set for at most nrank ranks. */
void turns_init(struct turns *t, unsigned nrank);
void turns_free(struct turns *t);

/* Adds a rank that is not in the set. */
void turns_add(struct turns *t, uint32_t rank, uint64_t start);

/* Removes and returns the rank with the earliest next call. The set must not be empty. */
uint32_t turns_remove_first(struct turns *t);

/*
 * Removes all ranks whose next call starts before `until` and returns their number. They are in t->due, the lowest number first,
 * until the next call of this function.
 */
unsigned turns_remove_due(struct turns *t, uint64_t until);

/*
 * Returns the number of calls in a turn: 16 to 256, even. It depends on nothing but the number of ranks, because the order in which
 * calls are read decides what is listed first. Threads read as many calls of a rank ahead (ahead.c), or its turn would wait for them.
 */
unsigned turns_choose_length(unsigned nrank);

#endif
