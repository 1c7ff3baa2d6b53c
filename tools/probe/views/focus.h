/* SPDX-License-Identifier: Apache-2.0 */
/* Where in the run a finding is, for what is shown around it. */
#ifndef PROBE_TOOLS_PROBE_REPORT_FOCUS_H
#define PROBE_TOOLS_PROBE_REPORT_FOCUS_H

#include "tools/probe/rules/report.h"

struct focus {
	bool known; /* else it is about no moment of the run */
	uint64_t step, comm;
	uint64_t at_ns; /* moment within the step; 0: not known */
	int *rank; /* world ranks, those to be looked at first; malloc'd */
	unsigned n, cap;
};

/* Free f->rank where it is known. */
void report_focus(const struct report *r, const struct finding *finding, struct focus *f);

/* What ranks stand in now may be of a step of which no row is there yet. */
uint64_t report_last_step(const struct report *r);

#endif
