/* SPDX-License-Identifier: Apache-2.0 */
/* Whether living ranks do anything: told from /proc on their own host. */
#ifndef PROBE_TOOLS_ASLEEP_H
#define PROBE_TOOLS_ASLEEP_H

#include "tools/probe/model/gather.h"

/*
 * True if every rank that stands in no call sleeps, is stopped or is gone: nothing will move by itself. Looks for a third of a
 * second, on a busy host for a second at most. standing: by folder; NULL: in no call. *nobody: there is no such rank, all stand.
 */
bool are_movers_asleep(
	const struct gather *g, const struct open_call *const *standing, bool *nobody);

/* Its process lives on this host and is stopped: by SIGSTOP, a terminal or a debugger. */
bool is_process_stopped(const struct rank_dir *d);

#endif
