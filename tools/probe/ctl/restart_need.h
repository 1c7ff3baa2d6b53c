/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_CTL_RESTART_NEED_H
#define PROBE_TOOLS_PROBE_CTL_RESTART_NEED_H

#include "config/load/ctl_file.h"
#include "tools/probe/model/read/folders.h"

/*
 * Reports which part of a change has no effect in a running job: functions with C++ names are bound
 * only when their library is loaded.
 */
void warn_of_restart(const struct folders *f, const struct ctl_change *change);

#endif
