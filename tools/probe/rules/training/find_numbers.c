/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scalars on which ranks must agree and do not; losses far from those of the other ranks;
 * reductions of gradients that stopped, or to which all ranks contribute equal data.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/training/training.h"

void find_unequal_numbers(struct report *r)
{
	for (unsigned i = 0; i < r->unequals.n; i++) {
		const struct unequal *u = &r->unequals.item[i];
		int *rank = tool_alloc(u->n * sizeof(*rank));
		char *ranks, *since;
		struct finding *f;

		for (unsigned k = 0; k < u->n; k++)
			rank[k] = r->g.folders.dir[u->rank[k]].rank;
		ranks = out_format_ranks(rank, u->n);
		since = u->equal_steps ? tool_format("equal in %s before",
						 out_format_plural(u->equal_steps, "step", "steps"))
				       : tool_strdup("from the first step on");
		f = add_finding(r, FINDING_UNEQUAL,
			tool_format(
				"step %llu: %s is %.6g on %s and %.6g on %s (%s); %s must agree on "
				"it: %s",
				(unsigned long long)u->step, intern_get_name(u->name), u->least,
				report_rank(r, u->lowest), u->most, report_rank(r, u->highest),
				since, ranks, u->meaning));
		name_culprit(r, f, u->lowest);
		name_culprit(r, f, u->highest);
		for (unsigned k = 0; k < u->n; k++)
			if (u->rank[k] != u->lowest && u->rank[k] != u->highest)
				name_concerned(r, f, u->rank[k]);
		f->evidence = tool_format("rows of %s in scalars_*.csv of these ranks, from step "
					  "%llu on",
			intern_get_name(u->name), (unsigned long long)u->step);
		free(rank);
		free(ranks);
		free(since);
	}
}

/* Formats "step 3" or "step 3, micro step 1". */
static char *format_loss_step(const struct odd_loss *o)
{
	static const char micro[] = "micro-loss/micro";
	const char *name = intern_get_name(o->name);

	if (strncmp(name, micro, sizeof(micro) - 1) != 0)
		return tool_format("step %llu", (unsigned long long)o->step);
	return tool_format(
		"step %llu, micro step %s", (unsigned long long)o->step, name + sizeof(micro) - 1);
}

void find_odd_losses(struct report *r)
{
	for (unsigned i = 0; i < r->odd_losses.n; i++) {
		const struct odd_loss *o = &r->odd_losses.item[i];
		char *at = format_loss_step(o);
		struct finding *f = add_finding(r, FINDING_ODD_LOSS,
			tool_format(
				"%s: the loss is %.6g on %s and %.6g on %s (median); none of the "
				"other %u losses is further than %.3g from those around it",
				at, o->value, report_rank(r, o->rank), o->others,
				o->nothers == 1 ? "the other rank" : "the other ranks", o->compared,
				o->farthest));

		name_culprit(r, f, o->rank);
		name_step(f, o->step);
		f->evidence = tool_format("rows of %s in scalars_*.csv of all ranks, step %llu",
			intern_get_name(o->name), (unsigned long long)o->step);
		free(at);
	}
}

static bool is_kind_found(const struct report *r, const char *kind)
{
	for (unsigned i = 0; i < r->nfinding; i++)
		if (strcmp(r->finding[i].kind, kind) == 0)
			return true;
	return false;
}

/*
 * Returns the last step that all ranks have completed. Without an optimizer that marks steps: the
 * last step that has calls.
 */
static uint64_t find_last_whole_step(const struct report *r)
{
	uint64_t last = r->g.last_step;
	bool marked = r->g.folders.n > 0;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct meta *m = &r->g.folders.dir[i].meta;

		if (strcmp(m->step_source, "optimizer") != 0 || !m->step_now) {
			marked = false;
			continue;
		}
		if (i == 0 || m->step_now - 1 < last)
			last = m->step_now - 1;
	}
	return marked ? last : r->g.last_step;
}

static void find_ended_reductions(struct report *r)
{
	const struct reduction_size *s;
	uint64_t last = find_last_whole_step(r);
	char *what, *at;
	struct finding *f;

	if (is_kind_found(r, "unreduced") || r->left)
		return;
	s = find_ended_reduction(&r->g.diagnose.reductions, last, 0);
	if (!s)
		return;
	what = report_call(r, &s->call);
	at = called_from_text(r, &s->call);
	f = add_finding(r, FINDING_UNREDUCED_ALL,
		tool_format("from step %llu to %llu no rank has reduced the %s %s elements that "
			    "all of them reduced in the backward pass of each step before; the "
			    "last one was %s%s",
			(unsigned long long)s->last + 1, (unsigned long long)last,
			out_format_count(s->call.count), intern_get_name(s->call.dtype), what, at));
	name_call(f, &s->call);
	f->call.step = s->last + 1;
	free(what);
	free(at);
}

static void find_same_inputs(struct report *r)
{
	const struct table *groups = &r->g.diagnose.reductions.groups;

	for (uint32_t i = 0; i < groups->n; i++) {
		const struct reduction_group *g = table_at(groups, i);
		const struct comm_info *c = comms_find(&r->g.comms, g->key.a);
		char label[COMM_LABEL_MAX], *at;
		struct finding *f;

		if (!g->made || g->equal < g->made || g->steps < REDUCTION_STEPS_MIN || !c ||
			strcmp(intern_get_name(c->role), "data") != 0)
			continue;
		at = called_from_text(r, &g->call);
		f = add_finding(r, FINDING_SAME_DATA,
			tool_format("all ranks of %s contribute the same bits to each of %s of "
				    "gradients "
				    "in %s: they train on the same samples%s",
				comm_format_label(&r->g.comms, g->key.a, label),
				out_format_plural(g->made, "reduction", "reductions"),
				out_format_plural(g->steps, "step", "steps"), at));
		for (unsigned k = 0; k < c->nmember; k++) {
			int index = gather_index(&r->g, c->member[k]);

			if (index >= 0)
				name_concerned(r, f, (uint32_t)index);
		}
		name_call(f, &g->call);
		free(at);
	}
}

void find_odd_reductions(struct report *r)
{
	/* If calls were not recorded, a missing reduction proves nothing. */
	if (!r->g.thinned)
		find_ended_reductions(r);
	find_same_inputs(r);
}
