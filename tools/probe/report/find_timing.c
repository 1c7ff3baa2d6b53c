/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds the others up, and what the recording itself costs. */
#include <stdlib.h>

#include "tools/probe/out.h"
#include "tools/probe/report/report.h"
#include "tools/probe/tool.h"

#define MEETINGS_MIN 10 /* fewer say nothing about a habit */
#define BEHIND_MIN 100e3 /* ns: below it is noise */
#define COST_MIN 0.01 /* share of the run spent waiting */
#define OWN_MIN 0.05 /* share of the run spent in our own code that is worth a line */
#define LIFE_MIN 2e9 /* ns; in a shorter run it is mostly the beginning that is seen */
#define LIST_MAX 4 /* stragglers that are named */

/* Share of the operations in which the same rank is last: of two ranks each is so in half of them. */
static double share_min(unsigned ranks)
{
	return 0.5 + 0.5 / ranks;
}

static bool is_behind(const struct member *m)
{
	return (double)hist_quantile(&m->behind, 0.5) >= BEHIND_MIN;
}

/* What was waited, but for one long wait for another rank than the one in question: some rank is the last to start. */
static double habitual(const struct late_comm *c)
{
	double all = c->wait_ns + c->stood_ns;

	return c->worst_for == c->costly ? all : all - c->worst_ns;
}

/*
 * The same of the rank that is waited for most, by the mean: it is late for one operation of a step and may come last
 * in the others by chance, so that the median of all says nothing. The worst is left out: once is no habit.
 */
static bool costs(const struct member *m)
{
	return m->last >= MEETINGS_MIN &&
	       (m->wait_ns + m->stood_ns - m->worst_ns) / (double)(m->last - 1) >= BEHIND_MIN;
}

struct straggler report_straggler(const struct report *r, const struct late_comm *c)
{
	struct straggler s = {.comm = c, .who = c->most};

	if (!s.who || !c->meetings)
		return s;
	s.share = (double)s.who->last / (double)c->meetings;
	s.cost = r->g.life_ns > 0 ? (c->wait_ns + c->stood_ns) / r->g.life_ns : 0;
	if (c->meetings < MEETINGS_MIN || s.cost < COST_MIN)
		return s;
	if (s.share >= share_min(c->ranks) && is_behind(s.who)) {
		s.matters = true;
		return s;
	}
	/*
	 * A step has several operations, and a slow rank is late for the first one only: which comes last in the others is
	 * chance. It is the waiting that tells.
	 */
	if (c->costly && costs(c->costly) &&
		c->costly->wait_ns + c->costly->stood_ns >= share_min(c->ranks) * habitual(c)) {
		s.who = c->costly;
		s.share = (double)s.who->last / (double)c->meetings;
		s.matters = true;
	}
	return s;
}

static int by_cost(const void *x, const void *y)
{
	const struct straggler *a = x, *b = y;

	return a->cost > b->cost		 ? -1
	       : a->cost < b->cost		 ? 1
	       : a->comm->key.a < b->comm->key.a ? -1
						 : 1;
}

static void stragglers(struct report *r)
{
	const struct table *t = &r->g.late.comms;
	struct straggler *list = NULL;
	unsigned n = 0, cap = 0;
	char label[COMM_LABEL_MAX];

	for (uint32_t i = 0; i < t->n; i++) {
		struct straggler s = report_straggler(r, table_at(t, i));

		if (!s.matters)
			continue;
		TOOL_GROW(list, n, cap);
		list[n++] = s;
	}
	if (n)
		qsort(list, n, sizeof(*list), by_cost);
	for (unsigned i = 0; i < n && i < LIST_MAX; i++) {
		const struct straggler *s = &list[i];
		const struct call *c = &s->who->worst;
		char *at = stack_brief(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), 2);

		finding_add(r, FIND_WARN, "straggler",
			tool_format("%s comes last in %s of %s on %s, %s behind the middle rank "
				    "(median; at most %s); "
				    "%s the last rank took %s of the run%s%s",
				report_rank(r, (uint32_t)s->who->key.b), out_percent(s->share),
				out_plural(s->comm->meetings, "operation", "operations"),
				comm_label(&r->g.comms, s->comm->key.a, label),
				out_time((double)hist_quantile(&s->who->behind, 0.5)),
				out_time((double)s->who->behind.max),
				s->comm->stood_ns > s->comm->wait_ns
					? "asynchronous operations that stood open for"
					: "waiting for",
				out_percent(s->cost), *at ? "; the longest was called from " : "",
				at));
		free(at);
	}
	if (n > LIST_MAX)
		finding_add(r, FIND_NOTE, "straggler",
			tool_format(
				"%u more communicators have a rank that is mostly last: see below",
				n - LIST_MAX));
	free(list);
}

static void clocks(struct report *r)
{
	const struct skew_result *h = &r->g.hosts;

	if (h->corrected)
		finding_add(r, FIND_NOTE, "clocks",
			tool_format("the clocks of %s are wrong against the first host's (%s: %s "
				    "%s), told from the ends of "
				    "collective operations; times that compare ranks are corrected "
				    "for that",
				out_plural(h->corrected, "host", "hosts"), h->host,
				out_time(h->largest < 0 ? -(double)h->largest : (double)h->largest),
				h->largest < 0 ? "behind" : "ahead"));
	if (h->unknown)
		finding_add(r, FIND_NOTE, "clocks",
			tool_format("the clocks of %s could not be compared with the others: who "
				    "came last there is only "
				    "as true as these clocks",
				out_plural(h->unknown, "host", "hosts")));
}

static void own_cost(struct report *r)
{
	double own = 0, share;

	for (unsigned i = 0; i < r->g.folders.n; i++)
		own += r->g.folders.dir[i].meta.own_calls_s;
	share = r->g.life_ns > 0 ? own * 1e9 / r->g.life_ns : 0;
	if (share >= OWN_MIN && r->g.life_ns >= LIFE_MIN * r->g.folders.n)
		finding_add(r, FIND_NOTE, "cost",
			tool_format("%s of the run was spent in libprobe itself; stack: false, "
				    "max_bytes or step_interval make "
				    "it less",
				out_percent(share)));
}

void find_timing(struct report *r)
{
	stragglers(r);
	clocks(r);
	own_cost(r);
}
