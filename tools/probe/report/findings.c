/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about blocked operations and errors, and the order of all findings. Missing data:
 * find_losses.c.
 */
#include "tools/probe/rules/end/hang.h"
#include "tools/probe/rules/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/rank_activity.h"
#include "tools/probe/report/consequences.h"
#include "tools/probe/rules/training/training.h"
#include "tools/probe/rules/waits.h"

#define PENDING_MAX 3 /* requests that are named */
#define GROUPS_FROM 4 /* with more ranks than this, the sizes of the groups are printed too */

/* ---- stuck ---- */

/* Formats where a group of missing ranks is instead of in the operation. */
static char *format_absent_ranks(struct report *r, const struct absent *a)
{
	char *ranks = out_format_ranks(a->rank, a->n), *call = NULL, *all = NULL, *place = NULL;

	switch (a->why) {
	case ABSENT_NEVER:
	case ABSENT_ENDED:
		if (!a->last) {
			all = tool_format(
				"%s never entered it and recorded no earlier call", ranks);
			break;
		}
		call = report_call(r, a->last);
		place = called_from_text(r, a->last);
		all = tool_format("%s %s: the last call was %s in step %llu, %s earlier%s%s", ranks,
			a->why == ABSENT_ENDED ? "ended without entering it" : "never entered it",
			call, (unsigned long long)a->last->step,
			out_format_duration((double)a->since), place,
			is_only_enqueued(a->last) ? "; it is enqueued, completion unknown" : "");
		break;
	case ABSENT_OTHER:
		call = report_call(r, &a->in->call);
		all = tool_format("%s %s in %s for %s", ranks,
			a->n == 1 ? "is blocked" : "are blocked", call,
			out_format_duration((double)a->in->age));
		break;
	case ABSENT_PAST:
		all = tool_format("%s %s %s", ranks, a->n == 1 ? "has" : "have",
			a->enqueued ? "enqueued it and continued, completion unknown"
				    : "returned from it already");
		break;
	case ABSENT_NO_DATA:
		all = tool_format("no folder of %s exists", ranks);
		break;
	case ABSENT_THINNED:
		all = tool_format("%s %s calls to stay within max_overhead, so %s may be in it",
			ranks, a->n == 1 ? "skips" : "skip", a->n == 1 ? "it" : "they");
		break;
	case ABSENT_UNREAD:
		all = tool_format("%s %s not read", ranks, a->n == 1 ? "was" : "were");
		break;
	}
	free(ranks);
	free(call);
	free(place);
	return all;
}

/* Adds a line for each request for which a rank waits, at most PENDING_MAX. */
static void add_pending_requests(struct report *r, uint32_t rank, char **text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct open_call *c = &r->g.opens.call[i];
		char *call_name;

		if (c->call.rank != rank || !(c->call.bits & CALL_ASYNC) || n++ >= PENDING_MAX)
			continue;
		call_name = report_call(r, &c->call);
		tool_add_text(text, "\n%s has not completed: %s, started %s earlier",
			report_rank(r, rank), call_name, out_format_duration((double)c->age));
		free(call_name);
	}
	if (n > PENDING_MAX)
		tool_add_text(text, "\nand %u more", n - PENDING_MAX);
}

/* Returns true if the rank is in no recorded call and does not wait for a request that it started. */
static bool is_rank_idle(const struct report *r, uint32_t i)
{
	return !r->stuck.blocked_in[i] && !has_finalized(&r->g.folders.dir[i]) &&
	       !r->stuck.blocked[i] && !r->g.folders.dir[i].meta.thinned;
}

static bool is_of_same_operation(const struct call *a, const struct call *b)
{
	return a->api == b->api && a->comm == b->comm && a->comm_seq == b->comm_seq;
}

