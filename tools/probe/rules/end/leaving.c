/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/end/leaving.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

/* How it left: whether it ended before its work was done, and left a message about the reason. */
enum leaving how_it_left(const struct report *r, uint32_t i)
{
	const struct rank_dir *d = &r->g.folders.dir[i];
	const struct meta_ending *e = &d->meta.end;

	/* A program may print an exception, or ask to exit because of one, and continue until it is killed. */
	if ((strcmp(e->how, "exception") == 0 || strcmp(e->how, "exit") == 0) && e->at_ns &&
		d->state != RANK_FINISHED && d->state != RANK_UNWRITTEN && r->g.rank[i].last.rows &&
		r->g.rank[i].last.start > e->at_ns)
		return d->state == RANK_RUNNING ? STAYED : SILENT;
	if (strcmp(e->how, "exception") == 0 || strcmp(e->how, "abort") == 0)
		return SPOKE;
	if ((strcmp(e->how, "exit") == 0 || strcmp(e->how, "finalized") == 0) &&
		e->code != ENDING_NONE && e->code)
		return SPOKE;
	if (strcmp(e->how, "signal") == 0 || (d->state == RANK_KILLED && !*e->how))
		return SILENT;
	return STAYED;
}

bool was_told_of_error(const struct report *r, uint32_t i)
{
	const struct rank_info *k = &r->g.rank[i];

	return k->last.rows &&
	       (k->last.bits & CALL_ERROR || (k->error_end && k->error_end >= k->last.start));
}

uint64_t own_moment_of_leaving(const struct report *r, uint32_t i)
{
	const struct rank_dir *d = &r->g.folders.dir[i];
	uint64_t at = d->meta.end.at_ns;

	if (how_it_left(r, i) == SILENT && d->died_ns)
		return d->died_ns;
	if (strcmp(d->meta.end.how, "signal") == 0 || !at)
		at = d->alive_ns > d->last_ns ? d->alive_ns : d->last_ns;
	return at;
}

uint64_t moment_of_leaving(const struct report *r, uint32_t i)
{
	return clock_set_right(&r->g.skew[i], own_moment_of_leaving(r, i));
}

bool is_blocked_in_call(const struct report *r, uint32_t i)
{
	return r->stuck.blocked_in && r->stuck.blocked_in[i];
}

bool is_blocked(const struct report *r, uint32_t i)
{
	return r->stuck.blocked && r->stuck.blocked[i];
}

unsigned count_leaving(const struct report *r, enum leaving how)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++)
		n += how_it_left(r, i) == how;
	return n;
}

/* A rank in MPI_Finalize has no part in it. */
bool all_ended_by_signal(const struct report *r)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++)
		n += how_it_left(r, i) == SILENT || has_finalized(&r->g.folders.dir[i]);
	return n == r->g.folders.n && count_leaving(r, SILENT);
}
