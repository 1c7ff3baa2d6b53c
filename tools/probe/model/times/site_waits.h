/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a running rank has spent in its calls so far, by function and communicator, for
 * comparison with a wait in progress.
 */
#ifndef PROBE_TOOLS_TIMES_SITE_WAITS_H
#define PROBE_TOOLS_TIMES_SITE_WAITS_H

#include "tools/lib/table.h"
#include "tools/probe/model/read/opens.h"

#define SITE_WAITS_MAX 4096u /* maximum number of entries for a rank */

struct site_wait {
	struct table_key key; /* communicator, function; 0, 0: Waits for asynchronous operations */
	uint64_t n, longest_ns;
};

/* Initialises t as the struct site_wait table of one rank. */
void init_site_waits(struct table *t);

/* Adds completed call c. Does nothing for open calls and for those without a communicator. */
void add_site_wait(struct table *t, const struct call *c);

/*
 * Returns the earlier waits in the function of open call c on its communicator, or NULL if no such
 * call has ended yet.
 */
const struct site_wait *find_site_wait(const struct table *t, const struct open_call *c);

#endif
