/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "journal/columns.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/names.h"
#include "tools/probe/model/times/pace.h"
#include "tools/probe/rules/report.h"

#define ALL_GROUPS ((1u << CHECK_GROUPS) - 1)
#define ONLY(group) (1u << (group))

enum history {
	HISTORY_NONE,
	HISTORY_STALE,
	HISTORY_ZERO,
	HISTORY_LEVEL,
	HISTORY_DATA,
	HISTORY_PACE
};

enum { CALLS_ANY, CALLS_EACH };

static const struct {
	enum check_group group;
	const char *word;
	unsigned ranks;
	enum history history;
	bool each_call;
} kinds[] = {
#define CHECKED_KIND(group, word, ranks, history, calls) \
	{CHECK_##group, word, ranks, HISTORY_##history, CALLS_##calls},
#include "tools/probe/rules/verdict.def"
};

/* ---- what is missing ---- */

/* Limits a check. A kind that is not checked at all needs no second reason. Copies text. */
static void limit_check(struct check *c, enum check_state state, const char *text)
{
	if (c->state >= NOT_CHECKED)
		return;
	if (state == NOT_CHECKED) {
		free(c->reason);
		c->reason = NULL;
	}
	tool_add_item(&c->reason, ", ", "%s", text);
	c->state = state;
}

/* Takes ownership of text. */
static void limit_groups(
	struct run_verdict *v, unsigned groups, enum check_state state, bool incomplete, char *text)
{
	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		if (groups & ONLY(v->check[i].group))
			limit_check(&v->check[i], state, text);
	v->incomplete |= incomplete;
	free(text);
}

/* Limits all groups if n is not 0: "3 calls were dropped". */
static void limit_by_count(
	struct run_verdict *v, uint64_t n, const char *one, const char *many, const char *rest)
{
	if (n)
		limit_groups(v, ALL_GROUPS, CHECKED_PARTLY, true,
			tool_format("%s %s", out_format_plural(n, one, many), rest));
}

static uint64_t sum_call_count(const struct report *r, enum journal_count which)
{
	const bool skipped = call_count_words[which].group == COUNTS_SKIPPED;
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct meta *m = &r->g.folders.dir[i].meta;
		const struct meta_count *c = skipped ? m->skipped : m->dropped;
		unsigned n = skipped ? m->nskipped : m->ndropped;

		for (unsigned k = 0; k < n; k++)
			if (strcmp(c[k].name, call_count_words[which].word) == 0)
				sum += c[k].n;
	}
	return sum;
}

static void check_ranks_read(const struct report *r, struct run_verdict *v)
{
	const struct gather *g = &r->g;
	unsigned n = g->folders.n, of = g->nasked, state[RANK_STATES] = {0}, unread = 0;

	if (g->folders.world_size > 0 && (unsigned)g->folders.world_size > of)
		of = (unsigned)g->folders.world_size;
	if (n < of)
		limit_groups(v, ALL_GROUPS, CHECKED_PARTLY, true,
			tool_format("only %u of %u ranks were read", n, of));
	for (unsigned i = 0; i < n; i++) {
		const struct rank_dir *d = &g->folders.dir[i];

		state[d->state]++;
		unread += d->meta_wrong || g->rank[i].journal_wrong || g->rank[i].files_wrong;
	}
	limit_by_count(v, unread, "rank has", "ranks have", "files that cannot be read");
	if (state[RANK_RUNNING])
		limit_groups(v, ALL_GROUPS, CHECKED_PARTLY, true,
			tool_format("%u of %u ranks still run", state[RANK_RUNNING], of));
	limit_by_count(v, state[RANK_UNSEEN], "rank", "ranks", "on other hosts may still run");
	limit_by_count(
		v, state[RANK_UNWRITTEN], "rank's", "ranks'", "last rows are not in the files yet");
	/* A program with one process has no other rank with which it could disagree. */
	for (unsigned i = 0; of == 1 && i < CHECKED_KINDS; i++)
		if (kinds[i].ranks > 1)
			limit_check(&v->check[i], NOT_CHECKED, "there is one rank");
}

/* Rules that need each call are not applied at all. */
static void set_thinned_limits(struct run_verdict *v, uint64_t n)
{
	char *text = tool_format(
		"%s skipped to keep max_overhead", out_format_plural(n, "call was", "calls were"));

	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		limit_check(&v->check[i], kinds[i].each_call ? NOT_CHECKED : CHECKED_PARTLY, text);
	v->incomplete = true;
	free(text);
}

