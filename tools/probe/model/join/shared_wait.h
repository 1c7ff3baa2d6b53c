/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request that one Waitall completed has the whole duration of the Waitall as its wait. A sum
 * over a rank's waits must count that duration once. The requests need not be consecutive if calls
 * are sorted by their starts.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_SHARED_WAIT_H
#define PROBE_TOOLS_PROBE_JOIN_SHARED_WAIT_H

#include "tools/probe/model/read/calls.h"

#define SHARED_WAITS 16
#define SHARED_WAIT_NS 1000u /* the requests of one Waitall end within this time */

/* The latest waits of one rank. Zero it before the first use. */
struct shared_waits {
	struct {
		uint64_t wait, end;
	} of[SHARED_WAITS];
	unsigned at;
};

/*
 * Returns true if the wait of call c was already counted with an earlier call. c must have a wait.
 */
static inline bool is_wait_shared(struct shared_waits *s, const struct call *c)
{
	uint64_t end = c->start + c->dur;

	for (unsigned i = 0; i < SHARED_WAITS; i++)
		if (s->of[i].wait == c->wait && end + SHARED_WAIT_NS > s->of[i].end &&
			end < s->of[i].end + SHARED_WAIT_NS)
			return true;
	s->of[s->at].wait = c->wait;
	s->of[s->at].end = end;
	s->at = (s->at + 1) % SHARED_WAITS;
	return false;
}

/*
 * Returns the time in ns for which call c blocked its thread. For an asynchronous call that is its
 * wait, or 0 if the wait was already counted.
 */
static inline uint64_t add_held_time(struct shared_waits *s, const struct call *c)
{
	if (!(c->bits & CALL_ASYNC))
		return c->dur;
	return is_wait_shared(s, c) ? 0 : c->wait;
}

#endif