/* Adds a line for each incomplete operation that the last call of some ranks started. */
static void add_blocked_ranks(struct report *r, char **text)
{
	bool *named = tool_alloc(r->g.folders.n * sizeof(*named));
	int *rank = tool_alloc(r->g.folders.n * sizeof(*rank));
	unsigned lines = 0;

	for (uint32_t i = 0; i < r->g.folders.n && lines < PENDING_MAX; i++) {
		const struct open_call *c = r->stuck.blocked[i];
		char *ranks, *call_name, *place;
		unsigned n = 0;

		if (named[i] || !c)
			continue;
		for (uint32_t k = i; k < r->g.folders.n; k++) {
			if (r->stuck.blocked[k] &&
				is_of_same_operation(&c->call, &r->stuck.blocked[k]->call)) {
				named[k] = true;
				rank[n++] = r->g.folders.dir[k].rank;
			}
		}
		ranks = out_format_ranks(rank, n);
		call_name = report_call(r, &c->call);
		place = called_from_text(r, &c->call);
		tool_add_text(text, "\n%s %s blocked in %s%s, started %s earlier%s", ranks,
			n == 1 ? "is" : "are",
			strcmp(intern_get_name(c->call.lib), "c10d") == 0 ? "Work.wait of "
									  : "a wait for ",
			call_name, out_format_duration((double)c->age), place);
		free(ranks);
		free(call_name);
		free(place);
		lines++;
	}
	free(named);
	free(rank);
}

/* Adds a line with the ranks that are in no call while others wait: one of them is the suspect. */
static void add_idle_ranks(struct report *r, char **text)
{
	struct absent idle = {.why = ABSENT_NEVER};
	char *ranks, *call_name, *place;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		if (!is_rank_idle(r, i))
			continue;
		if (!idle.last && r->g.rank[i].last.rows)
			idle.last = &r->g.rank[i].last;
		TOOL_GROW(idle.rank, idle.n, idle.cap);
		idle.rank[idle.n++] = r->g.folders.dir[i].rank;
	}
	if (idle.n) {
		ranks = out_format_ranks(idle.rank, idle.n);
		call_name = idle.last ? report_call(r, idle.last) : tool_strdup("none");
		place = idle.last ? called_from_text(r, idle.last) : tool_strdup("");
		tool_add_text(text, "\n%s %s in no recorded call; the last call%s was %s%s", ranks,
			idle.n == 1 ? "is" : "are", idle.n > 1 ? " of the first rank" : "",
			call_name, place);
		free(ranks);
		free(call_name);
		free(place);
	}
	free(idle.rank);
}

static void add_stopped_ranks(struct report *r, char **text)
{
	int *rank = NULL;
	unsigned n = 0, cap = 0;
	struct activity m;
	uint64_t silence = 0;
	char *ranks;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (!is_rank_stopped(r, i))
			continue;
		m = find_rank_activity(r, i);
		if (m.state == ACTIVITY_SILENT && m.since_ns > silence)
			silence = m.since_ns;
		TOOL_GROW(rank, n, cap);
		rank[n++] = r->g.folders.dir[i].rank;
	}
	if (n) {
		ranks = out_format_ranks(rank, n);
		if (silence)
			tool_add_text(text,
				"\n%s %s stopped, frozen or out of reach: no sign of life for %s",
				ranks, n == 1 ? "is" : "are", out_format_duration((double)silence));
		else
			tool_add_text(text, "\n%s %s stopped: by SIGSTOP, a terminal or a debugger",
				ranks, n == 1 ? "is" : "are");
		free(ranks);
	}
	free(rank);
}

/*
 * Adds a line if several ranks were ended while they computed. One of these may have ended first, and
 * a launcher then ended all others.
 */
static void add_ended_ranks(const struct report *r, char **text)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++)
		n += is_rank_idle(r, i);
	if (n > 1)
		tool_add_text(text,
			"\n%u ranks were in no recorded call at that time: "
			"their last calls do "
			"not show which of them ended first",
			n);
}

static bool is_wildcard_receive_call(const struct open_call *c)
{
	return c->call.peer == NO_NUMBER &&
	       (is_probe_wait(c) || strcmp(intern_get_name(c->call.op), "recv") == 0);
}

/*
 * If only one rank is in no call, it is the only one that can still send to the wildcard receives of the
 * others. Names it as the culprit.
 */
static void set_only_idle_rank(struct report *r, struct finding *f)
{
	uint32_t one = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (!is_rank_idle(r, i))
			continue;
		one = i;
		n++;
	}
	if (n == 1 && r->g.folders.n > 1)
		name_culprit(r, f, one);
}

/*
 * Names a rank as the culprit if it waits in a wildcard receive to which no rank can send any more, while
 * the others wait for a message from it.
 */
