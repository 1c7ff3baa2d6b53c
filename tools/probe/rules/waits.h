/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom: the calls that ranks stand in, and the messages and operations that a Wait is for, as a graph. A circle in it
 * cannot end; where there is none, the ranks that others wait for and that stand in no call themselves hold them up.
 *
 * Time and memory grow with ranks and open calls: an operation with half of a thousand ranks missing is one place of the graph, at
 * which those who are there meet those who are not.
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
 * Of all ranks that stand, what they wait for in the end: ranks that stand in nothing. False: that is nobody, or as many as those
 * that wait.
 */
bool find_holding_ranks(struct report *r, struct waiting_ranks *out);

/* The folder of a message's other side; -1: any, or not known. */
int index_of_peer(const struct report *r, const struct call *c);

/* By folder index: somebody waits for that rank. NULL: it is not known. free() it. */
bool *list_awaited_ranks(struct report *r);

/* How many edges have been looked at so far; *edges: how many there are, and places. */
uint64_t count_wait_looks(struct report *r, uint64_t *edges);

void free_wait_graph(struct wait_graph *g);

#endif
