/* SPDX-License-Identifier: Apache-2.0 */
/* The step, communicator and ranks of a finding, for views of what happened around it. */
#ifndef PROBE_TOOLS_PROBE_REPORT_FOCUS_H
#define PROBE_TOOLS_PROBE_REPORT_FOCUS_H

#include "tools/probe/rules/report.h"

struct focus {
	bool known; /* false: the finding has no position in the run */
	uint64_t step, comm;
	uint64_t at_ns; /* time in the step, ns; 0: not known */
	int *rank; /* world ranks, the most important first; malloc'd */
	unsigned n, cap;
	/*
	 * The first `culprits` of the ranks are those that the finding blames; the others are
	 * concerned.
	 */
	unsigned culprits;
};

/* Sets *f for a finding. The caller frees f->rank. */
void report_get_focus(const struct report *r, const struct finding *finding, struct focus *f);

/*
 * Returns the last step of the run. Calls in which ranks are blocked now count, because their step
 * may have no row yet.
 */
uint64_t report_get_last_step(const struct report *r);

#endif