static void check_rows_read(const struct report *r, struct run_verdict *v)
{
	uint64_t lost = 0, damaged = 0, removed = 0, skipped = 0, dropped, values;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct meta *m = &r->g.folders.dir[i].meta;
		const struct rank_info *k = &r->g.rank[i];

		lost += m->lost_rows + m->damaged + k->overlay.spilled;
		damaged += k->damaged + k->truncated + k->unreadable;
		removed += m->removed_blocks;
	}
	dropped = sum_call_count(r, JC_DROP_FULL) + sum_call_count(r, JC_DROP_THREADS);
	values = sum_call_count(r, JC_DROP_PENDING) + sum_call_count(r, JC_DROP_VALUES) +
		 sum_call_count(r, JC_DROP_DEVICE);
	skipped = sum_call_count(r, JC_SKIP_STEP) + sum_call_count(r, JC_SKIP_SIZE) +
		  sum_call_count(r, JC_SKIP_PAUSED) + sum_call_count(r, JC_SKIP_CALLER);
	limit_by_count(v, dropped, "call was", "calls were", "not recorded for lack of room");
	limit_by_count(v, lost, "row was", "rows were", "lost");
	limit_by_count(v, damaged, "damaged line was", "damaged lines were", "skipped");
	limit_by_count(v, removed, "old block was", "old blocks were", "removed");
	limit_by_count(v, skipped, "call was", "calls were", "skipped by settings or pauses");
	if (r->g.thinned)
		set_thinned_limits(v, sum_call_count(r, JC_SKIP_OVERHEAD));
	if (values)
		limit_groups(v, ONLY(CHECK_VALUES), CHECKED_PARTLY, true,
			tool_format("values of %s were not recorded",
				out_format_plural(values, "call", "calls")));
	if (r->steps_chosen)
		limit_groups(v, ALL_GROUPS, CHECKED_PARTLY, true,
			tool_strdup("only the steps of --step were read"));
}

static void check_values_recorded(const struct report *r, struct run_verdict *v)
{
	const unsigned n = r->g.folders.n;
	uint64_t with = 0, without = 0;
	unsigned off = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!r->g.folders.dir[i].meta.cfg_statistics) {
			off++;
			continue;
		}
		with += r->g.rank[i].with_values;
		without += r->g.rank[i].unmeasured;
	}
	if (off == n)
		limit_groups(v, ONLY(CHECK_VALUES), NOT_CHECKED, false,
			tool_strdup("statistics were off"));
	else if (off)
		limit_groups(v, ONLY(CHECK_VALUES), CHECKED_PARTLY, true,
			tool_format("statistics were off on %u of %u ranks", off, n));
	if (off < n && !with)
		limit_groups(v, ONLY(CHECK_VALUES), NOT_CHECKED, false,
			tool_strdup("no call had tensors with values"));
	else if (without)
		limit_groups(v, ONLY(CHECK_VALUES), without == with ? NOT_CHECKED : CHECKED_PARTLY,
			true,
			tool_format("values of %s%s of %s calls with tensors were not measured",
				without == with ? "all " : "", out_format_count(without),
				out_format_count(with)));
}

/*
 * Counts the call sites at which the invariant is tested. PACE: the steps that are needed before the
 * first one is judged.
 */
static struct invariant_power find_power(
	const struct report *r, enum history history, uint64_t steps)
{
	const struct invariants *h = &r->g.diagnose.invariants;

	switch (history) {
	case HISTORY_STALE:
		return h->stale_power;
	case HISTORY_ZERO:
		return h->zero_power;
	case HISTORY_LEVEL:
		return h->level_power;
	case HISTORY_DATA:
		return (struct invariant_power){1, steps >= REDUCTION_STEPS_MIN};
	default:
		return (struct invariant_power){1, steps >= PACE_STEPS_MIN + PACE_STEPS_WARM};
	}
}

static void check_history(const struct report *r, struct run_verdict *v)
{
	bool marked = r->g.by_rounds || r->g.last_step;
	uint64_t steps = r->g.last_step - r->g.first_step + 1;
	char *text;

	for (unsigned i = 0; i < r->g.folders.n; i++)
		marked |= meta_has_steps(&r->g.folders.dir[i].meta);
	for (unsigned i = 0; i < CHECKED_KINDS; i++) {
		struct invariant_power p = find_power(r, kinds[i].history, steps);

		if (!kinds[i].history || v->check[i].state == NOT_OF_THIS_RUN ||
			(marked && p.able && p.able == p.tested))
			continue;
		if (!marked)
			text = tool_strdup("nothing marks steps");
		else if (!p.tested)
			text = tool_strdup("no values that repeat by step were recorded");
		else if (!p.able)
			text = tool_strdup("there is too little history to tell");
		else
			text = tool_format("at %s of %s places there is too little history to tell",
				out_format_count(p.tested - p.able), out_format_count(p.tested));
		/*
		 * Some call sites without history are a property of the program. If no site has
		 * any, the run was short.
		 */
		v->incomplete |= v->check[i].state != NOT_CHECKED && (!marked || !p.able);
		limit_check(&v->check[i], marked && p.able ? CHECKED_PARTLY : NOT_CHECKED, text);
		free(text);
	}
}

