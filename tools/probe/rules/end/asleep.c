/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/end/asleep.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lib/tool.h"
#include "tools/probe/model/host/task_stat.h"

#define LOOK_NS 100000000L
#define LOOKS_MIN 4 /* so that somebody who computes has used some time */
#define LOOKS_MAX 11
#define TICKS_OF_LOOK 0.7 /* as much of it may be what wakes up now and then */
#define LOOKED_MAX 4096u /* ranks */
#define WRITER "probe-writer" /* our own thread in the job, which lives as long as it does */

struct sleeper {
	int64_t ticks; /* used at the first look */
	bool watched, quiet; /* there was a look at which none of its threads ran or wanted to */
};

/*
 * Ticks of processor time that all threads of the process have used but our own; -1: it is gone. *quiet: none of them runs,
 * waits for a core, or reads a disk. On a busy host one that woke up for a moment waits for a core like one that computes.
 */
static int64_t read_ticks(int pid, bool *quiet)
{
	char path[64];
	int64_t all = 0;
	bool seen = false;
	DIR *d;

	*quiet = true;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct task_stat t;

		if (e->d_name[0] == '.' || !read_task_stat(pid, e->d_name, &t))
			continue;
		seen = true;
		if (strcmp(t.name, WRITER) == 0)
			continue;
		*quiet &= t.state != 'R' && t.state != 'D';
		all += (int64_t)(t.user + t.system);
	}
	if (d)
		closedir(d);
	return seen ? all : -1;
}

/* One look at a rank; false: it computes, or is not to be seen. */
static bool look_at_sleeper(struct sleeper *s, const struct rank_dir *d, unsigned look)
{
	bool quiet;
	int64_t now = read_ticks((int)d->meta.owner.pid, &quiet);

	if (now < 0)
		return false;
	if (!look)
		s->ticks = now;
	s->quiet |= quiet;
	return (double)(now - s->ticks) <= TICKS_OF_LOOK * (look > LOOKS_MIN ? look : LOOKS_MIN);
}

bool are_movers_asleep(
	const struct gather *g, const struct open_call *const *standing, bool *nobody)
{
	struct sleeper *list = tool_alloc((g->folders.n + 1) * sizeof(*list));
	bool asleep = true, quiet = false;
	unsigned n = 0;

	*nobody = true;
	for (unsigned i = 0; i < g->folders.n && asleep; i++) {
		const struct rank_dir *d = &g->folders.dir[i];

		if (standing[i] || has_finalized(d))
			continue;
		*nobody = false;
		if (gather_gone(g, d) || d->state == RANK_FINISHED || d->state == RANK_UNWRITTEN ||
			d->state == RANK_RECOVERED)
			continue;
		asleep = d->state == RANK_RUNNING && d->meta.has_owner && n++ < LOOKED_MAX;
		list[i].watched = true;
	}
	for (unsigned look = 0; n && asleep && look < LOOKS_MAX && !(quiet && look >= LOOKS_MIN);
		look++) {
		if (look)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		quiet = true;
		for (unsigned i = 0; i < g->folders.n && asleep; i++) {
			if (!list[i].watched)
				continue;
			asleep = look_at_sleeper(&list[i], &g->folders.dir[i], look);
			quiet &= list[i].quiet;
		}
	}
	free(list);
	return asleep && (quiet || !n);
}

bool is_process_stopped(const struct rank_dir *d)
{
	struct task_stat t;

	return d->state == RANK_RUNNING && d->meta.has_owner &&
	       read_task_stat(d->meta.owner.pid, "", &t) && (t.state == 'T' || t.state == 't');
}
