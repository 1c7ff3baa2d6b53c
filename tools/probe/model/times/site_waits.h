/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a rank has spent in its calls so far, by function and communicator: for comparison with a wait in progress. Not
 * needed for a finished job.
 */
#ifndef PROBE_TOOLS_TIMES_SITE_WAITS_H
#define PROBE_TOOLS_TIMES_SITE_WAITS_H

#include "tools/lib/table.h"
#include "tools/probe/model/read/opens.h"

#define SITE_WAITS_MAX 4096u /* places of a rank */

struct site_wait {
	struct table_key key; /* communicator, function. 0, 0: Waits for started operations */
	uint64_t n, longest_ns;
};

/* A table of struct site_wait of one rank. */
void init_site_waits(struct table *t);

/* Adds a completed call of its rank. Ignores other calls, and those without a communicator. */
void add_site_wait(struct table *t, const struct call *c);

/* The waits at the place of that open call; NULL: no call there has ended yet. */
const struct site_wait *find_site_wait(const struct table *t, const struct open_call *c);

#endif
