/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the values at each place of the program have been so far, by rank: a value far outside of it (spike), a buffer that
 * has not changed (stale), a tensor that is nothing but zeros from a step on (zero), or in one step only. One pass; memory by ranks and places.
 */
#ifndef PROBE_TOOLS_HISTORY_H
#define PROBE_TOOLS_HISTORY_H

#include "tools/lib/table.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/join/meet.h"

/* The first one of its kind. */
struct strange {
	bool any;
	struct call call;
	uint64_t place; /* by which it has been kept */
	double now,
		before; /* spike: largest absolute value, and the largest one of the steps before */
	bool turn; /* stale: as the time before in a loop, and not in the step before */
	uint32_t seen; /* steps at this place on this rank until then */
	uint64_t more; /* like it, later */
	uint32_t ranks; /* spike: of the same operation */
	uint64_t event; /* ns, clocks set right */
};

struct history {
	struct table *rank; /* of each rank, struct rank_values: what its values at a place were */
	unsigned n;
	struct table places; /* struct place_values: the same of all ranks together */
	struct table beside; /* struct beside: the largest value of a line beside the second one */
	const struct clock_fix *skew;
	struct strange spike;
	struct strange *zero, *once,
		*stale; /* settled in the end: several ranks may be so; once: zeros, and then no more */
	unsigned nzero, capzero, nonce, caponce, nstale, capstale;
};

void history_init(struct history *h, unsigned nrank, const struct clock_fix *skew);
void history_free(struct history *h);

/* A call with its site and values. */
void note_values(struct history *h, const struct call *c);

/* A meeting that is complete: a rank that came to it from a new line is measured by what it had at the line of the others. */
void note_values_from_new_lines(struct history *h, const struct meeting *m);

/*
 * The same: of places whose values change by so much that nothing is far outside (a residual), what is far outside on one rank and far
 * more than ever what the others have there.
 */
void note_values_beside_others(struct history *h, const struct meeting *m);

/* The earliest that is not what most ranks did at the same place; NULL: none. want: ranks of its communicator. */
const struct strange *first_zero(const struct history *h);
const struct strange *first_zero_once(const struct history *h);
const struct strange *first_stale(const struct history *h);

#endif
