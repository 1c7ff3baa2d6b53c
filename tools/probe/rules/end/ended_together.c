/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/end/ended_together.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/shared_cores.h"
#include "tools/probe/rules/end/first_by_signal.h"
#include "tools/probe/rules/end/hang.h"
#include "tools/probe/rules/end/leaving.h"

#define CUT_OFF_NS 1000000000u /* ranks that waited for less when all were ended were not held up */
#define GROUPS_SHOWN 4
#define OTHERS_MAX 1024u

static const char *get_rank_host(const struct report *r, uint32_t i)
{
	return r->g.folders.dir[i].meta.owner.host;
}

static char *format_chosen_ranks(const struct report *r, const bool *chosen)
{
	int *rank = tool_alloc((r->g.folders.n + 1) * sizeof(*rank));
	unsigned n = 0;
	char *text;

	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (chosen[i])
			rank[n++] = r->g.folders.dir[i].rank;
	text = out_format_ranks(rank, n);
	free(rank);
	return text;
}

/* True if both ended in the same call, or both in no call. */
static bool is_in_same_call(const struct report *r, uint32_t i, uint32_t k)
{
	const struct open_call *a = r->stuck.blocked_in[i], *b = r->stuck.blocked_in[k];

	return a && b ? stuck_alike(a, b) : !a && !b;
}

static char *format_activity(struct report *r, uint32_t i, const char *who, unsigned n)
{
	const struct open_call *o = r->stuck.blocked_in[i];
	const struct call *c = o ? &o->call : &r->g.rank[i].last;
	char *what, *at, *all;

	if (!o && !c->rows)
		return tool_format("%s recorded no call", who);
	what = report_call(r, c);
	at = called_from_text(r, c);
	all = o ? tool_format("%s %s in %s for %s%s", who, n == 1 ? "was" : "were", what,
			  out_format_duration((double)o->age), at)
		: tool_format("%s %s in no recorded call; the last one%s was %s%s", who,
			  n == 1 ? "was" : "were", n == 1 ? "" : " of the first of them", what, at);
	free(what);
	free(at);
	return all;
}

/* A line for each call that ranks were in. */
static void add_activities(struct report *r, char **text)
{
	unsigned nrank = r->g.folders.n, lines = 0, more = 0;
	bool *named = tool_alloc(nrank * sizeof(*named)),
	     *group = tool_alloc(nrank * sizeof(*group));

	for (uint32_t i = 0; i < nrank; i++) {
		unsigned n = 0;
		char *who, *line;

		if (named[i])
			continue;
		for (uint32_t k = 0; k < nrank; k++) {
			group[k] = k >= i && !named[k] && is_in_same_call(r, i, k);
			named[k] |= group[k];
			n += group[k];
		}
		if (lines++ >= GROUPS_SHOWN) {
			more += n;
			continue;
		}
		who = format_chosen_ranks(r, group);
		line = format_activity(r, i, who, n);
		tool_add_text(text, "\n%s", line);
		free(line);
		free(who);
	}
	if (more)
		tool_add_text(
			text, "\n%s in other calls", out_format_plural(more, "rank", "ranks"));
	free(named);
	free(group);
}

/* ns between the first end and the last one. False: the time of an end is not known. */
static bool find_spread(const struct report *r, struct lead *l, uint64_t *spread)
{
	if (!find_lead(r, false, l))
		return false;
	*spread = l->by + l->others;
	return true;
}

static char *format_only_host(const struct report *r)
{
	for (uint32_t i = 1; i < r->g.folders.n; i++)
		if (strcmp(get_rank_host(r, i), get_rank_host(r, 0)) != 0)
			return tool_strdup("");
	return *get_rank_host(r, 0) ? tool_format(", all on host %s,", get_rank_host(r, 0))
				    : tool_strdup("");
}

static void add_times(struct report *r, char **text)
{
	struct shared_cores shared;
	struct lead l;
	uint64_t spread;

	if (!find_spread(r, &l, &spread)) {
		tool_add_text(text, "\nwhen each of them ended is not recorded");
		return;
	}
	if (l.by)
		tool_add_text(text, "\n%s ended %s before the next one: %s",
			report_rank(r, l.first), out_format_duration((double)l.by),
			are_cores_shared(&r->g, &shared)
				? "where ranks share cores, a process that is ended can take that "
				  "long"
				: "one signal to all of them can take that long");
	else
		tool_add_text(text, "\nthe clock of the files does not distinguish their ends");
}

