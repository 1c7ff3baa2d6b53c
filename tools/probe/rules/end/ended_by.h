/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the signal that ended a rank which left no word: from the kernel's log, and from its control group's
 * count of processes that were killed because memory ran out. Both only on the host where it ran. And whether a library that ended a
 * rank inside of a call was given something by that rank alone.
 */
#ifndef PROBE_TOOLS_PROBE_REPORT_ENDED_BY_H
#define PROBE_TOOLS_PROBE_REPORT_ENDED_BY_H

#include "tools/probe/rules/report.h"

struct ended_by {
	enum kernel_says log;
	struct kernel_word word; /* where the log says something */
	uint64_t oom_kills; /* in its control group since it started; 0: none, or not known */
};

/* index: of a folder whose process was ended by a signal. */
struct ended_by how_signal_ended(struct report *r, uint32_t index);

/* "by SIGSEGV; ...", "because memory ran out; ..."; malloc'd. */
char *ended_by_text(const struct ended_by *e);

/* Other ranks stand in the same operation, each with some elements, and that call of a tensor has none. */
bool has_own_terms(const struct report *r, const struct call *c);

#endif
