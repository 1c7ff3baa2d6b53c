/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_CTL_RESTART_NEED_H
#define PROBE_TOOLS_PROBE_CTL_RESTART_NEED_H

#include "config/load/ctl_file.h"
#include "tools/probe/model/read/folders.h"

/*
 * Says what of a change has no effect in a job that runs: functions with C++ names are bound when their library is loaded, or
 * they are not.
 */
void warn_of_restart(const struct folders *f, const struct ctl_change *change);

#endif
