/* SPDX-License-Identifier: Apache-2.0 */
/* Finds copies of parameters that diverge. */
#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/training/training.h"

#define NAMES_SHOWN 3
/* maximum number of findings; copies that diverge later are consequences of these */
#define PARTINGS_SHOWN 3

static bool are_same_ranks(const struct diverged *a, const struct diverged *b)
{
	return a->n == b->n && memcmp(a->rank, b->rank, a->n * sizeof(*a->rank)) == 0;
}

/* True if both belong in one finding. */
static bool are_alike(const struct diverged *a, const struct diverged *b)
{
	return a->step == b->step && a->cause == b->cause && a->tiny == b->tiny &&
	       a->never_equal == b->never_equal && a->reduced == b->reduced &&
	       a->joined == b->joined && are_same_ranks(a, b);
}

static char *list_ranks(const struct report *r, const uint32_t *index, unsigned n)
{
	int *rank = tool_alloc(n * sizeof(*rank));
	char *text;

	for (unsigned i = 0; i < n; i++)
		rank[i] = r->g.folders.dir[index[i]].rank;
	text = out_format_ranks(rank, n);
	free(rank);
	return text;
}

/* Formats "0.weight, 0.bias, 2.weight and 5 more parameters". */
static char *list_parameters(const struct parameters *p, unsigned first, unsigned *n, double *most)
{
	char *text = tool_strdup("");

	*n = 0;
	*most = 0;
	for (unsigned i = first; i < p->ndiverged; i++) {
		const struct diverged *k = &p->diverged[i];

		if (!are_alike(k, &p->diverged[first]))
			continue;
		*most = k->distance > *most ? k->distance : *most;
		if (++*n > NAMES_SHOWN)
			continue;
		tool_add_item(&text, ", ", "%s", parameter_at(p, k->parameter)->name);
	}
	if (*n > NAMES_SHOWN)
		tool_add_text(&text, " and %s",
			out_format_plural(*n - NAMES_SHOWN, "more parameter", "more parameters"));
	return text;
}

/*
 * Returns a communicator of these ranks in which gradients are reduced, or NULL if there is none.
 */
static const struct reduction_group *find_reducing_group(
	const struct report *r, const struct diverged *k)
{
	const struct table *groups = &r->g.diagnose.reductions.groups;
	const struct reduction_group *found = NULL;

	for (uint32_t i = 0; i < groups->n; i++) {
		const struct reduction_group *g = table_at(groups, i);
		const struct comm_info *c = comms_find(&r->g.comms, g->key.a);
		bool all = c && c->nmember;

		for (unsigned m = 0; m < k->n && all; m++)
			all = comm_has(c, r->g.folders.dir[k->rank[m]].rank);
		if (all && (!found || (!found->made && g->made)))
			found = g;
	}
	return found;
}

/*
 * Values that were equal before the first step and differ after it are copies only if a broadcast made them equal. If any gradient
 * was reduced, the program knows which ones it reduces, except for parameters that joined after a reduction on these ranks.
 */
static bool is_worth_noting(const struct report *r, const struct diverged *k)
{
	const struct table *groups = &r->g.diagnose.reductions.groups;
	const struct reduction_group *g = find_reducing_group(r, k);

	if (!k->never_equal)
		return true;
	if (k->joined)
		return g && g->made;
	for (uint32_t i = 0; i < groups->n; i++)
		if (((const struct reduction_group *)table_at(groups, i))->made)
			return false;
	return g && g->broadcast.rows;
}

/*
 * True if DDP awaited the gradients of this step on all of these ranks and had not reduced them when the optimizer stepped. Local
 * training between averages does not look so: a forward pass in no_sync(), or of the module inside DDP, awaits nothing.
 */
static bool has_unfinished_reduction(const struct report *r, const struct diverged *k)
{
	if (!k->never_equal || k->cause != DIVERGED_BY_GRADIENT)
		return false;
	for (unsigned i = 0; i < k->n; i++)
		if (r->g.folders.dir[k->rank[i]].meta.unfinished_reduction != (int64_t)k->step)
			return false;
	return true;
}

