/* SPDX-License-Identifier: Apache-2.0 */
/* What stands out: stuck operations, ranks that differ, bad values, errors. What is missing: find_losses.c. */
#include "tools/probe/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/intern.h"
#include "tools/probe/out.h"
#include "tools/probe/tool.h"

#define PENDING_MAX 3 /* requests that are named */
#define HANG_NS 10e9 /* an open call of a living job is a hang from here on */

void finding_add(struct report *r, enum severity s, const char *kind, char *text)
{
	TOOL_GROW(r->finding, r->nfinding, r->cap_finding);
	r->finding[r->nfinding++] = (struct finding){s, kind, text};
}

const char *report_rank(const struct report *r, uint32_t index)
{
	return r->g.folders.dir[index].label;
}

char *report_call(const struct report *r, const struct call *c)
{
	char label[COMM_LABEL_MAX];
	const char *op = intern_name(c->op), *api = intern_name(c->api);
	char number[32] = "", who[64] = "";

	if (!*op)
		return tool_strdup(api);
	if (c->comm_seq != NO_NUMBER)
		snprintf(number, sizeof(number), " #%lld", (long long)c->comm_seq);
	if (c->peer != NO_NUMBER && strcmp(op, "recv") == 0)
		snprintf(who, sizeof(who), " from %lld", (long long)c->peer);
	else if (c->peer != NO_NUMBER)
		snprintf(who, sizeof(who), " to %lld", (long long)c->peer);
	if (c->tag != NO_NUMBER)
		snprintf(who + strlen(who), sizeof(who) - strlen(who), " tag %lld",
			(long long)c->tag);
	if (!c->comm)
		return tool_format("%s%s (%s)", op, who, api);
	return tool_format(
		"%s%s%s on %s (%s)", op, number, who, comm_label(&r->g.comms, c->comm, label), api);
}

char *report_kind(const struct report *r, const struct stuck *s)
{
	struct call c = s->sample->call;

	if (s->n > 1 && !s->joined)
		c.peer = c.tag = c.comm_seq = NO_NUMBER;
	return report_call(r, &c);
}

/* ---- stuck ---- */

static char *where(struct report *r, const struct call *c)
{
	char *brief = stack_brief(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), 3);
	char *all = *brief ? tool_format(", called from %s", brief) : tool_strdup("");

	free(brief);
	return all;
}

/* What one group of absent ranks does instead. */
static char *absent_text(struct report *r, const struct absent *a)
{
	char *who = out_ranks(a->rank, a->n), *what = NULL, *all = NULL, *at = NULL;

	switch (a->why) {
	case ABSENT_NEVER:
	case ABSENT_ENDED:
		if (!a->last) {
			all = tool_format("%s never entered it and recorded no call before", who);
			break;
		}
		what = report_call(r, a->last);
		at = where(r, a->last);
		all = tool_format("%s %s: the last call was %s in step %llu, %s before%s", who,
			a->why == ABSENT_ENDED ? "ended without entering it" : "never entered it",
			what, (unsigned long long)a->last->step, out_time((double)a->since), at);
		break;
	case ABSENT_OTHER:
		what = report_call(r, &a->in->call);
		all = tool_format("%s %s in %s for %s", who, a->n == 1 ? "stands" : "stand", what,
			out_time((double)a->in->age));
		break;
	case ABSENT_PAST:
		all = tool_format("%s %s left it already", who, a->n == 1 ? "has" : "have");
		break;
	case ABSENT_NO_DATA:
		all = tool_format("of %s there is no folder", who);
		break;
	}
	free(who);
	free(what);
	free(at);
	return all;
}

/* Nobody lives any more. */
static bool is_over(const struct report *r)
{
	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if ((d->state == RANK_RUNNING || d->state == RANK_UNSEEN) && !gather_gone(&r->g, d))
			return false;
	}
	return true;
}

static void append(char **text, char *line)
{
	char *was = *text;

	*text = tool_format("%s\n%s", was, line);
	free(was);
	free(line);
}

/* What the requests are that a rank waits for; there may be many. */
static void pending_of(struct report *r, uint32_t rank, char **text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct open_call *c = &r->g.opens.call[i];
		char *what;

		if (c->call.rank != rank || !(c->call.bits & CALL_ASYNC) || n++ >= PENDING_MAX)
			continue;
		what = report_call(r, &c->call);
		append(text, tool_format("%s has not completed: %s, started %s before",
				     report_rank(r, rank), what, out_time((double)c->age)));
		free(what);
	}
	if (n > PENDING_MAX)
		append(text, tool_format("and %u more", n - PENDING_MAX));
}

/* Ranks that stand in no call at all while others wait: one of them is to be looked at. */
static void idle_ranks(struct report *r, char **text)
{
	struct absent idle = {.why = ABSENT_NEVER};
	char *who, *what, *at;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		if (r->stuck.standing[i])
			continue;
		if (!idle.last && r->g.rank[i].last.rows)
			idle.last = &r->g.rank[i].last;
		TOOL_GROW(idle.rank, idle.n, idle.cap);
		idle.rank[idle.n++] = r->g.folders.dir[i].rank;
	}
	if (idle.n) {
		who = out_ranks(idle.rank, idle.n);
		what = idle.last ? report_call(r, idle.last) : tool_strdup("none");
		at = idle.last ? where(r, idle.last) : tool_strdup("");
		append(text, tool_format("%s %s in no recorded call; the last one%s was %s%s", who,
				     idle.n == 1 ? "stands" : "stand",
				     idle.n > 1 ? " of the first of them" : "", what, at));
		free(who);
		free(what);
		free(at);
	}
	free(idle.rank);
}

