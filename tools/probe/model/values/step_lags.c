/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the step numbers with which the ranks make a call, to find a rank that skipped a step
 * (results.h).
 */
#include "tools/probe/model/values/results.h"

#include <stdlib.h>

/* minimum number of steps with equal numbers, before a rank that lags by one step counts as having skipped one */
#define LAG_EQUAL 8
#define LAG_STEPS 3 /* minimum number of steps for which it has lagged since then */

/*
 * Finds the step *usual of more than half of the ranks. Returns the only rank in another step, or
 * NULL if there is none, or several.
 */
static const struct arrival *find_rank_in_other_step(const struct meeting *m, uint32_t *usual)
{
	const struct arrival *odd = NULL;
	unsigned same = 0;

	*usual = m->a[0].step;
	for (unsigned i = 0; i < m->n; i++)
		same += m->a[i].step == m->a[0].step;
	if (2 * same < m->n)
		*usual = m->a[1].step;
	for (unsigned i = 0; i < m->n; i++) {
		if (m->a[i].step == *usual)
			continue;
		if (odd)
			return NULL;
		odd = &m->a[i];
	}
	return odd;
}

static void note_odd_rank(const struct results *r, struct odd_count *k, const struct meeting *m,
	const struct arrival *odd, uint32_t usual)
{
	const struct arrival *of = odd;

	if (k->any || !odd) {
		k->several |= !odd || odd->rank != k->rank;
		return;
	}
	*k = (struct odd_count){.any = true,
		.several = k->several,
		.more = odd->step < usual,
		.rank = odd->rank,
		.other_step = usual,
		.event = meeting_event(r, m)};
	for (unsigned i = 0; !k->more && i < m->n && of == odd; i++)
		of = &m->a[i];
	k->call = call_of_arrival(m, of);
	k->call.step = of->step;
}

static void note_steps_apart(struct step_lag *k, const struct meeting *m)
{
	k->apart = true;
	k->apart_from = m->a[0].step;
	for (unsigned i = 1; i < m->n; i++)
		if (m->a[i].step < k->apart_from)
			k->apart_from = m->a[i].step;
}

void note_unfinished(struct results *r, const struct meeting *m)
{
	struct step_lag *k = table_find(&r->lags, m->comm, 0);
	bool made = false;

	if (!k)
		return;
	for (unsigned i = 0; i < m->n; i++)
		made |= m->a[i].rank == k->odd.rank;
	k->odd.left++;
	k->odd.explained += k->odd.more ? made && m->n == 1 : !made && m->n + 1 == m->want;
}

const struct odd_count *first_odd_count(const struct results *r)
{
	const struct odd_count *best = NULL;

	for (uint32_t i = 0; i < r->lags.n; i++) {
		const struct odd_count *k = &((const struct step_lag *)table_at(&r->lags, i))->odd;

		if (k->any && !k->several && k->left && k->left == k->explained &&
			(!best || k->event < best->event))
			best = k;
	}
	return best;
}

/*
 * Steps are marked by the program or are those of an optimizer, so all ranks are in the same step
 * whenever they meet. A rank whose step is one less from some point on has skipped a step, and its
 * weights differ. If ranks are in different steps only occasionally, nothing is reported.
 */
void judge_steps(struct results *r, const struct meeting *m)
{
	struct step_lag *k;
	const struct arrival *odd;
	uint32_t usual;
	bool equal = true;
	int64_t lag;

	if (!(k = table_get(&r->lags, m->comm, 0)))
		return;
	for (unsigned i = 1; i < m->n; i++)
		equal &= m->a[i].step == m->a[0].step;
	if (!equal && !k->apart)
		note_steps_apart(k, m);
	/* With two ranks it is not known which one is wrong. */
	if (m->n < 3)
		return;
	odd = equal ? NULL : find_rank_in_other_step(m, &usual);
	if (!equal)
		note_odd_rank(r, &k->odd, m, odd, usual);
	if (k->mixed)
		return;
	if (equal) {
		k->mixed = k->since > 0;
		k->equal += !k->equal || k->last != m->a[0].step;
		k->last = m->a[0].step;
		return;
	}
	lag = odd ? (int64_t)usual - (int64_t)odd->step : 0;
	if (!odd || k->equal < LAG_EQUAL || (k->since && (k->rank != odd->rank || k->lag != lag))) {
		k->mixed = true;
		return;
	}
	if (!k->since) {
		k->rank = odd->rank;
		k->lag = lag;
		k->call = call_of_arrival(m, odd);
		k->call.step = lag > 0 ? odd->step : usual;
		k->event = meeting_event(r, m);
	}
	k->since += !k->since || k->last != usual;
	k->last = usual;
}

const struct step_lag *first_step_lag(const struct results *r)
{
	const struct step_lag *best = NULL;

	for (uint32_t i = 0; i < r->lags.n; i++) {
		const struct step_lag *k = table_at(&r->lags, i);

		if (!k->mixed && k->since >= LAG_STEPS && (!best || k->event < best->event))
			best = k;
	}
	return best;
}
