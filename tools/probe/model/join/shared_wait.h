/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that one Waitall completed each have its whole duration as their wait. A sum over a rank's waits must count it once.
 * The requests need not be consecutive if calls are sorted by their starts.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_SHARED_WAIT_H
#define PROBE_TOOLS_PROBE_JOIN_SHARED_WAIT_H

#include "tools/probe/model/read/calls.h"

#define SHARED_WAITS 16
#define SHARED_WAIT_NS 1000u /* ends of one Waitall's requests differ by less than this */

/* The latest waits of one rank; zeroed at first. */
struct shared_waits {
	struct {
		uint64_t wait, end;
	} of[SHARED_WAITS];
	unsigned at;
};

/* True if the wait was already counted with an earlier call. c: a call with a wait. */
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

/* The time for which the call blocked its rank's thread: for an asynchronous call only the wait for it. */
static inline uint64_t add_held_time(struct shared_waits *s, const struct call *c)
{
	if (!(c->bits & CALL_ASYNC))
		return c->dur;
	return is_wait_shared(s, c) ? 0 : c->wait;
}

#endif