static void add_all_concerned(const struct report *r, struct finding *f)
{
	for (uint32_t i = 0; i < r->g.folders.n && r->g.folders.n <= OTHERS_MAX; i++)
		name_concerned(r, f, i);
}

/* Not if some waited for longer than work takes: then whatever held them up is the finding. */
static bool is_work_interrupted(struct report *r)
{
	bool hang;
	const struct stuck *s = report_stuck(r, &hang);

	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (was_told_of_error(r, i))
			return false;
	return !hang && (!s || s->age_max < CUT_OFF_NS);
}

bool is_ended_together(struct report *r)
{
	return r->g.folders.n > 1 && all_ended_by_signal(r) && is_work_interrupted(r);
}

void find_ended_together(struct report *r)
{
	const unsigned n = r->g.folders.n;
	uint64_t spread = 0, low = UINT64_MAX, high = 0, step;
	struct finding *f;
	struct lead l;
	char *text, *host, *within, *steps;
	uint32_t sample = 0;

	if (!r->ended_together)
		return;
	for (uint32_t i = 0; i < n; i++) {
		step = r->g.rank[i].last.rows ? r->g.rank[i].last.step : 0;
		low = step < low ? step : low;
		high = step > high ? step : high;
		sample = r->stuck.blocked_in[i] && !r->stuck.blocked_in[sample] ? i : sample;
	}
	host = format_only_host(r);
	within = find_spread(r, &l, &spread)
			 ? tool_format(" within %s", out_format_duration((double)spread))
			 : tool_strdup("");
	steps = low < high ? tool_format("steps %llu to %llu", (unsigned long long)low,
				     (unsigned long long)high)
			   : tool_format("step %llu", (unsigned long long)low);
	text = tool_format(
		"%s: all %u ranks%s were ended by a signal at about the same time%s: by a user, a "
		"scheduler, a lack of memory on the host, or by the launcher after an error that a "
		"library printed; nothing shows that a rank failed first",
		steps, n, host, within);
	add_activities(r, &text);
	add_times(r, &text);
	f = add_finding(r, FINDING_KILLED_TOGETHER, text);
	add_all_concerned(r, f);
	if (r->stuck.blocked_in[sample])
		name_call(f, &r->stuck.blocked_in[sample]->call);
	else if (r->g.rank[sample].last.rows)
		name_call(f, &r->g.rank[sample].last);
	f->event = moment_of_leaving(r, 0);
	f->next = tool_format("probe report --stacks %s", r->g.folders.path);
	free(host);
	free(within);
	free(steps);
}

bool find_ended_host(struct report *r)
{
	const unsigned n = r->g.folders.n;
	struct finding *f;
	struct lead l;
	bool *chosen;
	char *who, *text;

	if (!find_first_host(r, &l))
		return false;
	chosen = tool_alloc(n * sizeof(*chosen));
	for (uint32_t i = 0; i < n; i++)
		chosen[i] = strcmp(get_rank_host(r, i), get_rank_host(r, l.first)) == 0;
	who = format_chosen_ranks(r, chosen);
	text = tool_format(
		"all %u ranks on host %s (%s) were ended by a signal at about the same time, %s "
		"before any other rank: the host failed, or all its ranks were ended from "
		"outside; none of them failed first",
		l.n, get_rank_host(r, l.first), who, out_format_duration((double)l.by));
	add_activities(r, &text);
	f = add_finding(r, FINDING_DIED, text);
	for (uint32_t i = 0; i < n && n <= OTHERS_MAX; i++) {
		if (chosen[i])
			name_culprit(r, f, i);
		else
			name_concerned(r, f, i);
	}
	if (r->g.rank[l.first].last.rows)
		name_call(f, &r->g.rank[l.first].last);
	f->event = moment_of_leaving(r, l.first);
	f->evidence = tool_format("\"end\" in meta.json of %s", who);
	f->next = tool_format("probe report --stacks %s", r->g.folders.path);
	r->left = true;
	free(chosen);
	free(who);
	return true;
}
