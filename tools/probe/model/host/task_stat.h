/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's data about a process or one of its threads, on this host: /proc/<pid>/stat, see proc(5). */
#ifndef PROBE_TOOLS_PROBE_READ_TASK_STAT_H
#define PROBE_TOOLS_PROBE_READ_TASK_STAT_H

#include <stdbool.h>
#include <stdint.h>

#define TASK_EXITING 4u /* PF_EXITING: it no longer runs user code */

struct task_stat {
	char name[64]; /* without its parentheses */
	char state;
	unsigned flags;
	unsigned long long user, system; /* ticks of processor time */
	unsigned long long start; /* ticks since the machine was started */
};

/* task: "" for the process as a whole, or a name from /proc/<pid>/task. False: it is gone, or cannot be seen. */
bool read_task_stat(int64_t pid, const char *task, struct task_stat *s);

#endif
