/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/rank_activity.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/host/rank_owner.h"

#define BEAT_NS UINT64_C(2500000000) /* ns: a running writer records its progress once a second */
#define SILENT_NS UINT64_C(5000000000)
/* ns: used if no other rank of the same host shows that the host works. */
#define SILENT_ALONE_NS UINT64_C(30000000000)
#define BUSY_PERCENT 50
#define DESCRIBED_MAX 3

static const char *const waiting_functions[] = {
#define WAITING_FUNCTION(name) name,
#include "tools/probe/rules/waiting.def"
};

static uint64_t silence_of(const struct report *r, const struct rank_dir *d)
{
	return d->alive_ns && r->g.opens.now > d->alive_ns ? r->g.opens.now - d->alive_ns : 0;
}

static bool is_host_well(const struct report *r, const struct rank_dir *of)
{
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if (d != of && (d->state == RANK_RUNNING || d->state == RANK_UNSEEN) &&
			strcmp(d->meta.owner.boot_id, of->meta.owner.boot_id) == 0 && d->alive_ns &&
			silence_of(r, d) < BEAT_NS)
			return true;
	}
	return false;
}

static enum activity_state find_silence(const struct report *r, const struct rank_dir *d)
{
	uint64_t silence = silence_of(r, d);
	char state;

	if (d->state != RANK_RUNNING && d->state != RANK_UNSEEN)
		return ACTIVITY_NONE;
	state = d->meta.has_owner ? read_owner_state(&d->meta.owner) : 0;
	if (state == 'T' || state == 't')
		return ACTIVITY_STOPPED;
	/*
	 * A writer that waits for a slow disk is silent too, so the state in /proc is more certain.
	 */
	if (state || silence < SILENT_NS)
		return ACTIVITY_NONE;
	return silence >= SILENT_ALONE_NS || is_host_well(r, d) ? ACTIVITY_SILENT : ACTIVITY_NONE;
}

bool is_rank_stopped(const struct report *r, uint32_t index)
{
	return find_silence(r, &r->g.folders.dir[index]) != ACTIVITY_NONE;
}

/*
 * Returns the function that waits, or NULL if the stack of the rank's last recorded call contains
 * none.
 */
static const char *find_waiting_function(struct report *r, uint32_t index)
{
	const struct call *last = &r->g.rank[index].last;
	const struct stack_text *t = stacks_get(&r->stacks, index, last->stack);

	for (unsigned i = 0;
		last->rows && i < sizeof(waiting_functions) / sizeof(*waiting_functions); i++)
		if (strstr(t->native, waiting_functions[i]) ||
			strstr(t->python, waiting_functions[i]))
			return waiting_functions[i];
	return NULL;
}

/* Returns the time from the end of the rank's last call, or the start of an operation, until now, ns. */
static uint64_t outside_ns(const struct report *r, uint32_t index)
{
	const struct call *last = &r->g.rank[index].last;
	const struct open_call *started = r->stuck.blocked[index];
	uint64_t end = last->start + last->dur;

	if (started)
		return started->age;
	return last->rows && r->g.opens.now > end ? r->g.opens.now - end : 0;
}

struct activity find_rank_activity(struct report *r, uint32_t index)
{
	const struct rank_dir *d = &r->g.folders.dir[index];
	const struct rank_progress *p = &d->progress;
	struct activity m = {.state = find_silence(r, d)};

	if (m.state != ACTIVITY_NONE) {
		m.since_ns = silence_of(r, d);
		return m;
	}
	if (r->stuck.blocked_in[index] || has_finalized(d))
		return m;
	if (gather_gone(&r->g, d) || d->state == RANK_FINISHED || d->state == RANK_UNWRITTEN ||
		d->state == RANK_RECOVERED)
		return (struct activity){.state = ACTIVITY_GONE};
	/* The rank may be in a call that it did not record. */
	if (d->meta.thinned)
		return (struct activity){.state = ACTIVITY_UNKNOWN};
	if (!r->g.rank[index].last.rows && !r->stuck.blocked[index])
		return (struct activity){.state = ACTIVITY_STARTING};
	/* If descendants cannot be examined, one of them may compute for this rank. */
	if (!p->known || p->unseen || silence_of(r, d) >= BEAT_NS)
		return (struct activity){.state = ACTIVITY_UNKNOWN,
			.since_ns = silence_of(r, d) >= BEAT_NS ? silence_of(r, d) : 0};
	m.cpu_percent = p->cpu_percent;
	m.since_ns = p->still_ns;
	/* Time before the end of the last call does not belong to this wait. */
	if (m.since_ns > outside_ns(r, index))
		m.since_ns = outside_ns(r, index);
	m.state = ACTIVITY_STILL;
	if (p->still_ns)
		return m;
	m.function = find_waiting_function(r, index);
	m.since_ns = m.function ? outside_ns(r, index) : 0;
	m.state = m.function ? ACTIVITY_WAITING : ACTIVITY_BUSY;
	return m;
}

static char *format_rank_activity(const struct report *r, uint32_t index, const struct activity *m)
{
	const struct journal_owner *o = &r->g.folders.dir[index].meta.owner;
	const char *rank = report_rank(r, index);

	switch (m->state) {
	case ACTIVITY_BUSY:
		if (m->cpu_percent >= BUSY_PERCENT)
			return tool_format(
				"%s uses %u %% of a core in no recorded call: whether it "
				"computes or waits in a loop cannot be told from the record; its "
				"stack would tell: py-spy dump --pid %lld, or gdb -p %lld, on host "
				"%s",
				rank, m->cpu_percent, (long long)o->pid, (long long)o->pid,
				o->host);
		return tool_format("%s makes progress: it, or a process that it started, used "
				   "processor time, read or wrote within the last seconds",
			rank);
	case ACTIVITY_STARTING:
		return tool_format(
			"%s has made no recorded call yet: it may still be starting", rank);
	case ACTIVITY_UNKNOWN:
		if (m->since_ns)
			return tool_format("%s has given no sign of life for %s", rank,
				out_format_duration((double)m->since_ns));
		return tool_format("whether %s makes progress cannot be told: %s", rank,
			r->g.folders.dir[index].meta.thinned
				? "it skips calls to keep max_overhead"
				: "its processor time was not measured");
	default:
		return NULL;
	}
}

char *format_unknown_activities(struct report *r)
{
	char *all = tool_strdup(""), *line;
	unsigned n = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		struct activity m = find_rank_activity(r, i);

		line = format_rank_activity(r, i, &m);
		if (line && n++ < DESCRIBED_MAX)
			tool_add_text(&all, "\n%s", line);
		free(line);
	}
	if (n > DESCRIBED_MAX)
		tool_add_text(
			&all, "\nand %u more ranks of which it is not known", n - DESCRIBED_MAX);
	return all;
}
