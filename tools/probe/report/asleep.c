/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/asleep.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lib/tool.h"

#define LOOK_NS 300000000L
#define TICKS_MAX 2 /* of its own writer, in that time */
#define LOOKED_MAX 4096u /* ranks */

/* Ticks of processor time that all threads of the process have used; -1: it is gone, or one of them runs or reads a disk. */
static int64_t read_ticks(int pid)
{
	char path[64], text[1024];
	int64_t all = 0;
	bool seen = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	for (struct dirent *e; d && all >= 0 && (e = readdir(d));) {
		unsigned long long user, system;
		const char *p;
		char state;
		FILE *f;
		size_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", pid, e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		text[n] = 0;
		p = strrchr(text, ')');
		if (!p || sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu",
				  &state, &user, &system) != 3)
			continue;
		seen = true;
		all = state == 'R' || state == 'D' ? -1 : all + (int64_t)(user + system);
	}
	if (d)
		closedir(d);
	return seen ? all : -1;
}

bool are_movers_asleep(
	const struct gather *g, const struct open_call *const *standing, bool *nobody)
{
	int64_t *ticks = tool_alloc(g->folders.n * sizeof(*ticks));
	bool asleep = true;
	unsigned n = 0;

	*nobody = true;
	for (unsigned turn = 0; turn < 2 && asleep; turn++) {
		if (turn && n)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		for (unsigned i = 0; i < g->folders.n && asleep; i++) {
			const struct rank_dir *d = &g->folders.dir[i];
			int64_t now;

			if (standing[i])
				continue;
			*nobody = false;
			if (gather_gone(g, d) || d->state == RANK_FINISHED ||
				d->state == RANK_UNWRITTEN || d->state == RANK_RECOVERED)
				continue;
			if (d->state != RANK_RUNNING || !d->meta.has_owner || n >= LOOKED_MAX) {
				asleep = false;
				break;
			}
			now = read_ticks((int)d->meta.owner.pid);
			asleep = now >= 0 && (!turn || now - ticks[i] <= TICKS_MAX);
			ticks[i] = now;
			n += !turn;
		}
	}
	free(ticks);
	return asleep;
}
