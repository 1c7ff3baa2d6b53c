/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the part of a run to export: three steps around the first finding, the ranks that it
 * names, and their peers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "folder/recorded_config.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"
#include "tools/probe/model/read/meta_config.h"

#define STACKS_KEPT 65536u

static void add_wanted_rank(struct export *e, int folder_index)
{
	if (folder_index < 0 || e->want[folder_index])
		return;
	e->want[folder_index] = true;
	e->nwant++;
}

/*
 * Selects the named ranks, then the other ranks of the communicator that are nearest to them, then
 * the nearest of all.
 */
static void set_export_ranks(struct export *e, const struct focus *f)
{
	const struct gather *g = &e->report.g;
	const struct comm_info *c = comms_find(&g->comms, f->comm);
	unsigned n = g->folders.n;
	unsigned most = e->all || e->asked_ranks || n < EXPORT_RANKS_MAX ? n : EXPORT_RANKS_MAX;
	int at = 0;

	for (unsigned i = 0; i < f->n && e->nwant < most; i++)
		add_wanted_rank(e, gather_index(g, f->rank[i]));
	for (unsigned i = 0; i < n; i++)
		if (e->want[i]) {
			at = (int)i;
			break;
		}
	for (int peers = 1; peers >= 0; peers--)
		for (int d = 0; d < (int)n && e->nwant < most; d++)
			for (int side = -1; side <= 1; side += 2) {
				int i = at + side * d;

				if (i < 0 || i >= (int)n || e->nwant >= most)
					continue;
				if (peers && (!c || !comm_has(c, g->folders.dir[i].rank)))
					continue;
				add_wanted_rank(e, i);
			}
}

/*
 * Selects the profiler window of the recording (profile_step, profile_rank), the default if the
 * user selects nothing. Returns true if that sets the steps.
 */
static bool set_recorded_window(struct export *e)
{
	const struct gather *g = &e->report.g;
	struct config cfg;
	char *json = g->folders.n ? meta_read_config(g->folders.dir[0].path) : NULL;
	bool has = json && !recorded_config_text(&cfg, json, e->dir);

	free(json);
	if (!has)
		return false;
	has = cfg.profile_step.n > 0 && !e->all;
	if ((has || (cfg.profile_rank.n && !e->all)) && !e->asked_level)
		e->level = cfg.statistics ? 2 : cfg.stack;
	if (has && !e->asked_steps) {
		e->step_lo = cfg.profile_step.item[0].lo;
		e->step_hi = cfg.profile_step.item[cfg.profile_step.n - 1].hi;
	}
	for (unsigned i = 0; !e->all && !e->asked_ranks && cfg.profile_rank.n && i < g->folders.n;
		i++)
		if (g->folders.dir[i].rank >= 0 && e->nwant < EXPORT_RANKS_MAX &&
			ranges_has(&cfg.profile_rank, (uint64_t)g->folders.dir[i].rank))
			add_wanted_rank(e, (int)i);
	config_free(&cfg);
	return has;
}

void export_set_part(struct export *e)
{
	struct gather *g = &e->report.g;
	struct focus f = {0};

	for (unsigned i = 0; i < e->report.nfinding && !f.known; i++)
		report_get_focus(&e->report, &e->report.finding[i], &f);
	e->want = tool_alloc((g->folders.n + 1) * sizeof(*e->want));
	if (!set_recorded_window(e) && !e->asked_steps) {
		e->step_lo = 0;
		e->step_hi = UINT64_MAX;
		if (!e->all && g->any) {
			uint64_t last = report_get_last_step(&e->report);
			uint64_t at = f.known ? f.step : last ? last - 1 : 0;

			e->step_lo = at ? at - 1 : 0;
			e->step_hi = at + 1;
		}
	}
	if (!e->nwant)
		set_export_ranks(e, &f);
	free(f.rank);
	e->overlay = tool_alloc((g->folders.n + 1) * sizeof(struct overlay *));
	e->chosen.dir = tool_alloc((g->folders.n + 1) * sizeof(*e->chosen.dir));
	e->base_ns = g->first_ns;
	for (unsigned i = 0; i < g->folders.n; i++) {
		e->overlay[i] = &g->rank[i].overlay;
		if (!e->want[i])
			continue;
		e->chosen.dir[e->chosen.n++] = g->folders.dir[i];
		if (clock_set_right(&g->skew[i], g->first_ns) < e->base_ns)
			e->base_ns = clock_set_right(&g->skew[i], g->first_ns);
	}
	/* Ranks that are not exported do not count. */
	comms_set_present_members(&g->comms, e->chosen.dir, e->chosen.n);
	table_init(&e->brief, sizeof(struct table_key) + sizeof(char *), STACKS_KEPT);
}

static const char *format_steps(char text[static 64], uint64_t lo, uint64_t hi)
{
	if (hi == UINT64_MAX)
		snprintf(text, 64, "steps %llu-", (unsigned long long)lo);
	else if (lo == hi)
		snprintf(text, 64, "step %llu", (unsigned long long)lo);
	else
		snprintf(text, 64, "steps %llu-%llu", (unsigned long long)lo,
			(unsigned long long)hi);
	return text;
}

