/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a wait is a hang. SITE_WAITS_LEAST earlier waits at the same call site show what
 * is usual. With fewer, time alone is never enough: it takes a closed circle, a rank that has
 * stopped or ended, or a rank without progress for longer than the earlier waits explain. How long
 * after the fault each is reported was measured: docs/reference/findings.md.
 */
#include "tools/probe/rules/end/hang.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/times/site_waits.h"
#include "tools/probe/rules/rank_activity.h"
#include "tools/probe/rules/report.h"
#include "tools/probe/rules/waits.h"

/* ns: an open call of a running job is reported after this time ... */
#define STALL_NS UINT64_C(2500000000)
/* ... or after this time, if its call site has had such waits before */
#define STALL_ALWAYS_NS UINT64_C(5000000000)
/* ns: the journals of two ranks are read at different times, and open.jsonl is up to a second old */
#define PROVEN_NS UINT64_C(2500000000)
/* ns without progress, if enough earlier waits show that this is unusual */
#define STILL_NS UINT64_C(10000000000)
/* ns without progress after which a wait is a hang without enough earlier waits */
#define STILL_ALONE_NS UINT64_C(120000000000)
#define SITE_WAITS_LEAST 20
#define SITE_TIMES 3 /* times the longest earlier wait */

bool is_job_over(const struct report *r)
{
	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if ((d->state == RANK_RUNNING || d->state == RANK_UNSEEN) && !gather_gone(&r->g, d))
			return false;
	}
	return true;
}

bool are_all_finished(const struct report *r)
{
	for (unsigned i = 0; i < r->g.folders.n; i++)
		if (r->g.folders.dir[i].state != RANK_FINISHED)
			return false;
	return true;
}

bool is_probe_wait(const struct open_call *c)
{
	return c->waiting && c->call.comm && c->call.bits & CALL_P2P;
}

static const struct site_wait *find_usual(const struct report *r, const struct stuck *s)
{
	return find_site_wait(&r->g.rank[s->sample->call.rank].site_waits, s->sample);
}

static bool is_explained_by_place(const struct site_wait *usual, uint64_t age)
{
	return !usual || usual->n < SITE_WAITS_LEAST || age <= SITE_TIMES * usual->longest_ns;
}

/* True for an operation on files: it also waits for a disk, which may be slow for all ranks. */
static bool is_file_operation(const struct open_call *c)
{
	return strncmp(intern_get_name(c->call.op), "file_", 5) == 0;
}

/* True if all ranks of the operation are in it, so that the operation itself takes long. */
static bool is_operation_complete(const struct stuck *s)
{
	for (unsigned i = 0; i < s->nabsent; i++)
		if (s->absent[i].why != ABSENT_PAST)
			return false;
	return s->joined;
}

/*
 * True if each rank of the circle has been in its call so long that the journals, which are read at
 * different times, show the same state.
 */
static bool is_circle_closed(struct report *r)
{
	struct waiting_ranks w;

	if (!find_wait_circle(r, &w))
		return false;
	for (unsigned i = 0; i < w.n && i < WAITS_NAMED; i++) {
		const struct open_call *c = get_blocking_call(r, w.rank[i]);

		if (!c || c->age < PROVEN_NS || is_file_operation(c))
			return false;
	}
	return true;
}

/* The states of the ranks that are in no call. */
struct activities {
	unsigned n, gone, stopped, still, unknown;
	uint64_t still_ns; /* the shortest time without progress, ns */
	uint32_t one; /* a stopped rank, else one without progress */
	struct activity sample;
};

static struct activities find_activities(struct report *r)
{
	struct activities all = {.still_ns = UINT64_MAX};

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		struct activity m = find_rank_activity(r, i);
		bool stopped = m.state == ACTIVITY_STOPPED || m.state == ACTIVITY_SILENT;

		if (m.state == ACTIVITY_NONE)
			continue;
		all.n++;
		all.gone += m.state == ACTIVITY_GONE;
		if (stopped || ((m.state == ACTIVITY_STILL || m.state == ACTIVITY_WAITING) &&
				       !all.stopped && m.since_ns < all.still_ns)) {
			all.one = i;
			all.sample = m;
		}
		all.stopped += stopped;
		if (m.state == ACTIVITY_STILL || m.state == ACTIVITY_WAITING) {
			all.still++;
			if (m.since_ns < all.still_ns)
				all.still_ns = m.since_ns;
		}
		all.unknown += m.state == ACTIVITY_BUSY || m.state == ACTIVITY_UNKNOWN ||
			       m.state == ACTIVITY_STARTING;
	}
	return all;
}

