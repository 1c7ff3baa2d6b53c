/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the steps of a run that marks none, by the period of its calls. */
#include <stdlib.h>

#include "tools/lib/intern.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/probe/rules/report.h"
#include "tools/lib/tool.h"

bool report_period(const struct report *r, struct period_found *f)
{
	const struct gather *g = &r->g;
	unsigned n = 0;

	*f = (struct period_found){.rank = UINT32_MAX};
	for (unsigned i = 0; i < g->folders.n; i++) {
		struct cycle_found y;

		if (!g->rank[i].cycle)
			continue;
		f->followed++;
		cycle_result(g->rank[i].cycle, &y);
		if (y.confidence < CYCLE_SURE)
			continue;
		if (f->rank == UINT32_MAX || y.confidence > f->best.confidence) {
			f->rank = i;
			f->best = y;
		}
	}
	if (f->rank == UINT32_MAX)
		return false;
	f->alike = tool_alloc(f->followed * sizeof(*f->alike));
	for (unsigned i = 0; i < g->folders.n; i++) {
		struct cycle_found y = {0};

		if (g->rank[i].cycle)
			cycle_result(g->rank[i].cycle, &y);
		if (y.length != f->best.length || y.confidence < CYCLE_SURE)
			continue;
		f->alike[n++] = g->folders.dir[i].rank;
		if (n == 1 || y.rounds < f->least)
			f->least = y.rounds;
	}
	f->nalike = n;
	return true;
}

char *report_period_text(const struct report *r, const struct period_found *f)
{
	const struct cycle_found *y = &f->best;
	char *who = out_format_ranks(f->alike, f->nalike), *times, *seen, *marker, *all;

	times = y->time->n ? tool_format(", %s each (median; at most %s)",
				     out_format_duration((double)hist_quantile(y->time, 0.5)),
				     out_format_duration((double)y->time->max))
			   : tool_strdup("");
	seen = y->extra ? tool_format(", with %s in between that are part of none",
				  out_format_plural(y->extra, "call", "calls"))
			: tool_strdup("");
	marker = y->once ? tool_format(". %s is called once in each: PROBE_STEP_MARKER=%s makes "
				       "them steps",
				   intern_get_name(y->once), intern_get_name(y->once))
			 : tool_strdup("");
	all = tool_format(
		"no step signal, so everything is step 0%s; on %s the call sequence repeats "
		"every %s (confidence %s, %s, first at seq %llu on %s)%s: steps by "
		"period%s%s",
		r->g.by_rounds ? " in the files (here a step is one of these repetitions)" : "",
		f->nalike ? who : report_rank(r, f->rank),
		out_format_plural(y->length, "call", "calls"), out_format_percent(y->confidence),
		out_format_plural(y->rounds, "repetition", "repetitions"),
		(unsigned long long)y->first_seq, report_rank(r, f->rank), seen, times, marker);
	free(who);
	free(times);
	free(seen);
	free(marker);
	return all;
}

/*
 * Writes the period of the calls, if the steps are not marked. Its rounds are not the steps of the
 * rows.
 */
void report_period_json(const struct report *r)
{
	struct period_found f;

	if (!report_period(r, &f)) {
		json_null("period");
		return;
	}
	json_object("period");
	json_u64("calls", f.best.length);
	json_u64("steps", f.best.rounds);
	json_u64("steps_least", f.least);
	json_double("confidence", f.best.confidence);
	json_u64("first_seq", f.best.first_seq);
	json_u64("extra_calls", f.best.extra);
	json_u64("changes", f.best.changes);
	json_u64("ranks", f.nalike);
	json_u64("ranks_followed", f.followed);
	json_double("median_s", (double)hist_quantile(f.best.time, 0.5) * 1e-9);
	json_double("max_s", (double)f.best.time->max * 1e-9);
	if (f.best.once)
		json_string("marker", intern_get_name(f.best.once));
	else
		json_null("marker");
	json_end();
	free(f.alike);
}
