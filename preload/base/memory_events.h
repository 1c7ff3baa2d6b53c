/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many processes of a control group the kernel has killed because memory ran out: `oom_kill` of memory.events
 * (cgroup v2) and of memory.oom_control (v1), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
 */
#ifndef PROBE_BASE_MEMORY_EVENTS_H
#define PROBE_BASE_MEMORY_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/* The count in that file; -1: there is none, or it cannot be read. */
int64_t read_oom_kills(const char *path);

/*
 * The file of the control group of a process, from the text of its /proc/<pid>/cgroup: the first that exists of those that it
 * may have, also where the process sees another root of the hierarchy than its group's. 0, -ENOENT, -ENAMETOOLONG.
 */
int find_memory_events(const char *cgroups, char *path, size_t cap);

#endif
