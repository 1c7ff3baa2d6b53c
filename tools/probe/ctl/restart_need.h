/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_CTL_RESTART_NEED_H
#define PROBE_TOOLS_PROBE_CTL_RESTART_NEED_H

#include "config/load/ctl_file.h"
#include "tools/probe/model/read/folders.h"

/*
 * Warns about the part of a change that has no effect in a running job: functions with C++ names are
 * wrapped only when their library is loaded.
 */
void print_restart_warnings(const struct folders *f, const struct ctl_change *change);

#endif
