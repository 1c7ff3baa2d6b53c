/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/loss/left_out.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"

/* Appends a sentence to *all, after "; ". Frees the sentence. */
static void add_reason(char **all, char *sentence)
{
	tool_add_item(all, "; ", "%s", sentence);
	free(sentence);
}

/* The ranks of the job that the key rank could choose: "ranks 0-3". NULL: not known. */
static char *format_job_ranks(const struct gather *g)
{
	if (g->folders.world_size <= 0)
		return NULL;
	return g->folders.world_size == 1 ? tool_strdup("rank 0")
					  : tool_format("ranks 0-%d", g->folders.world_size - 1);
}

/* The calls that the ranks recorded, as their meta.json say. */
static uint64_t count_recorded(const struct gather *g)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < g->folders.n; i++)
		n += g->folders.dir[i].meta.recorded;
	return n;
}

static bool is_rank_seen(const struct gather *g)
{
	for (unsigned i = 0; i < g->folders.n; i++)
		if (g->folders.dir[i].meta.seen)
			return true;
	return false;
}

/* The highest step that any rank reached; *marked: any of them ended a step. */
static uint64_t find_last_step(const struct gather *g, bool *marked)
{
	uint64_t last = 0;

	*marked = false;
	for (unsigned i = 0; i < g->folders.n; i++) {
		const struct meta *m = &g->folders.dir[i].meta;

		*marked |= meta_has_steps(m) || m->step_now > m->cfg_start_iteration;
		last = m->step_now > last ? m->step_now : last;
	}
	return last;
}

static char *format_chosen_words(const struct meta *m)
{
	return *m->cfg_only && *m->cfg_skip
		       ? tool_format("only: [%s] and skip: [%s]", m->cfg_only, m->cfg_skip)
	       : *m->cfg_only ? tool_format("only: [%s]", m->cfg_only)
			      : tool_format("skip: [%s]", m->cfg_skip);
}

/* Returns why the settings chose no call, or NULL if none of them explains it. malloc'd. */
static char *format_choice(const struct gather *g)
{
	const struct meta *m = &g->folders.dir[0].meta;
	char *why = NULL, *job = format_job_ranks(g);
	uint64_t last;
	bool marked;

	if (*m->cfg_rank && job && !is_rank_seen(g) && g->folders.n == 1)
		add_reason(&why,
			tool_format("the key rank chose %s, the job has %s", m->cfg_rank, job));
	if (*m->cfg_step) {
		last = find_last_step(g, &marked);
		if (marked)
			add_reason(&why,
				tool_format("the key step chose %s, the job has steps 0 to %llu",
					m->cfg_step, (unsigned long long)last));
		else
			add_reason(&why,
				tool_format(
					"the key step chose %s, and all calls are of step %llu, "
					"because nothing ended a step: "
					"PROBE_STEP_MARKER=<a function that each step calls "
					"once> does (docs/how-to/steps.md)",
					m->cfg_step, (unsigned long long)m->cfg_start_iteration));
	}
	if (*m->cfg_only || *m->cfg_skip) {
		char *words = format_chosen_words(m);

		add_reason(&why, tool_format("%s excluded the functions that were called", words));
		free(words);
	}
	free(job);
	return why;
}

void find_run_without_calls(struct report *r)
{
	const struct meta *m = &r->g.folders.dir[0].meta;
	char *why = NULL;
	bool marked;

	if (r->steps_chosen && count_recorded(&r->g)) {
		add_finding(r, FINDING_EMPTY,
			tool_format("no call was recorded in the steps that --step chose; the job "
				    "has steps 0 to %llu",
				(unsigned long long)find_last_step(&r->g, &marked)));
		return;
	}
	if (count_recorded(&r->g)) {
		add_finding(r, FINDING_EMPTY,
			tool_format("no call is in the files, but the ranks recorded %s: "
				    "calls_*.csv were removed or not copied; collect the whole "
				    "rank folders",
				out_format_count(count_recorded(&r->g))));
		return;
	}
	why = format_choice(&r->g);
	if (why && strcmp(m->cfg_skip, "*") == 0)
		add_finding(r, FINDING_EMPTY_CHOSEN, tool_format("no call was recorded: %s", why));
	else if (why)
		add_finding(r, FINDING_EMPTY,
			tool_format("no call was recorded: %s; change that key, or leave it out "
				    "(`probe config --explain` says what it chooses)",
				why));
	else
		add_finding(r, FINDING_EMPTY,
			tool_strdup("no call was recorded; `probe check CMD` says which functions "
				    "are there and how often "
				    "they are called"));
	free(why);
}

void find_left_out(struct report *r)
{
	const struct meta *m = &r->g.folders.dir[0].meta;
	char *words;

	if (!*m->cfg_only && !*m->cfg_skip)
		return;
	words = format_chosen_words(m);
	add_finding(r, FINDING_SKIPPED,
		tool_format("%s %s", words,
			*m->cfg_only ? "selects the functions that are recorded"
				     : "excludes functions: their calls are not recorded"));
	free(words);
}
