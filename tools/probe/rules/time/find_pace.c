/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that compute for longer, not counting waits; links that are slower than others. */
#include <math.h>
#include <stdlib.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/report.h"

#define LONGER_BEFORE 4 /* longer rounds that are needed before a rank is slow in them */
#define LINK_MESSAGES 8
#define LINK_STREAK 5 /* consecutive messages */
#define LINK_TIMES 2 /* other links vary by this factor from noise */
#define LINK_LONG_STREAK 10 /* for a streak of this length ... */
#define LINK_USUAL_TIMES 4 /* ... this factor over the others' usual time is enough */

static struct finding *add_pace(
	struct report *r, enum finding_kind kind, const struct pace_found *p, char *text)
{
	struct finding *f = add_finding(r, kind, text);
	struct call c = {.rank = p->rank, .step = p->step, .comm_seq = NO_NUMBER};

	name_culprit(r, f, p->rank);
	name_call(f, &c);
	f->event = 0;
	return f;
}

/*
 * How much more time libprobe itself took on this rank than on any other, in ns a step. That time is between calls: if one rank alone gets
 * results, they are measured after its flush.
 */
static double own_surplus(const struct report *r, uint32_t rank, uint64_t steps)
{
	const struct folders *f = &r->g.folders;
	double others = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (i != rank)
			others = fmax(others, f->dir[i].meta.own_calls_s);
	return (f->dir[rank].meta.own_calls_s - others) * 1e9 / (double)steps;
}

/* The step in which that longer round of a rank began. */
static uint64_t step_of_longer_round(const struct report *r, uint32_t rank, uint64_t round)
{
	const struct rank_dir *d = &r->g.folders.dir[rank];
	const struct round_end *before =
		round && round <= d->nlonger ? &d->longer[round - 1] : NULL;

	return before ? count_rounds_before(d->round, d->nround, before->start, before->seq) : 0;
}

/*
 * If steps are the rounds of a loop inside of a longer round, a rank that computes longer between the longer rounds does so in few steps.
 * It must have become slow: extra work from the beginning on may be its task (a checkpoint).
 */
static struct pace_found judge_longer_rounds(struct report *r, enum pace_kind kind)
{
	const struct pace *longer = &r->g.diagnose.longer;
	struct pace_found p = judge_pace(longer, kind);

	if (p.kind != kind || (kind == PACE_SLOW && p.step < longer->first_step + LONGER_BEFORE))
		return (struct pace_found){.kind = PACE_EVEN};
	p.step = step_of_longer_round(r, p.rank, p.step);
	return p;
}

static void find_slow_rank(struct report *r)
{
	struct pace_found p = judge_pace(&r->g.diagnose.pace, PACE_SLOW);
	uint64_t steps = r->g.last_step - r->g.first_step + 1;
	bool longer = p.kind != PACE_SLOW;

	if (longer)
		p = judge_longer_rounds(r, PACE_SLOW);
	if (longer && p.kind == PACE_SLOW)
		steps = r->g.folders.dir[p.rank].nlonger + 1;
	/*
	 * More than a third is enough: a rank that loses its processor also loses it while libprobe works, and not all of that is counted.
	 */
	if (p.kind != PACE_SLOW || own_surplus(r, p.rank, steps) >= (p.seen - p.usual) / 3)
		return;
	add_pace(r, FINDING_SLOW, &p,
		tool_format("%s computes longer from step %llu on: %s outside of recorded calls in "
			    "%s (median), the others %s; so in %s of %s since. The others "
			    "differ by %s "
			    "among themselves",
			report_rank(r, p.rank), (unsigned long long)p.step, out_time(p.seen),
			longer ? "each of the longer rounds that its calls make" : "a step",
			out_time(p.usual), out_percent(p.share), longer ? "these" : "the steps",
			out_time(p.spread)));
}

static bool find_jitter(struct report *r)
{
	struct pace_found p = judge_pace(&r->g.diagnose.pace, PACE_JITTER);
	bool longer = p.kind != PACE_JITTER;
	char *crowded;

	if (longer)
		p = judge_longer_rounds(r, PACE_JITTER);
	if (p.kind != PACE_JITTER)
		return false;
	crowded = describe_oversubscription(r);
	add_pace(r, crowded ? FINDING_JITTER_DOUBTFUL : FINDING_JITTER, &p,
		tool_format(
			"%s is slower than the others from time to time: in %s of %s, first "
			"in step %llu, by %s (90 %% "
			"quantile), while the median of its other ones differs by at most %s; the "
			"other ranks spread by %s%s",
			report_rank(r, p.rank), out_percent(p.share),
			longer ? "the longer rounds that its calls make" : "its steps",
			(unsigned long long)p.step, out_time(p.seen),
			out_time(p.usual < 0 ? -p.usual : p.usual), out_time(p.spread),
			crowded ? crowded : ""));
	free(crowded);
	return true;
}