static void set_missing_sender(struct report *r, struct finding *f)
{
	int one = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct open_call *o = r->stuck.blocked_in[i];
		int peer;

		if (has_finalized(&r->g.folders.dir[i]))
			continue;
		if (!o)
			return;
		peer = o->call.bits & CALL_P2P ? index_of_peer(r, &o->call) : -1;
		if (peer < 0 && is_wildcard_receive_call(o) && (one < 0 || one == (int)i)) {
			one = (int)i;
			continue;
		}
		if (peer < 0 || strcmp(intern_get_name(o->call.op), "recv") != 0 ||
			(one >= 0 && peer != one))
			return;
		one = peer;
	}
	if (one < 0 || !r->stuck.blocked_in[one] ||
		!is_wildcard_receive_call(r->stuck.blocked_in[one]))
		return;
	for (unsigned i = f->nother; i-- > 0;)
		if (f->other[i] == r->g.folders.dir[one].rank)
			memmove(f->other + i, f->other + i + 1,
				(--f->nother - i) * sizeof(*f->other));
	name_culprit(r, f, (uint32_t)one);
}

/* Names the missing ranks as culprits and the blocked ranks as concerned. */
static void add_stuck_ranks(struct report *r, struct finding *f, const struct stuck *s)
{
	unsigned stopped;
	struct waiting_ranks hold;

	/* A stopped rank is the culprit for all blocked ranks, whatever calls they are in. */
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (is_rank_stopped(r, i))
			name_culprit(r, f, i);
	stopped = f->nrank;
	for (unsigned i = 0; i < s->nabsent; i++) {
		const struct absent *a = &s->absent[i];
		bool missing = a->why == ABSENT_NEVER || a->why == ABSENT_ENDED;

		for (unsigned k = 0; k < a->n; k++) {
			int index = gather_index(&r->g, a->rank[k]);

			if (index >= 0 && missing && !stopped)
				name_culprit(r, f, (uint32_t)index);
			else if (index >= 0)
				name_concerned(r, f, (uint32_t)index);
		}
	}
	for (unsigned i = 0; i < s->n; i++) {
		int index = gather_index(&r->g, s->rank[i]);

		if (index >= 0)
			name_concerned(r, f, (uint32_t)index);
	}
	/* The peer of a message is not a missing member. */
	if (!f->nrank && find_holding_ranks(r, &hold))
		for (unsigned i = 0; i < hold.n; i++)
			name_culprit(r, f, hold.rank[i]);
	if (!f->nrank)
		set_only_idle_rank(r, f);
	name_call(f, &s->sample->call);
	if (!f->nrank)
		set_missing_sender(r, f);
	f->next = tool_format("probe report --stacks %s", r->g.folders.path);
}

/* Returns true if ranks exited while others were blocked in an operation that needs them. */
static bool has_left(const struct stuck *s)
{
	bool left = false;

	/*
	 * These ranks gave up before the other ranks ended. find_left() reports ranks that ended
	 * earlier than that.
	 */
	if (s->sample->call.bits & CALL_ERROR)
		return false;
	for (unsigned i = 0; i < s->nabsent; i++)
		left |= s->absent[i].why == ABSENT_ENDED;
	return left;
}

/* Returns true if a finding already describes a circle of waiting ranks and their calls. */
static bool has_reported_circle(const struct report *r)
{
	for (unsigned i = 0; i < r->nfinding; i++)
		if (r->finding[i].whole)
			return true;
	return false;
}

/* Returns true if there are culprits and all of them exited by themselves. */
static bool has_only_exited_culprits(const struct report *r, const struct finding *f)
{
	for (unsigned i = 0; i < f->nrank; i++) {
		int index = gather_index(&r->g, f->rank[i]);

		if (index < 0 || strcmp(r->g.folders.dir[index].meta.end.how, "exit") != 0)
			return false;
	}
	return f->nrank > 0;
}

/* Sets the finding's step to that of the culprit, if it is still in an earlier step than the others. */
static void set_culprit_step(const struct report *r, struct finding *f)
{
	int index = f->nrank == 1 ? gather_index(&r->g, f->rank[0]) : -1;
	const struct meta *m = index < 0 ? NULL : &r->g.folders.dir[index].meta;
	uint64_t step;

	if (!m || r->stuck.blocked_in[index] || r->g.by_rounds || !*m->step_source ||
		strcmp(m->step_source, "none") == 0)
		return;
	step = m->step_now;
	if (step < r->g.rank[index].last_step || step >= f->call.step)
		return;
	f->call.step = step;
	tool_add_text(
		&f->text, "\nrank %d is still in step %llu", f->rank[0], (unsigned long long)step);
}

