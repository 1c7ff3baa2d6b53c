/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of this process as the kernel lists them; waiting for what another thread does. */
#ifndef PROBE_TESTS_TASKS_HELPER_H
#define PROBE_TESTS_TASKS_HELPER_H

#include <dirent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 60000

#define wait_until(condition)                                               \
	do {                                                                \
		for (int ms_ = 0; !(condition); ms_++) {                    \
			if (ms_ >= WAIT_MS) {                               \
				fprintf(stderr, "never: %s\n", #condition); \
				abort();                                    \
			}                                                   \
			usleep(1000);                                       \
		}                                                           \
	} while (0)

/* Threads of that name (NULL: of any) for which `accept` holds (NULL: all). */
static inline unsigned tasks_count(const char *name, int (*accept)(int tid, void *arg), void *arg)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	unsigned n = 0;

	while (dir && (e = readdir(dir))) {
		char path[300], comm[32] = "";
		int tid = atoi(e->d_name);
		FILE *f;

		if (tid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = 0;
		fclose(f);
		n += (!name || strcmp(comm, name) == 0) && (!accept || accept(tid, arg));
	}
	if (dir)
		closedir(dir);
	return n;
}

static inline unsigned tasks_named(const char *name)
{
	return tasks_count(name, NULL, NULL);
}

static inline int task_blocks(int tid, void *arg)
{
	char path[64], line[256];
	unsigned long long mask = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "SigBlk: %llx", &mask);
	if (f)
		fclose(f);
	return mask == *(uint64_t *)arg;
}

/* Those that block just these signals: bit i is signal i + 1. */
static inline unsigned tasks_blocking(const char *name, uint64_t signals)
{
	return tasks_count(name, task_blocks, &signals);
}

static inline int task_on(int tid, void *arg)
{
	cpu_set_t set;

	return sched_getaffinity(tid, sizeof(set), &set) == 0 && CPU_ISSET(*(int *)arg, &set);
}

/* Those that may run on that core. */
static inline unsigned tasks_on(const char *name, int core)
{
	return tasks_count(name, task_on, &core);
}

#endif
