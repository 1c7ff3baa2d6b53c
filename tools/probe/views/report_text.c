/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `probe report` for people: the verdict, findings, the head, open calls, bad values.
 * report_tables.c prints the tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/probe/rules/measured.h"
#include "tools/probe/rules/report.h"
#include "tools/lib/tool.h"

#define LABEL 9 /* width of the words on the left */

static void print_label(const char *word)
{
	printf("%s%-*s%s", out_get_style(STYLE_FAINT), LABEL, word, out_get_plain());
}

/* Formats "4 finished" or "3 running, 1 killed". */
static char *format_rank_states(const struct gather *g)
{
	unsigned n[RANK_STATES] = {0};
	char *all = tool_strdup("");

	for (unsigned i = 0; i < g->folders.n; i++)
		n[g->folders.dir[i].state]++;
	for (int s = 0; s < RANK_STATES; s++) {
		if (!n[s])
			continue;
		if (n[s] == g->folders.n)
			tool_add_text(&all, "%s%s", n[s] > 1 ? "all " : "",
				rank_state_get_name((enum rank_state)s));
		else
			tool_add_item(
				&all, ", ", "%u %s", n[s], rank_state_get_name((enum rank_state)s));
	}
	return all;
}

static void print_rank_states(const struct report *r)
{
	const struct gather *g = &r->g;
	char *state = format_rank_states(g), *list = NULL;

	print_label("ranks");
	if (g->folders.n == 1) {
		printf("%s", g->folders.dir[0].label);
	} else {
		int *rank = tool_alloc(g->folders.n * sizeof(*rank));

		for (unsigned i = 0; i < g->folders.n; i++)
			rank[i] = g->folders.dir[i].rank;
		list = out_format_rank_range(rank, g->folders.n);
		printf("%s (%s)", out_format_count(g->folders.n),
			rank[0] < 0 ? "not numbered" : list);
		free(rank);
	}
	if (g->folders.world_size >= 0)
		printf(" of %s", out_format_count((uint64_t)g->folders.world_size));
	printf(", %s", state);
	if (g->hosts.nhost > 1)
		printf(", on %u hosts", g->hosts.nhost);
	putchar('\n');
	free(list);
	free(state);
}

/* Prints one line per attempt if there are several. */
static void print_attempts(const struct report *r)
{
	char *text, *line;

	for (unsigned i = 0; r->attempts.n > 1 && i < r->attempts.n; i++) {
		const struct attempt *a = &r->attempts.at[i];

		text = format_attempt(a);
		line = tool_format("%s%s%s", *a->name ? a->name : "", *a->name ? ": " : "", text);
		print_label(i ? "" : "attempts");
		out_print_wrapped(line, LABEL, LABEL);
		free(line);
		free(text);
	}
}

static void print_step_range(const struct report *r)
{
	const struct gather *g = &r->g;
	const char *source = g->folders.dir[0].meta.step_source;
	struct period_found period;
	uint64_t now = 0, least = UINT64_MAX;
	bool runs = false;

	for (unsigned i = 0; i < g->folders.n; i++) {
		const struct meta *m = &g->folders.dir[i].meta;

		runs |= g->folders.dir[i].state == RANK_RUNNING;
		if (m->step_now > now)
			now = m->step_now;
		if (g->rank[i].last_step < least)
			least = g->rank[i].last_step;
	}
	print_label("steps");
	if (!g->calls)
		printf("none");
	else if (g->first_step == g->last_step)
		printf("%llu", (unsigned long long)g->last_step);
	else
		printf("%llu to %llu", (unsigned long long)g->first_step,
			(unsigned long long)g->last_step);
	if (g->calls && least < g->last_step)
		printf(", the slowest rank at %llu", (unsigned long long)least);
	if (now > g->last_step)
		printf(runs ? ", now in %llu" : "; the last step was %llu",
			(unsigned long long)now);
	if (*source && strcmp(source, "none"))
		printf(" (from %s)", source);
	else if (report_period(r, &period)) {
		printf(" (none was marked; %s by the period of the calls)",
			out_format_count(period.best.rounds));
		free(period.alike);
	} else if (g->by_rounds) {
		printf(" (the program marks none; each repetition of its calls counts as one)");
	}
	putchar('\n');
}