/* Adds "511 of 512 ranks are in it, 1 of 512 is elsewhere", for jobs with long lists of ranks. */
static void add_group_sizes(const struct report *r, const struct stuck *s, char **text)
{
	unsigned elsewhere = 0;

	for (unsigned i = 0; i < s->nabsent; i++)
		elsewhere += s->absent[i].n;
	if (s->joined && elsewhere && s->n + elsewhere > GROUPS_FROM &&
		r->g.folders.n > GROUPS_FROM)
		tool_add_text(text, "\n%u of %u ranks are in it, %u of %u %s elsewhere", s->n,
			s->n + elsewhere, elsewhere, s->n + elsewhere,
			elsewhere == 1 ? "is" : "are");
}

/* Adds the reason why this is a hang, or, while the job runs, why it is not certain yet. */
static void add_hang_reason(struct report *r, bool judged, char **text)
{
	char *unknown;

	if (r->hang_reason && *r->hang_reason)
		tool_add_text(text, "\n%s", r->hang_reason);
	if (judged)
		return;
	unknown = format_unknown_activities(r);
	if (*unknown)
		tool_add_text(text, "\n%s", unknown + 1);
	free(unknown);
}

/*
 * Ranks that wait for the ranks of a reported circle are a consequence of the circle. Adds a line about
 * them to its finding. Returns false if no circle was reported.
 */
static bool add_to_circle(struct report *r, const struct stuck *s)
{
	struct finding *f = NULL;
	char *ranks, *call_name;

	for (unsigned i = 0; r->circle_closed && i < r->nfinding && !f; i++)
		if (strcmp(r->finding[i].kind, "deadlock") == 0)
			f = &r->finding[i];
	if (!f)
		return false;
	ranks = out_format_ranks(s->rank, s->n);
	call_name = report_kind(r, s);
	tool_add_text(&f->text, "\n%s %s in %s for %s", ranks, s->n == 1 ? "waits" : "wait",
		call_name, out_format_duration((double)s->took_max));
	free(ranks);
	free(call_name);
	return true;
}

/* No rank is blocked in a call, but none makes any more, and some are stopped. */
static void add_stopped_ranks_hang(struct report *r)
{
	struct finding *f;
	char *text = tool_strdup("no rank makes calls any more");

	add_stopped_ranks(r, &text);
	f = add_finding(r, FINDING_HANG, text);
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (!is_rank_stopped(r, i)) {
			name_concerned(r, f, i);
			continue;
		}
		name_culprit(r, f, i);
		if (f->nrank > 1 || !r->g.rank[i].last.rows)
			continue;
		name_call(f, &r->g.rank[i].last);
		/* Steps may have ended after its last call. */
		if (!r->g.by_rounds && r->g.folders.dir[i].meta.step_now > f->call.step)
			f->call.step = r->g.folders.dir[i].meta.step_now;
	}
	f->next = tool_format("probe report --stacks %s", r->g.folders.path);
}

void find_stuck(struct report *r)
{
	struct finding *f;
	bool hang, over = is_job_over(r);
	const struct stuck *s = report_stuck(r, &hang);
	char *call_name, *ranks, *text, *place;

	if (!s && !r->left && is_job_held_by_stopped_rank(r))
		add_stopped_ranks_hang(r);
	if (!s || r->left || r->ended_together || has_reported_circle(r) || add_to_circle(r, s))
		return;
	call_name = report_kind(r, s);
	ranks = out_format_ranks(s->rank, s->n);
	place = called_from_text(r, &s->sample->call);
	text = tool_format("%s %s %s, step %llu, for %s%s%s", ranks,
		s->async    ? "did not complete"
		: s->n == 1 ? "is blocked in"
			    : "are blocked in",
		call_name, (unsigned long long)s->sample->call.step,
		out_format_duration((double)s->took_max),
		s->sample->call.bits & CALL_ERROR ? ", and gave up"
		: over				  ? " when the job ended"
						  : "",
		place);
	add_group_sizes(r, s, &text);
	for (unsigned i = 0; i < s->nabsent; i++) {
		char *absent = format_absent_ranks(r, &s->absent[i]);

		tool_add_text(&text, "\n%s", absent);
		free(absent);
	}
	if (s->sample->waiting && !s->sample->call.comm)
		add_pending_requests(r, s->sample->call.rank, &text);
	if (!s->knows) {
		add_blocked_ranks(r, &text);
		add_idle_ranks(r, &text);
	}
	add_stopped_ranks(r, &text);
	if (over && !hang)
		add_ended_ranks(r, &text);
	add_hang_reason(r, over || hang, &text);
	f = add_finding(r,
		has_left(s) ? FINDING_DIED
		: hang	    ? FINDING_HANG
		: over	    ? FINDING_STOPPED
			    : FINDING_STALL,
		text);
	add_stuck_ranks(r, f, s);
	set_culprit_step(r, f);
	if (over && !(s->sample->call.bits & CALL_ERROR) && has_only_exited_culprits(r, f))
		set_finding_kind(f, FINDING_DIED);
	free(call_name);
	free(ranks);
	free(place);
}

