/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait graph: the calls in which ranks are blocked, and the messages and operations that a Wait waits for. A circle in it
 * is a deadlock. If there is none, ranks that others wait for and that are not blocked themselves delay the others.
 *
 * Time and memory grow linearly with ranks and open calls: an operation with half of a thousand ranks missing is a single place
 * of the graph, with edges from the ranks that have entered and edges to those that are missing.
 */
#ifndef PROBE_TOOLS_WAITS_H
#define PROBE_TOOLS_WAITS_H

#include "tools/probe/rules/report.h"

#define WAITS_NAMED 16u

/* Ranks, by folder index; `n` may be larger than the array. */
struct waiting_ranks {
	uint32_t rank[WAITS_NAMED];
	unsigned n;
};

/* Each waits for the next one, the last for the first; the smallest circle found. False: there is none. */
bool find_wait_circle(struct report *r, struct waiting_ranks *out);

/*
 * Finds the ranks that all blocked ranks ultimately wait for, and that are not blocked themselves. False: there are none, or
 * they are as many as the waiting ones.
 */
bool find_holding_ranks(struct report *r, struct waiting_ranks *out);

/* The folder index of a message's other end; -1: any, or not known. */
int index_of_peer(const struct report *r, const struct call *c);

/* By folder index: whether a rank waits for that rank. NULL: not known. free() it. */
bool *list_awaited_ranks(struct report *r);

/* Number of edges examined so far; *edges: number of edges and places. */
uint64_t count_wait_looks(struct report *r, uint64_t *edges);

void free_wait_graph(struct wait_graph *g);

#endif
