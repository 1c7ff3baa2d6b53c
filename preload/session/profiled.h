/* SPDX-License-Identifier: Apache-2.0 */
/* Key profile_rank, for code that records calls. */
#ifndef PROBE_SESSION_PROFILED_H
#define PROBE_SESSION_PROFILED_H

#include "config/rooms/steps.h"
#include "session/state.h"

/*
 * True if calls of this process' rank are to be recorded (key profile_rank); the rank itself is
 * selected by key rank.
 */
static inline bool session_rank_profiled(void)
{
	const struct ranges *r = &get_steps_keys(get_config())->profile_rank;

	return __builtin_expect(!r->n, 1) ||
	       (session.world_rank >= 0 && ranges_has(r, (uint64_t)session.world_rank));
}

#endif
