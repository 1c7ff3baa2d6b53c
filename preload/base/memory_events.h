/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number of processes of a control group that the kernel killed for lack of memory: `oom_kill` of memory.events (cgroup
 * v2) and of memory.oom_control (v1). See Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
 */
#ifndef PROBE_BASE_MEMORY_EVENTS_H
#define PROBE_BASE_MEMORY_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the count in file `path`, or -1 if it cannot be read. */
int64_t read_oom_kills(const char *path);

/*
 * Finds the control group's file from the text of the process' /proc/<pid>/cgroup. Tries all
 * candidate paths in order, because the process may see another root of the hierarchy. Returns 0,
 * -ENOENT, or -ENAMETOOLONG.
 */
int find_memory_events(const char *cgroups, char *path, size_t cap);

#endif
