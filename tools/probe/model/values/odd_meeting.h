/* SPDX-License-Identifier: Apache-2.0 */
/* An operation in which some ranks differ although all should be equal: the data of a finding. */
#ifndef PROBE_TOOLS_ODD_MEETING_H
#define PROBE_TOOLS_ODD_MEETING_H

#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/values/evidence.h"

#define NAMED_MAX 16

/* Its input is missing in the results; its input arrived changed; its result is wrong, and no other. */
enum sum_fault { SUM_LACKS_INPUT, SUM_HAS_OTHER_INPUT, SUM_OF_ONE_WRONG };

/* The first such operation of a kind. */
struct odd_meeting {
	bool any;
	struct call call; /* its call on one of the ranks, the first culprit if known */
	/* Folder indices. rank: ranks that differ. other: ranks that they were compared with. */
	uint32_t rank[NAMED_MAX], other[NAMED_MAX];
	unsigned nrank, nother; /* may be larger than NAMED_MAX */
	bool unsure; /* there is no majority, and rank[] has the ranks of both sides */
	enum weight weight; /* only for diverged */
	/*
	 * not_sum: mean of the result, mean computed from the inputs, rounding error. volumes:
	 * bytes of the rank in this operation, its usual bytes; want < 0: not known.
	 */
	double have, want, bound;
	/*
	 * not_sum: the operation only moves data. Some of it arrived changed, and it is unknown
	 * whose.
	 */
	bool moved;
	enum sum_fault fault; /* not_sum: what is wrong with rank[0] */
	bool extreme; /* not_sum: the operation is a minimum or maximum */
	bool sent; /* volumes: the bytes are those that the rank sent */
	uint64_t agreed; /* earlier meetings without a difference */
	uint64_t more, event;
};

/* Keeps the earlier of *have and *now in *have, and counts the other one in have->more. */
void keep_odd(struct odd_meeting *have, struct odd_meeting *now);
void add_rank_index(uint32_t *list, unsigned *n, uint32_t rank);
bool is_operation(const struct meeting *m, const char *const *list);
/*
 * Finds the value that more than half of v[0..n) have, and stores it in *best. If no value has a
 * majority, stores the most frequent one and returns false.
 */
bool majority_of(const uint64_t *v, unsigned n, uint64_t *best);

#endif
