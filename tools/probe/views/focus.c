/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/views/focus.h"

#include "tools/lib/tool.h"

static void add_focus_rank(struct focus *f, int rank)
{
	TOOL_GROW(f->rank, f->n, f->cap);
	f->rank[f->n++] = rank;
}

static bool is_culprit(const struct finding *finding, int rank)
{
	for (unsigned i = 0; i < finding->nrank; i++)
		if (finding->rank[i] == rank)
			return true;
	return false;
}

void report_get_focus(const struct report *r, const struct finding *finding, struct focus *f)
{
	const struct call *c = &finding->call;

	*f = (struct focus){0};
	if (!finding->has_call)
		return;
	f->known = true;
	f->step = c->step;
	f->comm = c->comm;
	/* A rank that computes too long does so in a step, not in a call. */
	f->at_ns = c->start ? clock_set_right(&r->g.skew[c->rank], c->start) : 0;
	for (unsigned i = 0; i < finding->nrank; i++)
		add_focus_rank(f, finding->rank[i]);
	f->culprits = f->n;
	for (unsigned i = 0; i < finding->nother; i++)
		if (!is_culprit(finding, finding->other[i]))
			add_focus_rank(f, finding->other[i]);
}

uint64_t report_get_last_step(const struct report *r)
{
	const struct opens *o = &r->g.opens;
	uint64_t last = r->g.last_step;

	for (unsigned i = 0; i < o->n; i++)
		if (!o->call[i].waiting && o->call[i].call.step > last)
			last = o->call[i].call.step;
	return last;
}
