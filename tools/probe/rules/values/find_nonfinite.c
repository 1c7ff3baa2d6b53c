/* SPDX-License-Identifier: Apache-2.0 */
/* The first NaN or Inf of a run, and whether the program meant it or a gradient scaler skipped its step. */
#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/names.h"
#include "tools/probe/rules/report.h"
#include "tools/probe/rules/values/inputs.h"

static char *format_nonfinite_ranks(const struct report *r, const struct bad_row *b)
{
	int rank[BAD_SAME_MAX];
	unsigned n = b->nsame < BAD_SAME_MAX ? b->nsame : BAD_SAME_MAX;

	for (unsigned i = 0; i < n; i++)
		rank[i] = r->g.folders.dir[b->same[i]].rank;
	return b->nsame > BAD_SAME_MAX ? tool_format("%u ranks", b->nsame)
				       : out_format_ranks(rank, n);
}

/* Formats "NaN in gradient of layers.0.weight, element 5 (element 9 of bucket 1): ", or "" without a name. */
static char *format_nonfinite_name(const struct report *r, const struct bad_row *b)
{
	struct names names;
	char *text, *all;

	if (!*b->name)
		return tool_strdup("");
	names_read(&names, r->g.folders.dir[b->call.rank].path);
	text = names_format_tensor(&names, b->name, b->call.step);
	names_free(&names);
	all = *text ? tool_format("%s in %s: ", b->nans ? "NaN" : "Inf", text) : tool_strdup("");
	free(text);
	return all;
}

/* Returns the decrease of the loss scale after this step, or NULL. */
static const struct scale_fall *find_scale_fall(const struct report *r, uint64_t step)
{
	for (unsigned i = 0; i < r->unequals.nfall; i++)
		if (r->unequals.fall[i].step == step)
			return &r->unequals.fall[i];
	return NULL;
}

/* Returns true if the loss scale fell after all steps with NaN or Inf. */
static bool has_scale_fallen_each_time(const struct report *r)
{
	const struct bad *b = &r->g.bad;
	uint64_t found = 0;

	for (unsigned i = 0; i < r->unequals.nfall; i++) {
		uint64_t step = r->unequals.fall[i].step;

		found += step < b->steps_cap && b->step_seen[step / 64] >> (step % 64) & 1;
	}
	return b->steps && found == b->steps && !b->steps_beyond;
}

/*
 * Returns true if one rank alone put a NaN or Inf into a collective operation of several, and the search for the
 * largest loss scale does not explain it: an earlier step was finite with this scale; or, if the scale is not
 * known, an earlier step was not skipped, and it is a NaN without an Inf. A product that is too large is an Inf.
 */
static bool is_sole_without_overflow(const struct report *r, const struct bad_row *b)
{
	const struct scale_fall *fall = find_scale_fall(r, b->call.step);
	const struct meta *m = &r->g.folders.dir[b->call.rank].meta;
	const struct step_range *skipped = meta_find_skipped(m, b->call.step);
	bool searches = !skipped || skipped->from <= m->cfg_start_iteration || b->infs;

	return (fall ? fall->known : !searches) && !b->out && b->nsame == 1 && b->call.size > 1 &&
	       !(b->call.bits & CALL_P2P);
}

/*
 * Returns true if the first row with a NaN shows where it came from. If calls were not recorded, an earlier
 * NaN may be missing; then only an input shows it, on a rank that recorded all data that it received.
 */
static bool is_origin_known(const struct report *r, const struct bad_row *b, uint32_t rank)
{
	return !r->g.thinned || (!b->out && !r->g.folders.dir[rank].meta.thinned_values);
}

static void add_nonfinite_ranks(struct report *r, struct finding *f, const struct bad_row *b)
{
	unsigned n = b->nsame < BAD_SAME_MAX ? b->nsame : BAD_SAME_MAX;

	for (unsigned i = 0; i < (n ? n : 1); i++) {
		uint32_t rank = n ? b->same[i] : b->call.rank;

		if (is_origin_known(r, b, rank))
			name_culprit(r, f, rank);
		else
			name_concerned(r, f, rank);
	}
}

/* At least as many steps have Inf, and no NaN, before it is taken for one that is meant. */
#define STEPS_WITH_INF 3

/*
 * Returns true if Inf is no sign of a fault: in one operation all ranks of the job put it in first, several steps
 * have it, and no NaN came in these steps. A program that computes with Inf does this, such as one that sends
 * the distances of what it has not reached. Which step has what must be known.
 */
static bool is_infinity_meant(const struct report *r, const struct bad_row *b)
{
	const struct bad_row *nan = bad_find_first_nan(&r->g.bad);

	return !b->nans && !b->out && !r->g.thinned && r->g.diagnose.sites.steps &&
	       b->nsame == r->g.folders.n && b->nsame > 1 && r->g.bad.steps >= STEPS_WITH_INF &&
	       (!nan || nan->call.step >= b->call.step + STEPS_WITH_INF);
}

