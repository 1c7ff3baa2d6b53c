/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that compute for longer than others (waits excluded), and links that are slower than
 * others.
 */
#include <math.h>
#include <stdlib.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/times/noise.h"
#include "tools/probe/rules/report.h"

#define LONGER_BEFORE 4 /* minimum number of longer rounds before a rank is called slow in them */
#define LINK_SAMPLE 64u /* maximum number of messages of a link that are compared */

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
 * Returns how much more time per step, in ns, libprobe itself took on this rank than on any other
 * rank. That time is between calls: if only one rank gets results, they are measured after its
 * flush.
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

/* Returns the step in which a longer round of the rank began. */
static uint64_t step_of_longer_round(const struct report *r, uint32_t rank, uint64_t round)
{
	const struct rank_dir *d = &r->g.folders.dir[rank];
	const struct round_end *before =
		round && round <= d->nlonger ? &d->longer[round - 1] : NULL;

	return before ? get_rounds_before(d->round, d->nround, before->start, before->seq) : 0;
}

/*
 * If rounds of an inner loop count as steps, a rank that computes longer between the outer rounds
 * does so in few of these steps. It counts only if it became slow: extra work from the beginning
 * may be its task (a checkpoint).
 */
static struct pace_found check_longer_rounds(struct report *r, enum pace_kind kind)
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
		p = check_longer_rounds(r, PACE_SLOW);
	if (longer && p.kind == PACE_SLOW)
		steps = r->g.folders.dir[p.rank].nlonger + 1;
	/*
	 * More than a third is enough: a rank that loses its processor loses it in libprobe's code
	 * too, and not all of that time is counted.
	 */
	if (p.kind != PACE_SLOW || own_surplus(r, p.rank, steps) >= (p.seen - p.usual) / 3)
		return;
	add_pace(r, FINDING_SLOW, &p,
		tool_format("%s computes longer from step %llu on: %s outside of recorded calls in "
			    "%s (median), the others %s; so in %s of %s since. The others "
			    "differ by %s "
			    "among themselves",
			report_rank(r, p.rank), (unsigned long long)p.step,
			out_format_duration(p.seen),
			longer ? "each of the longer rounds that its calls make" : "a step",
			out_format_duration(p.usual), out_format_percent(p.share),
			longer ? "these" : "the steps", out_format_duration(p.spread)));
}

static bool find_jitter(struct report *r)
{
	struct pace_found p = check_longer_rounds(r, PACE_JITTER);
	bool longer = p.kind == PACE_JITTER;
	char *crowded;

	if (!longer)
		p = judge_pace(&r->g.diagnose.pace, PACE_JITTER);
	if (p.kind != PACE_JITTER)
		return false;
	crowded = describe_oversubscription(r);
	add_pace(r, crowded ? FINDING_JITTER_DOUBTFUL : FINDING_JITTER, &p,
		tool_format(
			"%s is slower than the others from time to time: in %s of %s, first "
			"in step %llu, by up to %s, while the median of its other ones differs by "
			"%s; three quarters of the other ranks' steps differ by less than %s%s",
			report_rank(r, p.rank), out_format_percent(p.share),
			longer ? "the longer rounds that its calls make" : "its steps",
			(unsigned long long)p.step, out_format_duration(p.seen),
			out_format_duration(p.usual < 0 ? -p.usual : p.usual),
			out_format_duration(p.spread), crowded ? crowded : ""));
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
				    "for it%s; three quarters of the other ranks' steps differ "
				    "by less than %s",
				report_rank(r, p.rank), out_format_duration(p.seen),
				(unsigned long long)p.step, p.times > 1 ? ", not only once" : "",
				out_format_duration(p.spread)));
	else if (p.kind == PACE_JITTER && !jitter)
		add_pace(r, FINDING_JITTER_DOUBTFUL, &p,
			tool_format("%s stalls from time to time, for up to %s outside of "
				    "recorded calls, and the others wait for it: in %s of its "
				    "steps; three quarters of the other ranks' steps differ by "
				    "less than %s",
				report_rank(r, p.rank), out_format_duration(p.seen),
				out_format_percent(p.share), out_format_duration(p.spread)));
}

/*
 * Stores up to LINK_SAMPLE quantiles of the link's n shortest messages in v. Returns their number.
 */
static unsigned sample_link(const struct link_stat *l, uint64_t n, double *v)
{
	unsigned k = n < LINK_SAMPLE ? (unsigned)n : LINK_SAMPLE;

	for (unsigned i = 0; i < k; i++)
		v[i] = (double)hist_quantile(
			&l->time, (i + 0.5) / k * (double)n / (double)l->time.n);
	return k;
}

/*
 * Measures the messages of the other links. If two ranks have traffic in one direction only, there
 * is no other link: then the link's own other messages are used, and the result is true.
 */
static bool measure_links(const struct table *t, const struct link_stat *but, struct noise *s,
	uint64_t *messages, double *again)
{
	double *v = tool_alloc((size_t)(t->n + 1) * LINK_SAMPLE * sizeof(*v));
	double longs = 0, following = 0;
	unsigned n = 0;

	*messages = but->time.n;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct link_stat *k = table_at(t, i);

		if (k == but)
			continue;
		n += sample_link(k, k->time.n, v + n);
		*messages += k->time.n;
		longs += (double)k->longs;
		following += (double)k->following;
	}
	if (!n)
		noise_init(s, v, sample_link(but, but->time.n - but->best.n, v));
	else
		noise_init(s, v, n);
	*again = chance_of_following(following, longs);
	return !n;
}

static void find_slow_link(struct report *r)
{
	const struct table *t = &r->g.diagnose.messages.links;
	const struct link_stat *l = NULL;
	struct noise noise;
	uint64_t messages;
	double again, usual, chance;
	bool alone;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct link_stat *k = table_at(t, i);

		if (k->best.n >= HABIT_TIMES && (!l || k->best.least > l->best.least))
			l = k;
	}
	if (!l)
		return;
	alone = measure_links(t, l, &noise, &messages, &again);
	chance = (double)messages * chance_of_excess(&noise, NULL, (double)l->best.least, &usual) *
		 chance_of_run(again, l->best.n - 1, l->best.n - 1);
	noise_free(&noise);
	if (chance > FALSE_ALARMS)
		return;

	char *at = called_from_text(r, &l->slowest), *crowded = describe_oversubscription(r);
	struct finding *f = add_finding(r, crowded ? FINDING_LINK_DOUBTFUL : FINDING_LINK,
		tool_format("messages from %s to %s are slow from step %llu on: %s consecutive "
			    "ones took "
			    "%s and more from both ranks being there to the end of the receive; "
			    "three quarters of %s take less than %s%s%s",
			report_rank(r, l->from), report_rank(r, l->to),
			(unsigned long long)l->best.step, out_format_count(l->best.n),
			out_format_duration((double)l->best.least),
			alone ? "its other ones" : "those of other links",
			out_format_duration(usual), at, crowded ? crowded : ""));

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
	/*
	 * If calls were not recorded, the time between two recorded calls is not only the program's
	 * own.
	 */
	if (r->g.thinned)
		return;
	find_slow_rank(r);
	find_slow_link(r);
	find_stalls(r, find_jitter(r));
}
