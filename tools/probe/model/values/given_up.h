/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that some ranks had given up (after a timeout, or an error after a wait) before
 * another rank entered them.
 */
#ifndef PROBE_TOOLS_GIVEN_UP_H
#define PROBE_TOOLS_GIVEN_UP_H

#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/join/meet.h"

/* a call that failed after this time or later, ns, had waited for another rank */
#define GIVEN_UP_NS UINT64_C(1000000000)

/* The first such operation. Times are by the first host's clock. */
struct given_up {
	bool any;
	struct call late; /* the call of the rank that arrived last */
	struct call waiter; /* the call of the rank that had waited longest */
	unsigned waiters;
	uint64_t waited_ns; /* how long `waiter` waited, ns */
	/* From the last end on the ranks that gave up to the start of `late`, ns. */
	uint64_t after_ns;
	uint64_t event; /* time at which the first rank gave up */
};

void note_given_up(struct given_up *g, const struct meeting *m, const struct clock_fix *skew);

/* Returns true if call c belongs to the operation g, on any rank. */
bool is_given_up(const struct given_up *g, const struct call *c);

#endif