static void print_call_counts(const struct report *r)
{
	const struct gather *g = &r->g;
	uint64_t seen = 0, recorded = 0;

	for (unsigned i = 0; i < g->folders.n; i++) {
		seen += g->folders.dir[i].meta.seen;
		recorded += g->folders.dir[i].meta.recorded;
	}
	print_label("calls");
	printf("%s, %s, %s of tensors", out_format_count(g->calls),
		out_format_plural(g->rows, "row", "rows"), out_format_bytes((double)g->bytes));
	if (seen > recorded)
		printf("; %s of the %s made since recording began were not recorded",
			out_format_count(seen - recorded), out_format_count(seen));
	putchar('\n');
}

/*
 * Formats a share of the ranks' run time. For short runs it formats seconds, because the start
 * takes most of their time.
 */
static const char *format_time_share(const struct gather *g, double ns)
{
	const unsigned n = g->folders.n;
	static char text[2][64];
	static unsigned at;

	if (g->life_ns >= 1e9 * n)
		return out_format_percent(ns / g->life_ns);
	snprintf(text[at ^= 1], sizeof(text[0]), "%s%s", out_format_duration(ns / n),
		n > 1 ? " a rank" : "");
	return text[at];
}

static void print_time_shares(const struct report *r)
{
	const struct gather *g = &r->g;
	const bool share = g->life_ns >= 1e9 * g->folders.n;
	const struct op_stat *rest = &g->ops.rest;
	double calls = 0, writer = 0, blocked = rest->blocked_ns, apart = rest->async_ns;
	uint64_t unknown = rest->async - rest->waited, async = rest->async;
	bool known = rest->calls && ops_blocked_known(rest);

	for (unsigned i = 0; i < g->folders.n; i++) {
		calls += g->folders.dir[i].meta.own_calls_s;
		writer += g->folders.dir[i].meta.own_writer_s;
	}
	for (uint32_t i = 0; i < g->ops.table.n; i++) {
		const struct op_stat *s = table_at(&g->ops.table, i);

		blocked += s->blocked_ns;
		apart += s->async_ns;
		async += s->async;
		unknown += s->async - s->waited;
		known |= ops_blocked_known(s);
	}
	for (unsigned i = 0; i < g->folders.n; i++) {
		blocked += r->stuck.blocked_in[i] ? (double)r->stuck.blocked_in[i]->age : 0;
		known |= r->stuck.blocked_in[i] != NULL;
	}
	if (g->life_ns <= 0)
		return;
	print_label("time");
	if (known || !async)
		printf("%s of the run in these calls", out_format_percent(blocked / g->life_ns));
	if (async) {
		printf("%s%s%s in asynchronous calls (overlaps added up", known ? ", " : "",
			out_format_duration(apart / g->folders.n),
			g->folders.n > 1 ? " a rank" : "");
		if (unknown)
			printf("; the wait for %s%s is not known",
				unknown == async ? "" : out_format_count(unknown),
				unknown == async ? "them" : " of them");
		putchar(')');
	}
	printf("; libprobe itself: %s%s in the job's threads, %s%s in its own\n",
		format_time_share(g, calls * 1e9), share ? " of the run" : "",
		format_time_share(g, writer * 1e9), share ? " of a core" : "");
}

static void print_journal_size(const struct report *r)
{
	const struct folders *f = &r->g.folders;
	uint64_t bytes = folders_get_journal_bytes(f);

	if (!bytes)
		return;
	print_label("journals");
	printf("take %s, which `probe recover %s` frees when it has written what is in them\n",
		out_format_bytes((double)bytes), f->folder);
}

static void print_report_head(const struct report *r)
{
	const struct gather *g = &r->g;
	const struct meta *m = &g->folders.dir[0].meta;

	print_label("run");
	if (*g->folders.run) {
		out_print_clean(g->folders.run);
		fputs(", ", stdout);
	}
	if (g->any)
		printf("%s, %s", out_format_date(g->first_ns),
			out_format_duration((double)(g->until_ns - g->first_ns)));
	else
		printf("%s", out_format_date(m->clock_first_ns));
	printf("; %s\n", g->folders.path);
	if (*m->program) {
		print_label("program");
		printf("%.*s%s\n", 240, m->program, strlen(m->program) > 240 ? " ..." : "");
	}
	for (unsigned i = 0; i < m->nlibraries; i++) {
		print_label(m->libraries[i].name);
		fputs(strlen(m->libraries[i].name) >= LABEL ? " " : "", stdout);
		out_print_clean(m->libraries[i].text);
		putchar('\n');
	}
	print_rank_states(r);
	print_attempts(r);
	print_step_range(r);
	print_call_counts(r);
	print_time_shares(r);
	print_journal_size(r);
}

/*
 * Prints how to verify the finding, how often this kind is right (if measured), and the next
 * command to run.
 */
