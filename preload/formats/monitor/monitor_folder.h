/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of format monitor: {%b%d_%H-%M-%S}-rank{r}-{8 hex digits}; in the second version rank_{r}. Its name is
 * stored in the journal, so that a process which completes a killed job's files finds it.
 */
#ifndef PROBE_SINK_MONITOR_FOLDER_H
#define PROBE_SINK_MONITOR_FOLDER_H

#include "sink/files.h"

/* Its absolute path. rank -1: not known yet. */
void name_monitor_folder(const struct files *f, bool v2, int32_t rank, char *buf, size_t cap);

/*
 * Prepares the folder. Files of an earlier run with that name are moved to <name>.<n>. With key append_output this run
 * continues in that run's folder, and rows of steps that run again are moved. A living process keeps its folder
 * (monitor_owner.h). -EEXIST: the files stay; -errno.
 */
int begin_monitor_folder(const struct files *f, bool v2, int32_t rank);

/*
 * The same in the second version when a rank becomes known: this process' files under another name will be moved there.
 */
int begin_ranks_monitor_folder(const struct files *f, int32_t rank);

#endif
