/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the cause of the end of a rank that left no message. For a signal: the kernel log, and the count of OOM kills
 * of the rank's control group; both exist only on the rank's host. For a library: whether the rank
 * ended inside a call to which it alone passed unusual arguments.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_ENDED_BY_H
#define PROBE_TOOLS_PROBE_REPORT_ENDED_BY_H

#include "tools/probe/rules/report.h"

struct ended_by {
	enum kernel_says log;
	struct kernel_word word; /* the message of the log; set only if log is KERNEL_SAYS */
	/* OOM kills in the rank's control group since the rank started; 0: none, or not known. */
	uint64_t oom_kills;
};

/* Collects what is known about the signal that ended the process. index: its folder. */
struct ended_by how_signal_ended(struct report *r, uint32_t index);

/* Formats "by SIGSEGV; ...", "because memory ran out; ...". malloc'd. */
char *ended_by_text(const struct ended_by *e);

/*
 * Returns true if this rank's call c has no elements, and other ranks are blocked in the same
 * operation with one element or more each.
 */
bool has_own_terms(const struct report *r, const struct call *c);

#endif
