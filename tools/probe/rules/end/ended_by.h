/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Information about the signal that ended a rank without a message: the kernel's log, and the count of OOM kills of its control
 * group. Both exist only on the host where it ran. Also whether a library ended a rank inside a call to which only this rank
 * passed something unusual.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_ENDED_BY_H
#define PROBE_TOOLS_PROBE_REPORT_ENDED_BY_H

#include "tools/probe/rules/report.h"

struct ended_by {
	enum kernel_says log;
	struct kernel_word word; /* if the log has a message about it */
	uint64_t oom_kills; /* in its control group since it started; 0: none, or not known */
};

/* index: the folder of a process that was ended by a signal. */
struct ended_by how_signal_ended(struct report *r, uint32_t index);

/* "by SIGSEGV; ...", "because memory ran out; ..."; malloc'd. */
char *ended_by_text(const struct ended_by *e);

/* Other ranks are blocked in the same operation with at least one element each, and this rank's tensor call has none. */
bool has_own_terms(const struct report *r, const struct call *c);

#endif
