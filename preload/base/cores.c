/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cores.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int compute_core_count(const struct cores *c)
{
	int n = 0;

	for (unsigned i = 0; i < CORES_MAX / 64; i++)
		n += __builtin_popcountll(c->word[i]);
	return n;
}

int cores_free(struct cores *c)
{
	struct cores one, pinned = {{0}};
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;

	memset(c, 0, sizeof(*c));
	if (!tasks)
		return -errno;
	while ((e = readdir(tasks))) {
		pid_t tid = (pid_t)atoi(e->d_name);

		memset(&one, 0, sizeof(one));
		/*
		 * Fails for a thread that has just ended, and if there are more than CORES_MAX
		 * cores.
		 */
		if (tid <= 0 || sched_getaffinity(tid, sizeof(one), (cpu_set_t *)&one) < 0)
			continue;
		for (unsigned i = 0; i < CORES_MAX / 64; i++) {
			c->word[i] |= one.word[i];
			pinned.word[i] |= compute_core_count(&one) == 1 ? one.word[i] : 0;
		}
	}
	closedir(tasks);
	for (unsigned i = 0; i < CORES_MAX / 64; i++)
		c->word[i] &= ~pinned.word[i];
	return compute_core_count(c);
}

bool cores_pinned(void)
{
	struct cores c = {{0}};

	return sched_getaffinity(0, sizeof(c), (cpu_set_t *)&c) == 0 && compute_core_count(&c) == 1;
}
