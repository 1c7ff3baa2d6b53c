/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that are in no recorded call while others wait: does each of them make progress? The answer
 * comes from what the rank's own writer measured (journal_progress, `progress` of meta.json), so
 * readers in other containers and on other hosts get the same one. On the rank's host, /proc shows
 * sooner that a process is stopped.
 */
#ifndef PROBE_TOOLS_RULES_MOVERS_H
#define PROBE_TOOLS_RULES_MOVERS_H

#include "tools/probe/rules/report.h"

enum mover_state {
	MOVER_NONE, /* blocked in a call, or has no more work */
	MOVER_GONE, /* its process has ended */
	MOVER_STOPPED, /* stopped by SIGSTOP, a terminal or a debugger */
	/* Its process exists but gives no sign of life: stopped, frozen or unreachable. */
	MOVER_SILENT,
	MOVER_STILL, /* neither the process nor a descendant uses processor time, reads or writes */
	MOVER_WAITING, /* uses its processor in a function that waits */
	MOVER_BUSY, /* makes progress or spins; these cannot be distinguished */
	MOVER_STARTING, /* has made no call yet, and other ranks may have to wait for that */
	MOVER_UNKNOWN, /* nothing was measured */
};

struct mover {
	enum mover_state state;
	uint64_t since_ns; /* duration of the state; 0: not known */
	unsigned cpu_percent; /* percent of one core; only for BUSY and WAITING */
	const char *function; /* MOVER_WAITING: the function that waits */
};

struct mover look_at_mover(struct report *r, uint32_t index);

/*
 * Returns true if the rank is stopped by SIGSTOP, a terminal or a debugger, or gives no sign of
 * life.
 */
bool is_rank_stopped(const struct report *r, uint32_t index);

/*
 * Formats "rank 2 uses 98 % of a core ...", one line for each rank because of which a wait cannot
 * be called a hang; "" if there is none. malloc'd.
 */
char *describe_unknown_movers(struct report *r);

#endif
