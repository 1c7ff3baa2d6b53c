/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that are in no recorded call while others wait: whether each of them makes progress. The answer comes from what its own
 * writer measured (journal_progress, `progress` of meta.json), so a reader in another container or on another host gets the
 * same one. /proc of the reader's host only shows earlier that a process is stopped.
 */
#ifndef PROBE_TOOLS_RULES_MOVERS_H
#define PROBE_TOOLS_RULES_MOVERS_H

#include "tools/probe/rules/report.h"

enum mover_state {
	MOVER_NONE, /* it is blocked in a call, or has no more work */
	MOVER_GONE, /* its process has ended */
	MOVER_STOPPED, /* by SIGSTOP, a terminal or a debugger */
	MOVER_SILENT, /* its process exists, but gives no sign of life: stopped, frozen or unreachable */
	MOVER_STILL, /* neither it nor a descendant uses processor time, reads or writes */
	MOVER_WAITING, /* it uses its processor, in a function that waits */
	MOVER_BUSY, /* it makes progress, or spins: these look the same */
	MOVER_STARTING, /* it has made no call yet, and others can wait for that */
	MOVER_UNKNOWN, /* nothing was measured */
};

struct mover {
	enum mover_state state;
	uint64_t since_ns; /* for how long; 0: not known */
	unsigned cpu_percent; /* of one core, of BUSY and WAITING */
	const char *function; /* MOVER_WAITING */
};

struct mover look_at_mover(struct report *r, uint32_t index);

/* True if stopped by SIGSTOP, a terminal or a debugger, or if there is no sign of life. */
bool is_rank_stopped(const struct report *r, uint32_t index);

/*
 * "rank 2 uses 98 % of a core ...", one line for each rank that prevents a wait from being called a hang; "": none. malloc'd.
 */
char *describe_unknown_movers(struct report *r);

#endif
