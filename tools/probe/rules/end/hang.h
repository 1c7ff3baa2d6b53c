/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_HANG_H
#define PROBE_TOOLS_HANG_H

#include "tools/probe/rules/report.h"

bool is_job_over(const struct report *r); /* no process runs any more */
bool are_all_finished(const struct report *r); /* ... and each ended normally */

/* The group of calls that is worth a line: it is a hang, or the job is over; NULL: there is none. */
const struct stuck *report_stuck(struct report *r, bool *hang);

/* A thread waits for a message and receives it as soon as it arrives. */
bool is_probe_wait(const struct open_call *c);

#endif