void find_stuck(struct report *r)
{
	const struct stuck *s = stuck_cause(&r->stuck, &r->g);
	bool hang = s && (double)s->age_max >= HANG_NS, over = is_over(r);
	char *what, *who, *text, *at;

	/* A living job is always inside some call: that is worth a line only when it lasts. */
	if (!s || (!hang && !over))
		return;
	what = report_kind(r, s);
	who = out_ranks(s->rank, s->n);
	at = where(r, &s->sample->call);
	text = tool_format("%s %s %s, step %llu, for %s%s%s", who,
		s->async    ? "did not complete"
		: s->n == 1 ? "stands in"
			    : "stand in",
		what, (unsigned long long)s->sample->call.step, out_time((double)s->age_max),
		over ? " when the job ended" : "", at);
	for (unsigned i = 0; i < s->nabsent; i++)
		append(&text, absent_text(r, &s->absent[i]));
	if (s->sample->waiting)
		pending_of(r, s->sample->call.rank, &text);
	if (!s->nabsent)
		idle_ranks(r, &text);
	finding_add(r, hang ? FIND_BAD : FIND_WARN, hang ? "hang" : "stopped", text);
	free(what);
	free(who);
	free(at);
}

/* ---- ranks that do different things ---- */

static char *terms_text(const struct report *r, const struct terms *t, enum meet_unlike what)
{
	const char *label = report_rank(r, t->rank), *api = intern_name(t->api);

	switch (what) {
	case UNLIKE_REDOP:
		return tool_format("%s reduces by %s", label, intern_name(t->redop));
	case UNLIKE_ROOT:
		return tool_format("%s has root %lld", label, (long long)t->root);
	case UNLIKE_DTYPE:
		return tool_format("%s has %s", label, intern_name(t->dtype));
	case UNLIKE_BYTES:
		return tool_format("%s has %s B", label, out_count(t->bytes));
	default:
		return tool_format("%s called %s", label, api);
	}
}

void find_unlike(struct report *r)
{
	const struct unlike *u = &r->g.unlike;
	char label[COMM_LABEL_MAX], *a, *b;
	uint64_t n = 0;

	if (!u->any)
		return;
	for (uint32_t i = 0; i < r->g.late.comms.n; i++)
		n += ((const struct late_comm *)table_at(&r->g.late.comms, i))->unlike;
	a = terms_text(r, &u->a, u->what);
	b = terms_text(r, &u->b, u->what);
	finding_add(r, FIND_BAD, "mismatch",
		tool_format("ranks do not agree on the %s of call #%lld on %s, step %llu: %s, %s. "
			    "%s like this; the first "
			    "one matters, numbers behind it may only be shifted",
			meet_unlike_name(u->what), (long long)u->seq,
			comm_label(&r->g.comms, u->comm, label), (unsigned long long)u->step, a, b,
			out_plural(n, "call is", "calls are")));
	free(a);
	free(b);
}

/* ---- bad values ---- */

static char *bad_ranks(const struct report *r, const struct bad_row *b)
{
	int rank[BAD_SAME_MAX];
	unsigned n = b->nsame < BAD_SAME_MAX ? b->nsame : BAD_SAME_MAX;

	for (unsigned i = 0; i < n; i++)
		rank[i] = r->g.folders.dir[b->same[i]].rank;
	return b->nsame > BAD_SAME_MAX ? tool_format("%u ranks", b->nsame) : out_ranks(rank, n);
}

void find_values(struct report *r)
{
	const struct bad_row *b = bad_first(&r->g.bad);
	char *what, *who, *at, *kind;

	if (!b)
		return;
	what = report_call(r, &b->call);
	who = b->nsame ? bad_ranks(r, b) : tool_strdup(report_rank(r, b->call.rank));
	at = where(r, &b->call);
	kind = b->nans && b->infs
		       ? tool_format("%s NaN, %s Inf", out_count(b->nans), out_count(b->infs))
		       : tool_format("%s %s", out_count(b->nans ? b->nans : b->infs),
				 b->nans ? "NaN" : "Inf");
	finding_add(r, FIND_BAD, b->nans ? "nan" : "inf",
		tool_format("first in step %llu, %s: %s of %s %s elements in the %s of %s: %s%s",
			(unsigned long long)b->call.step, who, kind, out_count(b->count), b->dtype,
			b->out ? "result" : "input", what,
			b->out ? "all inputs were finite, so the operation made it"
			       : "it came from the computation before this call",
			at));
	free(what);
	free(who);
	free(at);
	free(kind);
}

static void find_errors(struct report *r)
{
	const struct call *c = &r->g.first_error;
	char *what;

	if (!r->g.errors)
		return;
	what = report_call(r, c);
	finding_add(r, FIND_BAD, "error",
		tool_format("%s returned an error; first: %s on %s, step %llu, code %lld",
			out_plural(r->g.errors, "call", "calls"), what, report_rank(r, c->rank),
			(unsigned long long)c->step, (long long)c->error));
	free(what);
}

void report_findings(struct report *r)
{
	find_unlike(r);
	find_stuck(r);
	find_values(r);
	find_errors(r);
	find_losses(r);
	find_timing(r);

	/* What was found first stays first among its equals. */
	for (unsigned i = 1; i < r->nfinding; i++)
		for (unsigned k = i; k && r->finding[k].severity < r->finding[k - 1].severity;
			k--) {
			struct finding t = r->finding[k];

			r->finding[k] = r->finding[k - 1];
			r->finding[k - 1] = t;
		}
}