static void print_grounds(const struct finding *f)
{
	char *text, *measured;

	/* Facts that were read from a file need no accuracy: unreadable files, lost records. */
	if (f->severity == FIND_NOTE || f->basis == BASIS_RECORDED)
		return;
	measured = format_measurement(
		find_measurement(measurements, f->kind, severity_word(f->severity)));
	text = tool_format("evidence: %s; %s", f->evidence ? f->evidence : "the text", measured);
	free(measured);
	printf("%*s%s", LABEL + 3, "", out_get_style(STYLE_FAINT));
	out_print_wrapped(text, LABEL + 3, LABEL + 3);
	/* On one line, however long, so that it can be copied. */
	if (f->next)
		printf("%*snext: %s\n", LABEL + 3, "", f->next);
	fputs(out_get_plain(), stdout);
	free(text);
}

/* heading: NULL: none. */
static void print_findings(const struct report *r, enum severity severity, const char *heading)
{
	static const enum style style[] = {STYLE_BAD, STYLE_WARN, STYLE_FAINT};
	bool any = false;

	for (unsigned i = 0; i < r->nfinding; i++) {
		const struct finding *f = &r->finding[i];
		char *text;

		if (f->severity != severity)
			continue;
		if (heading && !any)
			out_print_heading(heading);
		any = true;
		printf("  %s%-9s%s ", out_get_style(style[f->severity]), f->kind, out_get_plain());
		text = format_finding(f);
		out_print_wrapped(
			text, 12 + (strlen(f->kind) > 9 ? (unsigned)strlen(f->kind) - 9 : 0), 12);
		free(text);
		print_grounds(f);
	}
}

static void print_verdict(const struct report *r)
{
	const struct run_verdict *v = &r->verdict;
	char *text = format_verdict(v);

	fputs(out_get_style(v->faults			   ? STYLE_BAD
			    : v->incomplete || v->warnings ? STYLE_HEAD
							   : STYLE_GOOD),
		stdout);
	out_print_wrapped(text, 0, 2);
	fputs(out_get_plain(), stdout);
	free(text);
}

/* Prints which kinds were checked, and which rules of key `alerts` were on. */
static void print_checks(const struct report *r)
{
	char *detail = format_verdict_detail(&r->verdict), *rest;

	if (*detail)
		out_print_heading("What was checked");
	for (char *line = strtok_r(detail, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		fputs("  ", stdout);
		out_print_wrapped(line, 2, 4);
	}
	free(detail);
}

/* ---- open calls ---- */

static const char *const why_text[] = {
	[ABSENT_NEVER] = "never entered it; last call",
	[ABSENT_OTHER] = "in",
	[ABSENT_PAST] = "left it already",
	[ABSENT_ENDED] = "ended without entering it; last call",
	[ABSENT_NO_DATA] = "no folder",
	[ABSENT_UNREAD] = "not read",
	[ABSENT_THINNED] = "not known: it skips calls (max_overhead)",
};

static void print_absent_ranks(struct report *r, const struct absent *a)
{
	char *who = out_format_ranks(a->rank, a->n), *what = NULL;

	printf("      %s%s%s: %s",
		out_get_style(
			a->why == ABSENT_OTHER || a->why == ABSENT_PAST ? STYLE_NONE : STYLE_BAD),
		who, out_get_plain(), why_text[a->why]);
	if (a->why == ABSENT_OTHER) {
		what = report_call(r, &a->in->call);
		printf(" %s for %s", what, out_format_duration((double)a->in->age));
	} else if (a->last) {
		what = report_call(r, a->last);
		printf(" %s, step %llu, %s before", what, (unsigned long long)a->last->step,
			out_format_duration((double)a->since));
	} else if (a->why == ABSENT_NEVER || a->why == ABSENT_ENDED) {
		printf(": none was recorded");
	}
	putchar('\n');
	if (a->why != ABSENT_OTHER && a->last)
		report_stack(r, a->last->rank, a->last->stack, 8);
	free(who);
	free(what);
}

/* Prints the peer that each rank of a group sends to or receives from. */
static void print_messages(const struct report *r, const struct stuck *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct open_call *c = &r->g.opens.call[i];
		char *what;

		if (!stuck_alike(c, s->sample) || n++ >= r->top)
			continue;
		what = report_call(r, &c->call);
		printf("      %s: %s for %s\n", report_rank(r, c->call.rank), what,
			out_format_duration((double)c->age));
		free(what);
	}
	if (n > r->top)
		printf("      and %u more (--top)\n", n - r->top);
}