void export_print_no_calls(const char *dir, uint64_t lo, uint64_t hi)
{
	/* Reads all steps, because the data so far covers only the selected ones. */
	struct gather_options g = {.path = dir, .top = 1, .step_hi = UINT64_MAX};
	struct report *r = tool_alloc(sizeof(*r));
	char asked[64], has[64];

	if (!report_gather(r, &g)) {
		if (r->g.any)
			tool_error("export: no calls in %s; the run has %s",
				format_steps(asked, lo, hi),
				format_steps(has, r->g.first_step, r->g.last_step));
		else
			tool_error("export: %s has no calls; `probe report %s` says why",
				dir ? dir : "the run", dir ? dir : "");
		report_free(r);
	}
	free(r);
}

int export_check_part(const struct export *e)
{
	const struct opens *o = &e->report.g.opens;
	struct walk w;
	bool has;

	export_open_walk(e, &w);
	has = walk_next(&w) != NULL;
	walk_close(&w);
	for (unsigned i = 0; i < o->n && !has; i++)
		has = e->want[o->call[i].call.rank] && o->call[i].call.step >= e->step_lo &&
		      o->call[i].call.step <= e->step_hi;
	if (has)
		return 0;
	export_print_no_calls(e->dir, e->step_lo, e->step_hi);
	return STATUS_USAGE;
}

void export_open_walk(const struct export *e, struct walk *w)
{
	walk_open(w, &e->report.g.folders, e->want, e->overlay, e->report.g.skew, e->step_lo,
		e->step_hi);
}

void export_open_rank_walk(const struct export *e, struct walk *w, unsigned folder_index)
{
	bool *want = tool_alloc(e->report.g.folders.n * sizeof(*want));

	want[folder_index] = true;
	walk_open(w, &e->report.g.folders, want, e->overlay, e->report.g.skew, e->step_lo,
		e->step_hi);
	free(want);
}

struct brief {
	struct table_key key; /* a: folder; b: stack */
	char *text;
};

const char *export_get_stack(struct export *e, uint32_t rank, uint32_t id)
{
	struct brief *b = id && e->level ? table_get(&e->brief, rank, id) : NULL;

	if (!b)
		return "";
	if (!b->text)
		b->text =
			stack_brief(&e->report.stacks, stacks_get(&e->report.stacks, rank, id), 4);
	return b->text;
}

int export_get_world_rank(const struct export *e, uint64_t comm, int64_t rank)
{
	const struct comm_info *c = comms_find(&e->report.g.comms, comm);
	int64_t n = 0;

	if (!c || !c->ranks || rank < 0)
		return -1;
	for (const char *p = c->ranks; *p;) {
		char *end;
		long lo = strtol(p, &end, 10), hi = lo;

		if (end == p || *end == '|')
			return -1; /* in an intercommunicator a rank number may mean a rank of either group */
		if (*end == '-')
			hi = strtol(end + 1, &end, 10);
		if ((*end && *end != ';') || hi < lo)
			return -1;
		if (rank - n <= hi - lo)
			return (int)(lo + rank - n);
		n += hi - lo + 1;
		p = end + (*end != 0);
	}
	/*
	 * A rank may list a communicator without its members. Then only the number of members is
	 * known.
	 */
	return c->ranks[0] || !c->member || rank >= c->nmember ? -1 : c->member[rank];
}

bool export_can_continue(
	struct export *e, const struct target *t, const struct walk *w, uint64_t step)
{
	uint64_t steps = e->step_hi - e->step_lo, to = e->step_lo;

	if (progress_is_due(&e->bar))
		progress_print(&e->bar, walk_done(w));
	if (gather_stop_signal())
		return false;
	if (e->all || e->written + t->bytes <= e->limit)
		return true;
	progress_stop(&e->bar);
	if (step > e->step_lo && steps) {
		to = e->step_lo + (step - e->step_lo) * 3 / 4;
		to = to > e->step_lo ? to - 1 : to;
	}
	if (step > e->step_lo)
		tool_error("export: more than %s by step %llu: nothing was written; `probe export "
			   "--format %s --step %llu-%llu %s` fits, --all writes everything",
			out_format_bytes((double)e->limit), (unsigned long long)step, e->format,
			(unsigned long long)e->step_lo, (unsigned long long)to, e->dir);
	else
		tool_error(
			"export: more than %s in step %llu alone: nothing was written; `probe "
			"export --format %s --step %llu --rank 0-%u %s` is shorter, --all writes "
			"everything",
			out_format_bytes((double)e->limit), (unsigned long long)step, e->format,
			(unsigned long long)step, e->nwant > 16 ? e->nwant / 4 - 1 : 3, e->dir);
	return false;
}

char *export_format_path(const struct export *e, const char *default_name)
{
	return e->output ? tool_strdup(e->output) : tool_format("%s/%s", e->dir, default_name);
}

char *export_format_part(const struct export *e)
{
	int *rank = tool_alloc((e->nwant + 1) * sizeof(*rank));
	char *ranks, *text, steps[64] = "all steps";
	uint64_t last = report_get_last_step(&e->report);
	unsigned n = 0;

	for (unsigned i = 0; i < e->report.g.folders.n; i++)
		if (e->want[i])
			rank[n++] = e->report.g.folders.dir[i].rank;
	ranks = out_format_ranks(rank, n);
	if (e->step_hi == e->step_lo)
		snprintf(steps, sizeof(steps), "step %llu", (unsigned long long)e->step_lo);
	else if (e->step_hi != UINT64_MAX)
		snprintf(steps, sizeof(steps), "steps %llu-%llu", (unsigned long long)e->step_lo,
			(unsigned long long)(e->step_hi < last ? e->step_hi : last));
	text = tool_format(
		"%s, %s, %s", steps, ranks, out_format_plural(e->calls, "call", "calls"));
	free(ranks);
	free(rank);
	return text;
}
