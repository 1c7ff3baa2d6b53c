/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants of the values at each call site, by rank: new in each step (if not: stale), not all zeros
 * (if not: zero), in a range, also relative to the other ranks (if not: spike). One pass collects
 * the values that violate an invariant. After the last call they are weighed by how well such invariants hold
 * in the whole run (evidence.h). Memory depends on the number of ranks and call sites.
 */
#ifndef PROBE_TOOLS_INVARIANTS_H
#define PROBE_TOOLS_INVARIANTS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/values/evidence.h"

/* A value that violated an invariant. */
struct strange {
	bool any;
	enum weight weight;
	struct call call;
	/* spike: largest absolute value now, and the largest one in earlier steps. */
	double now, before;
	/* stale: equal to the value of the previous loop iteration, not of the previous step. */
	bool turn;
	uint32_t seen; /* earlier steps of this rank at this call site */
	uint64_t more; /* number of similar values elsewhere */
	uint32_t ranks; /* spike: ranks of the same operation */
	uint64_t event; /* time, ns, by the corrected clocks */
	/*
	 * Internal: the call site that ranks share; the number of steps with such values; whether
	 * the invariant resumed.
	 */
	uint64_t site;
	uint32_t length;
	bool ended;
	/*
	 * spike: how far above the largest earlier value, and the width of the earlier range;
	 * logarithms. zero, of numbers with few digits: how far below the least earlier one.
	 */
	double distance, width;
	bool mixed; /* zero: the earlier values were counts and other numbers */
};

struct strange_list {
	struct strange *item;
	unsigned n, cap;
};

/* A call site under test; expected: number of breaks by chance at this one and those with more confirmations. */
struct confirmed {
	double kept, expected;
};

/* Ordered by the number of confirmations, the largest first. */
struct confirmed_list {
	struct confirmed *item;
	unsigned n, cap;
};

/*
 * tested: call sites at which an invariant is tested. able: those at which a break would be reported;
 * the others have too few confirmations.
 */
struct invariant_power {
	uint32_t tested, able;
};

struct invariants {
	struct table *rank; /* by rank: struct rank_invariants */
	unsigned n;
	bool steps; /* the steps of calls are known; if not, each call is compared with the one before */
	/* struct site_invariants: call sites, all ranks combined; filled in at the end. */
	struct table sites;
	/*
	 * struct beside, by line: the largest value, and its factor above the second largest rank.
	 */
	struct table beside;
	const struct clock_fix *skew;
	struct strange_list stale, zero, level, diverged;
	/* Number of values, and of operations, that were compared with a range. */
	uint64_t levels, meetings;
	struct confirmed_list fresh, filled; /* call sites under test; set by weigh_invariants() */
	struct invariant_power stale_power, zero_power, level_power; /* set by weigh_invariants() */
	/* The findings for the whole run. */
	struct strange spike, first_stale, first_zero, first_once;
};

void invariants_init(struct invariants *h, unsigned nrank, const struct clock_fix *skew);
void invariants_free(struct invariants *h);

/* Handles call c, which has its site and values. */
void note_values(struct invariants *h, const struct call *c);

/* Handles complete meeting m: compares the inputs of its ranks. */
void note_values_beside_others(struct invariants *h, const struct meeting *m);

/*
 * Call this after the last call. Fills in spike, first_stale, first_zero and first_once (zeros in
 * one step only).
 */
void weigh_invariants(struct invariants *h);

#endif
