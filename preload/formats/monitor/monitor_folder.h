/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of format monitor: {%b%d_%H-%M-%S}-rank{r}-{8 hex digits}; in the second version rank_{r}. Its name is
 * stored in the journal, so that a process which completes a killed job's files finds it.
 */
#ifndef PROBE_SINK_MONITOR_FOLDER_H
#define PROBE_SINK_MONITOR_FOLDER_H

#include "sink/files.h"

/* Writes the folder's absolute path. rank -1: not known yet. */
void format_monitor_folder(const struct files *f, bool v2, int32_t rank, char *buf, size_t cap);

/*
 * Prepares the folder. Files of an earlier run in a folder of this name are moved to <name>.<n>.
 * With key append_output this run continues in the earlier run's folder, and rows of steps that
 * run again are moved. The folder of a living process is not touched (monitor_owner.h). Returns
 * 0, -EEXIST if the old files could not be moved, or -errno.
 */
int init_monitor_folder(const struct files *f, bool v2, int32_t rank);

/*
 * Like init_monitor_folder(), for the second version when the rank becomes known: this process'
 * files under another name will be moved to the folder.
 */
int init_ranks_monitor_folder(const struct files *f, int32_t rank);

#endif