static void print_stuck_calls(struct report *r, const struct stuck *s)
{
	char *what = report_kind(r, s), *who = out_format_ranks(s->rank, s->n);

	printf("  %s%s%s, step %llu\n", out_get_style(STYLE_HEAD), what, out_get_plain(),
		(unsigned long long)s->sample->call.step);
	printf("      %s: %s %s", who,
		s->sample->call.bits & CALL_ASYNC ? "started and not completed for"
		: s->sample->waiting		  ? "waiting for"
						  : "inside for",
		out_format_duration((double)s->took_max));
	if (s->n > 1 && strcmp(out_format_duration((double)s->took_min),
				out_format_duration((double)s->took_max)))
		printf(" (the latest for %s)", out_format_duration((double)s->took_min));
	if (s->sample->ended_ok)
		printf(" when the process finished");
	putchar('\n');
	report_stack(r, s->sample->call.rank, s->sample->call.stack, 6);
	if (s->n > 1 && s->sample->call.bits & CALL_P2P)
		print_messages(r, s);
	for (unsigned i = 0; i < s->nabsent; i++)
		print_absent_ranks(r, &s->absent[i]);
	free(what);
	free(who);
}

void report_open(struct report *r)
{
	if (!r->stuck.n || !r->top)
		return;
	out_print_heading("Calls that were entered and not left");
	for (unsigned i = 0; i < r->stuck.n && i < r->top; i++)
		print_stuck_calls(r, &r->stuck.stuck[i]);
	if (r->stuck.n > r->top)
		printf("  and %s like these (--top)\n",
			out_format_plural(
				r->stuck.n - r->top, "more operation", "more operations"));
	if (r->stuck.more)
		printf("  %s could not be matched with others\n",
			out_format_plural(r->stuck.more, "open call", "open calls"));
}

/* ---- NaN and Inf ---- */

void print_bad_values(struct report *r)
{
	const struct bad *b = &r->g.bad;
	const struct bad_row *f = bad_find_first(b);
	int *rank;
	unsigned n = 0;
	char *who, *what;

	if (!f)
		return;
	out_print_heading("NaN and Inf");
	what = report_call(r, &f->call);
	printf("  first   step %llu, %s, %s %lld of %s: %s", (unsigned long long)f->call.step,
		report_rank(r, f->call.rank), f->out ? "output" : "input",
		f->index == NO_NUMBER ? 0LL : (long long)f->index, what, f->dtype);
	if (*f->shape)
		printf(" %s", strcmp(f->shape, "-") ? f->shape : "scalar");
	printf(", %s elements, %s NaN, %s Inf", out_format_count(f->count),
		out_format_count(f->nans), out_format_count(f->infs));
	/* Inf also counts as bad: this line shows which of the two it was. */
	if (f->nans < f->count && *f->min && *f->max)
		printf(", %sfrom %s to %s", f->nans ? "others " : "", f->min, f->max);
	putchar('\n');
	if (*f->name) {
		printf("          ");
		out_print_clean(f->name);
		putchar('\n');
	}
	report_stack(r, f->call.rank, f->call.stack, 10);
	rank = tool_alloc(r->g.folders.n * sizeof(*rank));
	for (unsigned i = 0; i < r->g.folders.n; i++)
		if (b->rank[i].rows)
			rank[n++] = r->g.folders.dir[i].rank;
	who = out_format_ranks(rank, n);
	printf("  in all  %s (%s with NaN, %s with Inf) in %s on %s, up to step %llu\n",
		out_format_plural(b->rows, "tensor", "tensors"), out_format_count(b->nan_rows),
		out_format_count(b->inf_rows),
		out_format_plural(b->steps + b->steps_beyond, "step", "steps"), who,
		(unsigned long long)b->last_step);
	free(rank);
	free(who);
	free(what);
}

static void print_left_out(const struct report *r)
{
	const struct folders *f = &r->g.folders;

	if (!f->nout)
		return;
	out_print_heading("Folders that were not read");
	for (unsigned i = 0; i < f->nout && i < r->top; i++)
		printf("  %s: %s\n", f->out[i].name, f->out[i].why);
	if (f->nout > r->top)
		printf("  and %u more (--top)\n", f->nout - r->top);
}

void print_report_text(struct report *r)
{
	print_verdict(r);
	print_findings(r, FIND_BAD, NULL);
	print_findings(r, FIND_WARN, "Warnings");
	print_findings(r, FIND_NOTE, "Notes");
	print_checks(r);
	putchar('\n');
	print_report_head(r);
	report_open(r);
	print_bad_values(r);
	step_numbers_text(&r->numbers, &r->g);
	print_report_tables(r);
	print_left_out(r);
}
