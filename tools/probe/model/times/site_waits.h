/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a rank has been inside its calls so far, by function and communicator: what a wait that goes on is compared with. Of a finished job
 * nobody asks.
 */
#ifndef PROBE_TOOLS_TIMES_SITE_WAITS_H
#define PROBE_TOOLS_TIMES_SITE_WAITS_H

#include "tools/lib/table.h"
#include "tools/probe/model/read/opens.h"

#define SITE_WAITS_MAX 4096u /* places of a rank */

struct site_wait {
	struct table_key key; /* communicator, function. 0, 0: Waits for what was started */
	uint64_t n, longest_ns;
};

/* A table of struct site_wait of one rank. */
void init_site_waits(struct table *t);

/* Adds a call that its rank has left. Others, and those without a communicator, are passed over. */
void add_site_wait(struct table *t, const struct call *c);

/* Of the place where that call is open; NULL: no call there has ended. */
const struct site_wait *find_site_wait(const struct table *t, const struct open_call *c);

#endif
