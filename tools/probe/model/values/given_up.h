/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that some ranks had given up (a timeout, an error after a wait) when another rank entered them. */
#ifndef PROBE_TOOLS_GIVEN_UP_H
#define PROBE_TOOLS_GIVEN_UP_H

#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/join/meet.h"

#define GIVEN_UP_NS \
	UINT64_C(1000000000) /* a call that failed after this time waited for another rank */

/* The first such operation. Times by the first host's clock. */
struct given_up {
	bool any;
	struct call late; /* on the rank that arrived last */
	struct call waiter; /* on the rank that had waited longest */
	unsigned waiters;
	uint64_t waited_ns; /* the waiting time of that rank */
	uint64_t
		after_ns; /* from the last end on the ranks that gave up to the late rank's start */
	uint64_t event; /* when the first of them gave up */
};

void note_given_up(struct given_up *g, const struct meeting *m, const struct clock_fix *skew);

/* Whether the call belongs to that operation, on any rank. */
bool is_given_up(const struct given_up *g, const struct call *c);

#endif
