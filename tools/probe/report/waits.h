/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom: the calls that ranks stand in, and the messages and operations that a Wait is for, as a graph. A circle in it
 * cannot end; where there is none, the ranks that others wait for and that stand in no call themselves hold them up.
 */
#ifndef PROBE_TOOLS_WAITS_H
#define PROBE_TOOLS_WAITS_H

#include "tools/probe/report/report.h"

#define WAITS_NAMED 16u

/* Ranks, by folder index; `n` may be more than there is room for. */
struct waiting_ranks {
	uint32_t rank[WAITS_NAMED];
	unsigned n;
};

/* Each waits for the next one, the last for the first. False: there is no circle. */
bool find_wait_circle(const struct report *r, struct waiting_ranks *out);

/*
 * Of all ranks that stand, what they wait for in the end: ranks that stand in nothing. False: that is nobody, or as many as those
 * that wait.
 */
bool find_holding_ranks(const struct report *r, struct waiting_ranks *out);

/* By folder index: somebody waits for that rank. NULL: it is not known. free() it. */
bool *list_awaited_ranks(const struct report *r);

#endif
