/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_HANG_H
#define PROBE_TOOLS_HANG_H

#include "tools/probe/rules/report.h"

bool is_job_over(const struct report *r); /* Returns true if no process of the job runs. */
/* Returns true if all processes have ended, all of them normally. */
bool are_all_finished(const struct report *r);

/*
 * Returns the group of blocked calls that a finding should report, because it is a hang (*hang) or
 * because the job is over. Returns NULL if there is no such group.
 */
const struct stuck *report_stuck(struct report *r, bool *hang);

/* Returns true for a wait for a message that has no receive yet, such as MPI_Probe. */
bool is_probe_wait(const struct open_call *c);

/*
 * Returns true if a rank of a running job is stopped, and no other rank has made a call for much longer than it ever
 * paused: they wait where nothing is recorded, as in a loop that tests for messages.
 */
bool is_job_held_by_stopped_rank(const struct report *r);

#endif