static char *describe_cause(struct report *r, const struct diverged *k)
{
	const struct reduction_group *g = find_reducing_group(r, k);
	char *what, *at, *text;

	switch (k->cause) {
	case PARTED_BEFORE_START:
		if (!g || !g->broadcast.rows)
			return tool_strdup(
				"they were never equal: nothing made them equal before the first "
				"optimizer step");
		what = report_call(r, &g->broadcast);
		at = called_from_text(r, &g->broadcast);
		text = tool_format("they were different before the first optimizer step; the last "
				   "broadcast before it was %s%s: they were set after it, or were "
				   "not in it",
			what, at);
		free(what);
		free(at);
		return text;
	case PARTED_BETWEEN_STEPS:
		return tool_strdup("they were changed between two optimizer steps, not by one");
	case DIVERGED_BY_OPTIMIZER:
		return tool_strdup(
			"the optimizer's step had the same gradient on them but computed "
			"different parameters: its state, its learning rate or its "
			"clipping differs");
	case DIVERGED_BY_GRADIENT:
		break;
	}
	if (k->joined)
		return tool_strdup(
			"they were unfrozen or added in this step; a DistributedDataParallel that "
			"was made earlier does not reduce their gradients");
	if (has_unfinished_reduction(r, k))
		return tool_strdup(
			"DistributedDataParallel awaited gradients in this step and had not "
			"reduced them when the optimizer stepped: a parameter of its own got "
			"none, as it took no part in the forward pass (see "
			"find_unused_parameters) or was replaced");
	if (!g || !g->made)
		return tool_strdup("the optimizer's step had different gradients on them");
	at = called_from_text(r, &g->call);
	text = tool_format(
		"the optimizer's step had different gradients on them; the first reduction of "
		"gradients was%s",
		*at ? at + 1 : " made by an unknown line");
	free(at);
	return text;
}

static enum finding_kind find_parting_kind(const struct report *r, const struct diverged *k)
{
	if (!k->tiny && has_unfinished_reduction(r, k))
		return FINDING_UNREDUCED;
	if (k->tiny || !k->reduced)
		return FINDING_REPLICAS_DRIFT;
	return k->cause == DIVERGED_BY_GRADIENT && k->equal_steps ? FINDING_UNREDUCED
								  : FINDING_REPLICAS;
}

/* Returns ": rank 1 differs from the others", or NULL if it is not known which ranks have the wrong value. */
static char *format_odd_ranks(const struct report *r, const struct diverged *k)
{
	uint32_t *rank = tool_alloc(k->n * sizeof(*rank));
	unsigned n = 0;
	char *text = NULL, *ranks;

	for (unsigned i = 0; i < k->n; i++)
		if (k->odd && k->odd[i])
			rank[n++] = k->rank[i];
	if (n && n < k->n) {
		ranks = list_ranks(r, rank, n);
		text = tool_format(": %s %s from the others", ranks, n == 1 ? "differs" : "differ");
		free(ranks);
	}
	free(rank);
	return text;
}

