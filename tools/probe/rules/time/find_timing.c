/* SPDX-License-Identifier: Apache-2.0 */
/* Finds ranks that delay the others, and the cost of the recording itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/probe/model/shared_cores.h"
#include "tools/probe/model/times/noise.h"
#include "tools/probe/rules/report.h"
#include "tools/lib/tool.h"

#define WAITS_MIN 8 /* minimum number of long waits; they count only if ... */
#define WAITS_SHARE 0.1 /* ... they are at least this share of the operations, ... */
#define WAITS_ENOUGH 20 /* ... or at least this many: a step may have hundreds of operations */
/* share of the run spent waiting: on a busy host, any two ranks wait a little for each other */
#define COST_MIN 0.03
#define WARN_COST 0.1 /* share of the run; below it the finding is a note instead of a warning */
#define OWN_MIN 0.05 /* share of the run spent in libprobe's code from which it is reported */
#define LIFE_MIN 2e9 /* ns; a shorter run consists mostly of its start */
#define LIST_MAX 4 /* maximum number of stragglers that are named */

/*
 * Returns the share of the waiting time that no rank causes by chance: half of it with two ranks.
 */
static double share_min(unsigned ranks)
{
	return 0.5 + 0.5 / ranks;
}

/*
 * Does this rank cause more waiting time than chance explains? By chance, any of the ranks causes
 * an operation's wait: the share of one rank is then 1/ranks, with the variance p(1-p) sum w^2 /
 * (sum w)^2. A step has several operations, and a slow rank is late only for the first of them.
 * Chance decides which rank arrives last in the others, but that costs little. The worst wait does
 * not count, because a single wait is not a habit. Returns an upper bound of the probability that a
 * rank of the communicator causes this much by chance.
 */
static double chance_of_waits(const struct member *m, const struct late_comm *c)
{
	double all = c->wait_ns + c->stood_ns - c->worst_ns, p = 1.0 / c->ranks;
	double squares = c->wait_squares - c->worst_ns * c->worst_ns;
	double own = m->wait_ns + m->stood_ns - (c->worst_for == m ? c->worst_ns : 0);

	if (all <= 0 || squares <= 0 || own < share_min(c->ranks) * all)
		return 1;

	/* This number of operations with equal waits would have the same weight. */
	double long_ones = all * all / squares;

	if (long_ones < WAITS_MIN ||
		(long_ones < WAITS_ENOUGH && long_ones < WAITS_SHARE * (double)c->held))
		return 1;

	double z = (own / all - p) / sqrt(p * (1 - p) * squares / (all * all));

	return 0.5 * erfc(z / M_SQRT2) * c->ranks;
}

static struct straggler check_last_rank(const struct report *r, const struct late_comm *c)
{
	struct straggler s = {.comm = c, .who = c->costly};

	if (!s.who || !c->held || r->g.life_ns <= 0)
		return s;
	s.share = (double)s.who->last / (double)c->held;
	s.cost = (c->wait_ns + c->stood_ns) / r->g.life_ns;
	s.typical_cost = (c->wait_ns + c->stood_ns - c->worst_ns) / r->g.life_ns;
	/* Each communicator is one of several tests. */
	s.matters = s.typical_cost >= COST_MIN &&
		    chance_of_waits(s.who, c) * r->g.late.comms.n <= FALSE_ALARMS;
	return s;
}

struct straggler report_straggler(const struct report *r, const struct late_comm *c)
{
	struct straggler s = check_last_rank(r, c);

	s.matters = s.matters && !is_late_by_messages(&r->g.diagnose.pace, (uint32_t)s.who->key.b,
					 (double)hist_quantile(&s.who->lag, 0.5));
	return s;
}

/*
 * Returns a sentence that this host runs more ranks than it has cores, or as many; malloc'd. NULL:
 * it does not, or that is unknown (other hosts). On such a host each rank occasionally waits for a
 * core, because of threads of libraries or other work, and the other ranks wait for it.
 */
char *describe_oversubscription(const struct report *r)
{
	struct shared_cores s;

	if (!are_cores_shared(&r->g, &s))
		return NULL;
	return tool_format("; %s: %u ranks share %ld cores, so a rank may "
			   "arrive last only because no core was free",
		s.ranks > (unsigned long)s.cores ? "the cores are oversubscribed"
						 : "no core is free for anything else",
		s.ranks, s.cores);
}

/* Formats which ranks a comparison lacks; malloc'd. */
static char *unread_text(const struct report *r, uint64_t comm)
{
	struct unread u;
	char *who, *text;

	gather_unread(&r->g, comm, &u);
	who = u.n ? out_format_ranks(u.rank, u.n) : NULL;
	text = u.n ? tool_format("; %s %s not read", who, u.n == 1 ? "was" : "were")
		   : tool_strdup("");
	free(who);
	free(u.rank);
	return text;
}

static int by_cost(const void *x, const void *y)
{
	const struct straggler *a = x, *b = y;

	return a->cost > b->cost		 ? -1
	       : a->cost < b->cost		 ? 1
	       : a->comm->key.a < b->comm->key.a ? -1
						 : 1;
}

