/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/focus.h"

#include <string.h>

#include "tools/lib/tool.h"

static void add_focus_rank(struct focus *f, int rank)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->rank[i] == rank)
			return;
	if (rank < 0)
		return;
	TOOL_GROW(f->rank, f->n, f->cap);
	f->rank[f->n++] = rank;
}

static void focus_on_call(const struct report *r, const struct call *c, struct focus *f)
{
	f->known = true;
	f->step = c->step;
	f->comm = c->comm;
	f->at_ns = clock_set_right(&r->g.skew[c->rank], c->start);
	add_focus_rank(f, r->g.folders.dir[c->rank].rank);
}

/* Who is missing comes first. */
static void focus_on_stuck(const struct report *r, const struct stuck *s, struct focus *f)
{
	for (unsigned i = 0; i < s->nabsent; i++)
		for (unsigned k = 0; k < s->absent[i].n; k++)
			add_focus_rank(f, s->absent[i].rank[k]);
	focus_on_call(r, &s->sample->call, f);
	for (unsigned i = 0; i < s->n; i++)
		add_focus_rank(f, s->rank[i]);
}

static void focus_on_straggler(const struct report *r, struct focus *f)
{
	const struct table *t = &r->g.late.comms;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct late_comm *c = table_at(t, i);
		struct straggler s = report_straggler(r, c);

		if (!s.matters || !s.who)
			continue;
		if (c->worst_for && c->worst_for->worst.rows)
			focus_on_call(r, &c->worst_for->worst, f);
		f->known = true;
		f->comm = c->key.a;
		if (!f->at_ns)
			f->step = r->g.last_step;
		add_focus_rank(f, r->g.folders.dir[s.who->key.b].rank);
		return;
	}
}

void report_focus(const struct report *r, const struct finding *finding, struct focus *f)
{
	const struct gather *g = &r->g;
	const struct stuck *s = stuck_cause(&r->stuck, g);
	const struct bad_row *b = bad_first(&g->bad);
	const char *kind = finding->kind;

	*f = (struct focus){0};
	if (strcmp(kind, "mismatch") == 0 && g->unlike.any) {
		f->known = true;
		f->step = g->unlike.step;
		f->comm = g->unlike.comm;
		add_focus_rank(f, g->folders.dir[g->unlike.b.rank].rank);
		add_focus_rank(f, g->folders.dir[g->unlike.a.rank].rank);
	} else if (s && (strcmp(kind, "hang") == 0 || strcmp(kind, "stopped") == 0)) {
		focus_on_stuck(r, s, f);
	} else if (b && (strcmp(kind, "nan") == 0 || strcmp(kind, "inf") == 0)) {
		focus_on_call(r, &b->call, f);
	} else if (g->errors && strcmp(kind, "error") == 0) {
		focus_on_call(r, &g->first_error, f);
	} else if (strcmp(kind, "straggler") == 0) {
		focus_on_straggler(r, f);
	}
}

uint64_t report_last_step(const struct report *r)
{
	const struct opens *o = &r->g.opens;
	uint64_t last = r->g.last_step;

	for (unsigned i = 0; i < o->n; i++)
		if (!o->call[i].waiting && o->call[i].call.step > last)
			last = o->call[i].call.step;
	return last;
}