static void add_parting(struct report *r, unsigned first)
{
	const struct parameters *p = &r->parameters;
	const struct diverged *k = &p->diverged[first];
	enum finding_kind kind = find_parting_kind(r, k);
	char *ranks = list_ranks(r, k->rank, k->n), *cause = describe_cause(r, k), *names, *since;
	char *differing = format_odd_ranks(r, k);
	struct finding *f;
	unsigned n, odd = 0;
	double most;

	names = list_parameters(p, first, &n, &most);
	since = kind == FINDING_UNREDUCED && k->equal_steps
			? tool_format(
				  "since their gradients are no longer reduced, which they were "
				  "in the %s before",
				  out_format_plural(k->equal_steps, "step", "steps"))
		: k->equal_steps
			? tool_format("after %s in which they were",
				  out_format_plural(k->equal_steps, "step", "steps"))
			: tool_strdup(k->joined ? "from that step on" : "from the first step on");
	f = add_finding(r, kind,
		tool_format("step %llu: %s %s not the same on %s, %s, %s; in step %llu they "
			    "differ by up to %s%s\n%s",
			(unsigned long long)k->step, names, n == 1 ? "is" : "are", ranks,
			k->reduced  ? "over which their gradients are reduced"
			: k->joined ? "where they were equal until they joined the training and "
				      "no gradients of theirs were reduced"
			: k->never_equal
				? "where a broadcast made them equal and no gradients were reduced"
				: "which compute the same gradients by themselves",
			since, (unsigned long long)k->last_step, out_format_percent(most),
			differing ? differing : "", cause));
	for (unsigned i = 0; i < k->n; i++)
		odd += k->odd && k->odd[i];
	for (unsigned i = 0; i < k->n; i++)
		if (kind == FINDING_REPLICAS_DRIFT || (odd && !k->odd[i]))
			name_concerned(r, f, k->rank[i]);
		else
			name_culprit(r, f, k->rank[i]);
	name_step(f, k->step);
	f->evidence = tool_format("rows of %s, step %llu, in %s of each of these ranks",
		parameter_at(p, k->parameter)->name, (unsigned long long)k->step,
		kind == FINDING_UNREDUCED	    ? "grad_reduced_*.csv"
		: k->cause == DIVERGED_BY_OPTIMIZER ? "param_updated_*.csv"
						    : "param_origin_*.csv");
	free(names);
	free(ranks);
	free(cause);
	free(since);
	free(differing);
}

static void find_untied(struct report *r)
{
	const struct parameters *p = &r->parameters;

	for (unsigned i = 0; i < p->nuntied; i++) {
		const struct untied *u = &p->untied[i];
		struct finding *f = add_finding(r, FINDING_TIED,
			tool_format("step %llu: %s of %s and %s of %s began as one matrix (%s) and "
				    "have diverged; in step %llu by up to %s\nthe gradient "
				    "of the first has the zeros of an embedding's, that of the "
				    "second has not: they look like a tied embedding and head "
				    "whose gradients are not summed",
				(unsigned long long)u->step, parameter_at(p, u->parameter[0])->name,
				report_rank(r, u->rank[0]), parameter_at(p, u->parameter[1])->name,
				report_rank(r, u->rank[1]), parameter_at(p, u->parameter[0])->shape,
				(unsigned long long)u->last_step, out_format_percent(u->distance)));

		name_culprit(r, f, u->rank[0]);
		name_culprit(r, f, u->rank[1]);
		f->evidence = tool_format(
			"rows of both in param_updated_*.csv of these ranks, from step %llu on",
			(unsigned long long)u->step);
	}
}

static bool is_said_before(const struct parameters *p, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (are_alike(&p->diverged[i], &p->diverged[k]))
			return true;
	return false;
}

/*
 * First come the earliest copies that a reduction should have kept equal, then those that are not a
 * fault by themselves.
 */
void find_diverged_parameters(struct report *r)
{
	const struct parameters *p = &r->parameters;
	uint64_t from = 0;

	for (unsigned shown = 0; shown < PARTINGS_SHOWN; shown++) {
		unsigned best = p->ndiverged;

		for (unsigned i = 0; i < p->ndiverged; i++) {
			const struct diverged *k = &p->diverged[i];

			if (k->step < from || is_said_before(p, i) || !is_worth_noting(r, k) ||
				(best < p->ndiverged && k->step >= p->diverged[best].step))
				continue;
			best = i;
		}
		if (best == p->ndiverged)
			break;
		from = p->diverged[best].step + 1;
		for (unsigned i = 0; i < p->ndiverged; i++)
			if (p->diverged[i].step == p->diverged[best].step &&
				!is_said_before(p, i) && is_worth_noting(r, &p->diverged[i]))
				add_parting(r, i);
		/* Parameters of the same ranks that diverge later follow from these. */
		if (find_parting_kind(r, &p->diverged[best]) != FINDING_REPLICAS_DRIFT)
			break;
	}
	find_untied(r);
}