static void find_stragglers(struct report *r)
{
	const struct table *t = &r->g.late.comms;
	struct straggler *list = NULL;
	unsigned n = 0, cap = 0;
	char label[COMM_LABEL_MAX], *crowded = describe_oversubscription(r);

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
		char *unread = unread_text(r, s->comm->key.a);
		struct finding *f;

		f = add_finding(r,
			crowded || s->typical_cost < WARN_COST ? FINDING_STRAGGLER_DOUBTFUL
							       : FINDING_STRAGGLER,
			tool_format("%s arrives last in %s of %s on %s, %s after the middle rank "
				    "(median; at most %s); "
				    "%s the last rank took %s of the run%s%s%s%s",
				report_rank(r, (uint32_t)s->who->key.b),
				out_format_percent(s->share),
				out_format_plural(s->comm->held, "operation", "operations"),
				comm_format_label(&r->g.comms, s->comm->key.a, label),
				out_format_duration((double)hist_quantile(&s->who->lag, 0.5)),
				out_format_duration((double)s->who->lag.max),
				s->comm->stood_ns > s->comm->wait_ns
					? "asynchronous operations that were pending for"
					: "waiting for",
				out_format_percent(s->cost),
				*at ? "; the longest was called from " : "", at, unread,
				crowded ? crowded : ""));
		name_culprit(r, f, (uint32_t)s->who->key.b);
		name_call(f, c);
		f->event = 0; /* a habit has no start time */
		free(at);
		free(unread);
	}
	if (n > LIST_MAX)
		add_finding(r, FINDING_STRAGGLER_DOUBTFUL,
			tool_format("%u more communicators have a rank that arrives last most "
				    "often: see below",
				n - LIST_MAX));
	free(crowded);
	free(list);
}

static void find_wrong_clocks(struct report *r)
{
	const struct skew_result *h = &r->g.hosts;
	char *drift = NULL;

	if (h->drift)
		drift = tool_format(", and %s %s in each second", h->drift < 0 ? "loses" : "gains",
			out_format_duration(fabs(h->drift) * 1e9));
	if (h->corrected)
		add_finding(r, FINDING_CLOCKS,
			tool_format(
				"the clocks of %s differ from the first host's (%s: %s %s%s), told "
				"from collective operations; times that compare ranks are "
				"corrected for that, to +-%s",
				out_format_plural(h->corrected, "host", "hosts"), h->host,
				out_format_duration(fabs((double)h->largest)),
				h->largest < 0 ? "behind" : "ahead", drift ? drift : "",
				out_format_duration(h->error_ns)));
	free(drift);
	if (h->unknown)
		add_finding(r, FINDING_CLOCKS,
			tool_format("the clocks of %s could not be compared with the others: which "
				    "rank arrives last there is only "
				    "as certain as these clocks",
				out_format_plural(h->unknown, "host", "hosts")));
}

/*
 * True for keys that cost time at the start, because they search for parameters before the first
 * step has ended.
 */
static bool is_key_on(const struct report *r, const char *key)
{
	for (unsigned i = 0; i < r->g.folders.n; i++)
		if (strstr(r->g.folders.dir[i].meta.costly, key))
			return true;
	return false;
}

/* Reports the cost of the recording: that before the third step, and that of each later step. */
static void own_cost(struct report *r)
{
	double own = 0, start = 0, life = 0, share, all;
	bool known = r->g.folders.n > 0;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];
		const double after = (double)r->g.rank[i].last_ns - (double)d->meta.own_start_ns;

		own += d->meta.own_calls_s * 1e9;
		known = known && d->meta.own_start_s >= 0 && after > 0;
		start += d->meta.own_start_s * 1e9;
		life += after;
	}
	all = r->g.life_ns > 0 ? own / r->g.life_ns : 0;
	share = known ? (own - start) / life : all;
	if ((all < OWN_MIN && share < OWN_MIN) || r->g.life_ns < LIFE_MIN * r->g.folders.n)
		return;
	if (known && share < OWN_MIN) {
		add_finding(r, FINDING_COST,
			tool_format("libprobe took %s a rank once, before the third step%s; after "
				    "it %s of "
				    "the time",
				out_format_duration(start / r->g.folders.n),
				is_key_on(r, "scalars") || is_key_on(r, "kinds") ||
						is_key_on(r, "names") || is_key_on(r, "metrics")
					? " (keys scalars, kinds, names and metrics search for the "
					  "parameters then)"
					: "",
				out_format_percent(share)));
		return;
	}
	add_finding(r, FINDING_COST,
		tool_format("%s of the %s was spent in libprobe itself; these keys are on and take "
			    "time: %s; "
			    "max_bytes and step_interval make it less",
			out_format_percent(share), known ? "time after the first two steps" : "run",
			r->g.folders.dir[0].meta.costly));
}

void find_timing(struct report *r)
{
	find_stragglers(r);
	find_wrong_clocks(r);
	own_cost(r);
}
