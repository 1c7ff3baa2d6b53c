/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that are in no recorded call while others wait: does each of them make progress? The answer
 * comes from what the rank's own writer measured (journal_progress, `progress` of meta.json), so
 * readers in other containers and on other hosts get the same one. On the rank's host, /proc shows
 * sooner that a process is stopped.
 */
#ifndef PROBE_TOOLS_RULES_RANK_ACTIVITY_H
#define PROBE_TOOLS_RULES_RANK_ACTIVITY_H

#include "tools/probe/rules/report.h"

enum activity_state {
	ACTIVITY_NONE, /* blocked in a call, or has no more work */
	ACTIVITY_GONE, /* its process has ended */
	ACTIVITY_STOPPED, /* stopped by SIGSTOP, a terminal or a debugger */
	/* Its process exists but gives no sign of life: stopped, frozen or unreachable. */
	ACTIVITY_SILENT,
	ACTIVITY_STILL, /* neither the process nor a descendant uses processor time, reads or writes */
	ACTIVITY_WAITING, /* uses its processor in a function that waits */
	ACTIVITY_BUSY, /* makes progress or spins; these cannot be distinguished */
	ACTIVITY_STARTING, /* has made no call yet, and other ranks may have to wait for that */
	ACTIVITY_UNKNOWN, /* nothing was measured */
};

struct activity {
	enum activity_state state;
	uint64_t since_ns; /* duration of the state; 0: not known */
	unsigned cpu_percent; /* percent of one core; only for BUSY and WAITING */
	const char *function; /* ACTIVITY_WAITING: the function that waits */
};

struct activity find_rank_activity(struct report *r, uint32_t index);

/*
 * Returns true if the rank is stopped by SIGSTOP, a terminal or a debugger, or gives no sign of
 * life.
 */
bool is_rank_stopped(const struct report *r, uint32_t index);

/*
 * Formats "rank 2 uses 98 % of a core ...", one line for each rank because of which a wait cannot
 * be called a hang; "" if there is none. malloc'd.
 */
char *format_unknown_activities(struct report *r);

#endif