/*
 * Reports a rank that entered an operation after the others had given up: it is the culprit, not the rank
 * with the first error.
 */
static void find_late_rank(struct report *r)
{
	const struct given_up *g = &r->g.diagnose.given_up;
	char *call_name = report_call(r, &g->late), *place = called_from_text(r, &g->late);
	char *others = g->waiters == 1 ? tool_strdup(report_rank(r, g->waiter.rank))
				       : tool_format("%u ranks", g->waiters);
	struct finding *f = add_finding(r, FINDING_ERROR,
		tool_format(
			"step %llu: %s entered %s %s after %s had given up, after waiting for it "
			"for %s%s",
			(unsigned long long)g->late.step, report_rank(r, g->late.rank), call_name,
			out_format_duration((double)g->after_ns), others,
			out_format_duration((double)g->waited_ns), place));

	name_culprit(r, f, g->late.rank);
	for (uint32_t i = 0; i < r->g.folders.n && r->g.folders.n <= 1024; i++)
		if (i != g->late.rank)
			name_concerned(r, f, i);
	name_call(f, &g->late);
	f->event = g->event;
	f->evidence = tool_strdup(
		"start_ns, dur_ns and the flag `error:<code>` of the rows with this comm "
		"and comm_seq on each of its ranks");
	free(call_name);
	free(place);
	free(others);
}

static void find_errors(struct report *r)
{
	const struct call *c = &r->g.first_error;
	struct finding *f;
	char *call_name, *place;

	if (!r->g.errors || r->left)
		return;
	if (r->g.diagnose.given_up.any) {
		find_late_rank(r);
		return;
	}
	call_name = report_call(r, c);
	place = called_from_text(r, c);
	f = add_finding(r, FINDING_ERROR,
		tool_format("%s returned an error; first: %s on %s, step %llu, code %lld%s",
			out_format_plural(r->g.errors, "call", "calls"), call_name,
			report_rank(r, c->rank), (unsigned long long)c->step, (long long)c->error,
			place));
	name_culprit(r, f, c->rank);
	name_call(f, c);
	free(call_name);
	free(place);
}

static bool is_finding_before(const struct finding *a, const struct finding *b)
{
	if (a->severity != b->severity)
		return a->severity < b->severity;
	return a->severity == FIND_BAD && a->event && b->event && a->event < b->event;
}

void report_findings(struct report *r)
{
	find_left(r);
	find_trouble(r);
	find_stuck(r);
	find_values(r);
	find_odd_values(r);
	find_diverged_parameters(r);
	find_unequal_numbers(r);
	find_odd_losses(r);
	find_odd_reductions(r);
	find_fatal_errors(r);
	find_errors(r);
	find_losses(r);
	find_pace(r);
	find_timing(r);
	find_ended_together(r);
	for (unsigned i = 0; i < r->nfinding; i++)
		complete_finding(r, &r->finding[i]);
	join_consequences(r);

	/* Sorts by time. Findings with equal times keep their order. */
	for (unsigned i = 1; i < r->nfinding; i++)
		for (unsigned k = i; k && is_finding_before(&r->finding[k], &r->finding[k - 1]);
			k--) {
			struct finding t = r->finding[k];

			r->finding[k] = r->finding[k - 1];
			r->finding[k - 1] = t;
		}
}
