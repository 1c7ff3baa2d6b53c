/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/host/rank_owner.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/probe/model/host/outside.h"
#include "tools/probe/model/host/task_stat.h"

#define LET_GO_NS 20000000
#define LET_GO_TRIES 50

/*
 * A program that inspects a process (ps, pgrep) holds the memory of that process for a moment. The
 * locks of its files are then held as well, even after the process has ended. This command waits
 * for that once in a run. A forked copy of the process that holds the locks does not release them.
 */
static enum owner_life wait_for_dead(const char *path, const struct journal_owner *o, uint32_t mine)
{
	/* Tries that remain; shared by all threads that read folders. */
	static _Atomic int left = LET_GO_TRIES;
	enum owner_life sign = outside_sign(path, o, mine);

	while (sign == OWNER_LIVES && atomic_fetch_sub(&left, 1) > 0) {
		nanosleep(&(struct timespec){.tv_nsec = LET_GO_NS}, NULL);
		sign = outside_sign(path, o, mine);
	}
	return sign;
}

enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path, uint32_t mine)
{
	enum owner_life life = owner_life(o, noted), sign;
	char *now;

	/*
	 * If the process has mapped another path than the recorded one, it may still be this
	 * journal: the folder was moved.
	 */
	if (life == OWNER_DEAD && (now = realpath(path, NULL))) {
		if (strcmp(now, noted))
			life = owner_life(o, now);
		free(now);
	}
	if (life == OWNER_LIVES)
		return life;
	if (life == OWNER_UNKNOWN)
		return outside_sign(path, o, mine);
	sign = wait_for_dead(path, o, mine);
	/* A process holds the lock: the owner, or a forked copy of it. */
	return sign == OWNER_LIVES ? OWNER_UNKNOWN : life;
}

bool is_owner_ending(const struct journal_owner *o)
{
	char path[64];
	struct task_stat t;
	unsigned tasks = 0;
	struct dirent *e = NULL;
	DIR *d;

	if (o->pid <= 0 || !owner_is_of_this_boot(o) || !read_task_stat(o->pid, "", &t) ||
		t.start != o->start_time || !(t.flags & TASK_EXITING))
		return false;
	/* The first thread of the process may have ended while others run. */
	snprintf(path, sizeof(path), "/proc/%lld/task", (long long)o->pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !read_task_stat(o->pid, e->d_name, &t))
			continue;
		if (!(t.flags & TASK_EXITING))
			break;
		tasks++;
	}
	if (d)
		closedir(d);
	return d && !e && tasks;
}

char read_owner_state(const struct journal_owner *o)
{
	struct journal_owner me;
	struct task_stat t;

	owner_self(&me);
	if (!owner_is_of_this_boot(o) || me.pid_ns != o->pid_ns ||
		!read_task_stat(o->pid, "", &t) || t.start != o->start_time)
		return 0;
	return t.state;
}
