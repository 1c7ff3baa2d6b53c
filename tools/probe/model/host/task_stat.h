/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's data about a process or thread of this host: /proc/<pid>/stat, see proc(5). */
#ifndef PROBE_TOOLS_PROBE_READ_TASK_STAT_H
#define PROBE_TOOLS_PROBE_READ_TASK_STAT_H

#include <stdbool.h>
#include <stdint.h>

#define TASK_EXITING 4u /* PF_EXITING: it no longer runs user code */

struct task_stat {
	char name[64]; /* without the parentheses around it */
	char state;
	unsigned flags;
	unsigned long long user, system; /* ticks of processor time */
	unsigned long long start; /* ticks since the machine was started */
};

/*
 * Reads the data of process `pid` (task: "") or of one of its threads (task: its name in
 * /proc/<pid>/task). Returns false if the task does not exist or is not visible.
 */
bool read_task_stat(int64_t pid, const char *task, struct task_stat *s);

#endif
