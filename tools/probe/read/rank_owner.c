/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/read/rank_owner.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/read/outside.h"

#define TASK_EXITING 4u /* PF_EXITING, in the field `flags` of proc(5)'s stat */

enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path, uint32_t mine)
{
	enum owner_life life = owner_life(o, noted), sign;
	char *now;

	/* A process that maps another file than the one noted may still map this one: the folder was moved. */
	if (life == OWNER_DEAD && (now = realpath(path, NULL))) {
		if (strcmp(now, noted))
			life = owner_life(o, now);
		free(now);
	}
	if (life == OWNER_LIVES)
		return life;
	sign = outside_sign(path, o, mine);
	if (life == OWNER_UNKNOWN)
		return sign;
	/* Somebody holds what only the owner, or a copy that it made of itself, can hold. */
	return sign == OWNER_LIVES ? OWNER_UNKNOWN : life;
}

/* Of /proc/<pid>/<what>/stat. False: there is none. */
static bool read_task_stat(
	int64_t pid, const char *what, unsigned *flags, unsigned long long *start)
{
	char path[300], line[1024];
	const char *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%lld/%s/stat", (long long)pid, what);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	/* The command in parentheses may itself hold spaces and parentheses. */
	p = strrchr(line, ')');
	return p && sscanf(p,
			    ") %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			    "%*d %*d %llu",
			    flags, start) == 2;
}

bool is_owner_ending(const struct journal_owner *o)
{
	char path[64];
	unsigned long long start, other;
	unsigned flags, tasks = 0;
	struct dirent *e = NULL;
	DIR *d;

	if (o->pid <= 0 || !owner_is_of_this_boot(o) ||
		!read_task_stat(o->pid, ".", &flags, &start) || start != o->start_time ||
		!(flags & TASK_EXITING))
		return false;
	/* Its first thread may have gone while others run. */
	snprintf(path, sizeof(path), "/proc/%lld/task", (long long)o->pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "task/%.20s", e->d_name);
		if (e->d_name[0] == '.' || !read_task_stat(o->pid, path, &flags, &other))
			continue;
		if (!(flags & TASK_EXITING))
			break;
		tasks++;
	}
	if (d)
		closedir(d);
	return d && !e && tasks;
}
