/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait graph: which ranks wait for which others, in blocked calls, and in Waits for messages
 * and operations. A circle in it is a deadlock. If there is no circle, the ranks that others wait
 * for and that are not blocked themselves delay the others.
 *
 * Time and memory grow linearly with ranks and open calls: an operation in which half of a thousand
 * ranks are missing is one node of the graph, with an edge from each rank that has entered and an
 * edge to each rank that is missing.
 */
#ifndef PROBE_TOOLS_WAITS_H
#define PROBE_TOOLS_WAITS_H

#include "tools/probe/rules/report.h"

#define WAITS_NAMED 16u

/* Ranks, by folder index. n can be larger than the array. */
struct waiting_ranks {
	uint32_t rank[WAITS_NAMED];
	unsigned n;
};

/*
 * Returns the call in which the rank is blocked, or NULL: a recorded call, or the operation that it
 * started last if nothing followed and the process makes no progress (a wait for it that leaves no
 * record).
 */
const struct open_call *get_blocking_call(struct report *r, uint32_t rank);

/*
 * Finds the smallest circle in which each rank waits for the next one, and the last for the first.
 * Returns false if there is none.
 */
bool find_wait_circle(struct report *r, struct waiting_ranks *out);

/*
 * Finds the ranks that are not blocked and for which the blocked ranks wait, directly or not.
 * Returns false if there are none, more than waiting ranks, or more than WAITS_NAMED.
 */
bool find_holding_ranks(struct report *r, struct waiting_ranks *out);

/* Returns the folder index of the peer of message c, or -1 if that is any rank or not known. */
int index_of_peer(const struct report *r, const struct call *c);

/*
 * Returns by folder index whether some rank waits for this rank, or NULL if that is not known. The
 * caller frees it.
 */
bool *list_awaited_ranks(struct report *r);

/* Returns the number of edges examined so far. *edges: number of edges and nodes of the graph. */
uint64_t count_wait_looks(struct report *r, uint64_t *edges);

void free_wait_graph(struct wait_graph *g);

#endif
