/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait graph: the calls that ranks are blocked in, and the messages and operations that a Wait is for. A circle in it cannot end. If
 * there is none, ranks that others wait for and that are blocked in no call hold the others up.
 *
 * Time and memory grow linearly with ranks and open calls: an operation with half of a thousand ranks missing is a single place of the
 * graph, with edges from the ranks that are there and edges to those that are missing.
 */
#ifndef PROBE_TOOLS_WAITS_H
#define PROBE_TOOLS_WAITS_H

#include "tools/probe/rules/report.h"

#define WAITS_NAMED 16u

/* Ranks, by folder index; `n` may be more than there is room for. */
struct waiting_ranks {
	uint32_t rank[WAITS_NAMED];
	unsigned n;
};

/* Each waits for the next one, the last for the first; the smallest circle that was seen. False: there is none. */
bool find_wait_circle(struct report *r, struct waiting_ranks *out);

/*
 * Finds the ranks that all blocked ranks wait for in the end, and that are blocked in nothing. False: there is none, or they are as many as
 * the waiting ones.
 */
bool find_holding_ranks(struct report *r, struct waiting_ranks *out);

/* The folder index of a message's other end; -1: any, or not known. */
int index_of_peer(const struct report *r, const struct call *c);

/* By folder index: does a rank wait for that rank? NULL: it is not known. free() it. */
bool *list_awaited_ranks(struct report *r);

/* Number of edges examined so far; *edges: how many edges and places there are. */
uint64_t count_wait_looks(struct report *r, uint64_t *edges);

void free_wait_graph(struct wait_graph *g);

#endif