static void find_stalls(struct report *r, bool jitter)
{
	struct pace_found p = judge_pace(&r->g.diagnose.pace, PACE_STALL);

	if (p.kind == PACE_STALL)
		add_pace(r, FINDING_STALL, &p,
			tool_format("%s stalled for %s in step %llu outside of recorded calls, "
				    "and the others waited "
				    "for it%s; p90 of all steps: %s",
				report_rank(r, p.rank), out_time(p.seen),
				(unsigned long long)p.step, p.times > 1 ? ", not only once" : "",
				out_time(p.usual)));
	else if (p.kind == PACE_JITTER && !jitter)
		add_pace(r, FINDING_JITTER_DOUBTFUL, &p,
			tool_format("%s stalls from time to time, for up to %s outside of "
				    "recorded calls, and the others wait for it: in %s of its "
				    "steps; p90 of all steps: %s",
				report_rank(r, p.rank), out_time(p.seen), out_percent(p.share),
				out_time(p.usual)));
}

static int by_link_time(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* The median of the other links' quantile q. With q 0.9: delays that noise can cause. */
static double noise_of_links(const struct table *t, const struct link_stat *but, double q)
{
	double *v = tool_alloc((t->n + 1) * sizeof(*v)), all;
	unsigned n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct link_stat *k = table_at(t, i);

		if (k != but && k->time.n >= LINK_MESSAGES)
			v[n++] = (double)hist_quantile(&k->time, q);
	}
	qsort(v, n, sizeof(*v), by_link_time);
	all = n ? v[(n - 1) / 2] : INFINITY;
	free(v);
	return all;
}

/* Two ranks with traffic in one direction have no other link: compares with its own messages, without the slow ones. */
static double noise_of_itself(const struct link_stat *l, double q)
{
	uint64_t rest = l->time.n - l->best.n;

	if (rest < LINK_MESSAGES)
		return INFINITY;
	return (double)hist_quantile(&l->time, q * (double)rest / (double)l->time.n);
}

static void find_slow_link(struct report *r)
{
	const struct table *t = &r->g.diagnose.messages.links;
	const struct link_stat *l = NULL;
	double noise, usual;
	bool long_streak, alone;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct link_stat *k = table_at(t, i);

		if (k->best.n >= LINK_STREAK && (!l || k->best.least > l->best.least))
			l = k;
	}
	if (!l)
		return;
	noise = noise_of_links(t, l, 0.9);
	usual = noise_of_links(t, l, 0.5);
	alone = isinf(noise);
	if (alone) {
		noise = noise_of_itself(l, 0.9);
		usual = noise_of_itself(l, 0.5);
	}
	long_streak = (double)l->best.least < LINK_TIMES * noise;
	if (long_streak &&
		(l->best.n < LINK_LONG_STREAK || (double)l->best.least < LINK_USUAL_TIMES * usual))
		return;

	char *at = called_from_text(r, &l->slowest), *crowded = describe_oversubscription(r);
	struct finding *f = add_finding(r, crowded ? FINDING_LINK_DOUBTFUL : FINDING_LINK,
		tool_format("messages from %s to %s are slow from step %llu on: %s consecutive "
			    "ones took "
			    "%s and more from both ranks being there to the end of the receive; "
			    "%s of "
			    "%s take at most %s%s%s",
			report_rank(r, l->from), report_rank(r, l->to),
			(unsigned long long)l->best.step, out_count(l->best.n),
			out_time((double)l->best.least), long_streak ? "half" : "90 %",
			alone ? "its other ones" : "those of other links",
			out_time(long_streak ? usual : noise), at, crowded ? crowded : ""));

	name_culprit(r, f, l->from);
	name_culprit(r, f, l->to);
	name_call(f, &l->slowest);
	f->call.step = l->best.step;
	f->event = 0;
	free(at);
	free(crowded);
}

void find_pace(struct report *r)
{
	/* The time between two calls is not the program's if calls between them were skipped. */
	if (r->g.thinned)
		return;
	find_slow_rank(r);
	find_slow_link(r);
	find_stalls(r, find_jitter(r));
}
