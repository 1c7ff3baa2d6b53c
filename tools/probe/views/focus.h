/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a finding in the run, for views of its surroundings. */
#ifndef PROBE_TOOLS_PROBE_REPORT_FOCUS_H
#define PROBE_TOOLS_PROBE_REPORT_FOCUS_H

#include "tools/probe/rules/report.h"

struct focus {
	bool known; /* false: it has no place in the run */
	uint64_t step, comm;
	uint64_t at_ns; /* time within the step; 0: not known */
	int *rank; /* world ranks, the most important first; malloc'd */
	unsigned n, cap;
	unsigned
		culprits; /* how many of them, from the first on, the finding blames; the others are only concerned */
};

/* Free f->rank if it is known. */
void report_focus(const struct report *r, const struct finding *finding, struct focus *f);

/* Calls that ranks are blocked in now may belong to a step that has no row yet. */
uint64_t report_last_step(const struct report *r);

#endif
