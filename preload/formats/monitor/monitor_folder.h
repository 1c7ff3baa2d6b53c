/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of format monitor: {%b%d_%H-%M-%S}-rank{r}-{8 hex digits}, of the second version rank_{r}. Its name comes from
 * the journal, so that who completes a killed job's files finds it.
 */
#ifndef PROBE_SINK_MONITOR_FOLDER_H
#define PROBE_SINK_MONITOR_FOLDER_H

#include "sink/files.h"

/* Its absolute path. rank -1: not known yet. */
void name_monitor_folder(const struct files *f, bool v2, int32_t rank, char *buf, size_t cap);

/*
 * Makes the place ready: what an earlier run has left under the name moves to <name>.<n>; with key append_output this run
 * goes on in that run's folder, and rows of steps that run again move. What a living process has stays its own
 * (monitor_owner.h). -EEXIST: it stays there; -errno.
 */
int begin_monitor_folder(const struct files *f, bool v2, int32_t rank);

/* The same of the second version for a rank that became known: what this process has under another name will be moved there. */
int begin_ranks_monitor_folder(const struct files *f, int32_t rank);

#endif