/* ---- a training ---- */

static bool is_run_of_training(const struct report *r)
{
	if (r->parameters.ranks_with)
		return true;
	for (unsigned i = 0; i < r->g.folders.n; i++)
		if (strcmp(r->g.folders.dir[i].meta.step_source, "optimizer") == 0)
			return true;
	return false;
}

/*
 * Counts the parameters of the first rank that no optimizer has: frozen ones, averaged copies,
 * modules that are not trained.
 */
static unsigned count_unseen_parameters(const struct report *r)
{
	struct names names;
	unsigned n = 0;

	names_read(&names, r->g.folders.dir[0].path);
	for (unsigned i = 0; i < names.n; i++)
		n += names.row[i].what == NAME_PARAM &&
		     (strstr(names.row[i].flags, "frozen") ||
			     strstr(names.row[i].flags, "unowned"));
	names_free(&names);
	return n;
}

/* Takes ownership of text. */
static void limit_kind(struct run_verdict *v, const char *kind, enum check_state state, char *text)
{
	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		if (strcmp(v->check[i].kind, kind) == 0)
			limit_check(&v->check[i], state, text);
	free(text);
}

static void check_parameters_recorded(
	const struct report *r, struct run_verdict *v, const char *kind)
{
	const struct parameters *p = &r->parameters;
	unsigned unseen;

	if (!p->ranks_with) {
		limit_kind(v, kind, NOT_CHECKED,
			tool_strdup("parameters were not recorded: preset `state`"));
	} else if (p->full) {
		limit_kind(v, kind, NOT_CHECKED,
			tool_strdup("more values of parameters than are compared: --step chooses"));
	} else if (p->ranks_with < r->g.folders.n) {
		limit_kind(v, kind, CHECKED_PARTLY,
			tool_format("parameters were recorded on %u of %u ranks", p->ranks_with,
				r->g.folders.n));
	} else if ((unseen = count_unseen_parameters(r)) > 0) {
		limit_kind(v, kind, CHECKED_PARTLY,
			tool_format("not seen: %s that no optimizer has",
				out_format_plural(unseen, "parameter", "parameters")));
	}
}

/* Copies and numbers of a step are compared as long as its number means the same on all ranks. */
static void check_common_steps(const struct report *r, struct run_verdict *v)
{
	static const char *const by_step[] = {"replicas", "unreduced", "unequal"};
	uint32_t n = r->g.folders.n, *all = tool_alloc((n + 1) * sizeof(*all));
	uint64_t apart;

	for (uint32_t i = 0; i < n; i++)
		all[i] = i;
	apart = find_first_step_apart(&r->g.diagnose, r->g.folders.dir, all, n);
	for (unsigned i = 0; apart != UINT64_MAX && i < sizeof(by_step) / sizeof(*by_step); i++)
		limit_kind(v, by_step[i], CHECKED_PARTLY,
			tool_format("from step %llu on ranks were in different steps when they met",
				(unsigned long long)apart));
	free(all);
}

static void check_training(const struct report *r, struct run_verdict *v)
{
	if (!is_run_of_training(r)) {
		for (unsigned i = 0; i < CHECKED_KINDS; i++)
			if (v->check[i].group == CHECK_TRAINING)
				v->check[i].state = NOT_OF_THIS_RUN;
		return;
	}
	check_parameters_recorded(r, v, "replicas");
	check_parameters_recorded(r, v, "unreduced");
	check_parameters_recorded(r, v, "tied");
	check_common_steps(r, v);
	if (!r->unequals.ranks_with)
		limit_kind(v, "unequal", NOT_CHECKED,
			tool_strdup("no loss scale, learning rate or norm was recorded: key "
				    "`scalars`"));
	if (!r->g.diagnose.reductions.sizes.n)
		limit_kind(v, "same_data", NOT_CHECKED,
			tool_strdup("no gradients were reduced in a backward pass"));
}

void compute_verdict(struct report *r)
{
	struct run_verdict *v = &r->verdict;

	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		v->check[i] = (struct check){.kind = kinds[i].word, .group = kinds[i].group};
	for (unsigned i = 0; i < r->nfinding; i++) {
		v->faults += r->finding[i].severity == FIND_BAD;
		v->warnings += r->finding[i].severity == FIND_WARN;
	}
	if (!r->g.calls)
		limit_groups(v, ALL_GROUPS, NOT_CHECKED, true, tool_strdup("no call was recorded"));
	check_training(r, v);
	check_values_recorded(r, v);
	check_history(r, v);
	check_ranks_read(r, v);
	check_rows_read(r, v);
}

void free_verdict(struct run_verdict *v)
{
	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		free(v->check[i].reason);
	free_alert_rules(&v->alerts);
}
