/* SPDX-License-Identifier: Apache-2.0 */
/* An operation in which ranks differ that should be equal: the data of a finding. */
#ifndef PROBE_TOOLS_ODD_MEETING_H
#define PROBE_TOOLS_ODD_MEETING_H

#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/values/evidence.h"

#define NAMED_MAX 16

/* The first operation of its kind. */
struct odd_meeting {
	bool any;
	struct call call; /* on one of its ranks, the first culprit if known */
	uint32_t rank[NAMED_MAX],
		other[NAMED_MAX]; /* indices: ranks that differ; ranks that they were compared with */
	unsigned nrank, nother; /* may be more than fit into the arrays */
	bool unsure; /* there is no majority: rank[] has both sides */
	enum weight weight; /* diverged */
	double have, want,
		bound; /* not_sum: mean of the result, mean that the inputs make, rounding error;
			  volumes: bytes of the rank now, and its usual bytes; want < 0: not known */
	bool moved; /* not_sum: of an operation that only moves data: some of it arrived changed, and it is unknown whose */
	bool extreme; /* not_sum: of a minimum or maximum */
	bool sent; /* volumes: the bytes that it sent */
	uint64_t agreed; /* meetings before it that were correct */
	uint64_t more, event;
};

/* Keeps the earlier one. */
void keep_odd(struct odd_meeting *have, struct odd_meeting *now);
void add_rank_index(uint32_t *list, unsigned *n, uint32_t rank);
bool is_operation(const struct meeting *m, const char *const *list);
/* The value that more than half have; false: there is none, and *best is the most frequent one. */
bool majority_of(const uint64_t *v, unsigned n, uint64_t *best);

#endif