static char *format_usual(const struct site_wait *usual)
{
	return usual ? tool_format(
			       "%s in this function on this communicator before took at most %s",
			       out_format_plural(usual->n, "wait", "waits"),
			       out_format_duration((double)usual->longest_ns))
		     : tool_strdup("no wait in this function on this communicator ended before");
}

/* Returns why the wait is a hang, or NULL if it is none, or not yet. */
static char *find_hang_reason(struct report *r, const struct stuck *s)
{
	const struct site_wait *usual = find_usual(r, s);
	struct activities m;
	char *text, *history;
	uint64_t need;

	if (s->age_max < PROVEN_NS)
		return NULL;
	if (is_circle_closed(r)) {
		r->circle_closed = true;
		return tool_strdup("ranks wait for each other: none can proceed");
	}
	m = find_activities(r);
	/* find_stuck() reports which rank. */
	if (m.stopped)
		return tool_strdup("");
	if (m.unknown)
		return NULL;
	if (!m.n && is_operation_complete(s)) {
		if (s->age_max < STILL_NS || is_explained_by_place(usual, s->age_max))
			return NULL;
		history = format_usual(usual);
		text = tool_format("all its ranks are in it, and %s", history);
		free(history);
		return text;
	}
	if (!m.still)
		return is_file_operation(s->sample) || s->age_max < STILL_NS
			       ? NULL
			       : tool_strdup("each rank is blocked in a call, or gone: none can "
					     "proceed");
	need = is_explained_by_place(usual, s->age_max) ? STILL_ALONE_NS : STILL_NS;
	if (m.still_ns < need || s->age_max < STILL_NS)
		return NULL;
	history = format_usual(usual);
	if (m.sample.state == ACTIVITY_WAITING)
		text = tool_format("%s has been in %s for %s, and %s", report_rank(r, m.one),
			m.sample.function, out_format_duration((double)m.still_ns), history);
	else
		text = tool_format(
			"%s has made no progress for %s (no processor time, no I/O, nor a process "
			"that it started), and %s",
			report_rank(r, m.one), out_format_duration((double)m.still_ns), history);
	free(history);
	return text;
}

/*
 * Returns true if a rank in no call was making progress when the job ended: the others waited for
 * its work, which is no hang.
 */
static bool was_any_busy_at_end(const struct report *r)
{
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if (!r->stuck.blocked_in[i] && !has_finalized(d) && d->state != RANK_FINISHED &&
			(d->meta.thinned || (d->progress.known && !d->progress.still_ns)))
			return true;
	}
	return false;
}

static const struct stuck *look_for_stuck(struct report *r)
{
	const struct stuck *s = stuck_cause(&r->stuck, &r->g);
	const struct site_wait *usual;

	/* find_errors() names the late rank. */
	if (!s || is_given_up(&r->g.diagnose.given_up, &s->sample->call))
		return NULL;
	if (is_job_over(r)) {
		r->hangs = s->age_max >= STILL_NS && !was_any_busy_at_end(r);
		r->circle_closed = is_circle_closed(r);
		return s;
	}
	r->hang_reason = find_hang_reason(r, s);
	r->hangs = r->hang_reason != NULL;
	if (r->hangs || s->age_max >= STALL_ALWAYS_NS)
		return s;
	/* Some rank of a running job is always in a call. Only a call that lasts is reported. */
	usual = find_usual(r, s);
	return s->age_max >= STALL_NS && (!usual || s->age_max > usual->longest_ns) ? s : NULL;
}

const struct stuck *report_stuck(struct report *r, bool *hang)
{
	if (!r->stuck_known)
		r->stands = look_for_stuck(r);
	r->stuck_known = true;
	*hang = r->hangs;
	return r->stands;
}

bool is_job_held_by_stopped_rank(const struct report *r)
{
	unsigned stopped = 0, quiet = 0;

	if (is_job_over(r))
		return false;
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];
		const struct rank_info *k = &r->g.rank[i];

		if (is_rank_stopped(r, i)) {
			stopped++;
			continue;
		}
		if (d->state != RANK_RUNNING && d->state != RANK_UNSEEN)
			continue;
		/* Before its first call a rank is starting, not quiet. */
		if (!k->last.rows ||
			r->g.opens.now < k->last_ns + STALL_ALWAYS_NS + 2 * k->longest_pause)
			return false;
		quiet++;
	}
	return stopped && quiet;
}