static enum finding_kind find_nonfinite_kind(const struct report *r, const struct bad_row *b)
{
	if (has_scale_fallen_each_time(r))
		return FINDING_SCALED;
	if (is_infinity_meant(r, b))
		return FINDING_INF_ALL;
	return b->nans ? FINDING_NAN : FINDING_INF;
}

/* Formats the ranges "0-3,2004" of the steps that the gradient scaler of this rank skipped. */
static char *format_skipped_steps(const struct report *r, uint32_t rank)
{
	const struct meta *m = &r->g.folders.dir[rank].meta;
	char *text = tool_strdup("");

	for (unsigned i = 0; i < m->nskipped_at; i++) {
		const struct step_range *s = &m->skipped_at[i];

		tool_add_text(&text, "%s%llu", i ? "," : "", (unsigned long long)s->from);
		if (s->to > s->from)
			tool_add_text(&text, "-%llu", (unsigned long long)s->to);
	}
	return text;
}

/* Adds why a NaN or Inf of this kind is no fault. */
static void add_nonfinite_reason(
	const struct report *r, const struct bad_row *b, enum finding_kind kind, struct finding *f)
{
	char *steps;

	switch (kind) {
	case FINDING_SKIPPED_STEP:
		steps = format_skipped_steps(r, b->call.rank);
		tool_add_text(&f->text,
			"\nthe gradient scaler skipped the optimizer in %s %s: the parameters "
			"did not take it",
			strpbrk(steps, "-,") ? "steps" : "step", steps);
		free(steps);
		break;
	case FINDING_SCALED:
		tool_add_text(&f->text,
			"\nthe loss scale fell after %s with NaN or Inf, and "
			"no other step has NaN or Inf: a scaler skipped them",
			out_format_plural(r->g.bad.steps, "step", "steps"));
		break;
	case FINDING_INF_ALL:
		tool_add_text(&f->text,
			"\nall ranks have it from the first time on, and no NaN followed in the "
			"run: the program may compute with Inf");
		break;
	default:
		break;
	}
}

static void add_nonfinite(struct report *r, const struct bad_row *b, enum finding_kind finding_kind)
{
	char *call_name, *ranks, *place, *kind, *origin, *tensor, *lost;
	struct finding *f;
	bool awaited;

	call_name = report_call(r, &b->call);
	ranks = b->nsame ? format_nonfinite_ranks(r, b) : tool_strdup(report_rank(r, b->call.rank));
	place = called_from_text(r, &b->call);
	origin = inputs_origin(&r->g, b, &awaited);
	lost = lost_nan_text(&r->g, b);
	kind = b->nans && b->infs
		       ? tool_format("%s NaN, %s Inf", out_format_count(b->nans),
				 out_format_count(b->infs))
		       : tool_format("%s %s", out_format_count(b->nans ? b->nans : b->infs),
				 b->nans ? "NaN" : "Inf");
	tensor = format_nonfinite_name(r, b);
	f = add_finding(r, finding_kind,
		tool_format(
			"first%s in step %llu, %s: %s%s of %s %s elements in the %s of %s: %s%s%s",
			r->g.thinned ? " seen" : "", (unsigned long long)b->call.step, ranks,
			tensor, kind, out_format_count(b->count), b->dtype,
			b->out ? "result" : "input", call_name, origin, lost, place));
	f->awaited = awaited;
	add_nonfinite_reason(r, b, finding_kind, f);
	if (finding_kind == FINDING_NAN || finding_kind == FINDING_INF ||
		is_sole_without_overflow(r, b))
		add_nonfinite_ranks(r, f, b);
	name_call(f, &b->call);
	free(call_name);
	free(ranks);
	free(place);
	free(kind);
	free(tensor);
	free(origin);
	free(lost);
}

/* Returns the first row of a skipped step that the search for a loss scale does not explain, else the first one. */
static const struct bad_row *find_unexplained_row(const struct report *r)
{
	const struct bad_row *first = bad_find_skipped(&r->g.bad, 0), *b = first;

	while (b && !is_sole_without_overflow(r, b)) {
		const struct meta *m = &r->g.folders.dir[b->call.rank].meta;

		b = bad_find_skipped(&r->g.bad, meta_find_skipped(m, b->call.step)->to + 1);
	}
	return b ? b : first;
}

void find_values(struct report *r)
{
	const struct bad_row *b = bad_find_first_applied(&r->g.bad);
	const struct bad_row *nan = bad_find_first_nan(&r->g.bad);
	const struct bad_row *skipped = find_unexplained_row(r);
	enum finding_kind kind = b ? find_nonfinite_kind(r, b) : FINDING_NAN;

	if (b)
		add_nonfinite(r, b, kind);
	if (b && kind == FINDING_INF_ALL && nan)
		add_nonfinite(r, nan, FINDING_NAN);
	if (skipped)
		add_nonfinite(r, skipped, FINDING_SKIPPED_STEP);
}
