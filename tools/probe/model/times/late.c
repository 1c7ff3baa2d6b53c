/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/late.h"

#include <stdlib.h>

#include "tools/lib/tool.h"

#define COMMS_MAX 65536u
#define MEMBERS_MAX (1u << 20)

void late_init(struct late *l, const struct clock_fix *skew)
{
	*l = (struct late){.skew = skew};
	table_init(&l->comms, sizeof(struct late_comm), COMMS_MAX);
	table_init(&l->members, sizeof(struct member), MEMBERS_MAX);
}

void late_free(struct late *l)
{
	for (uint32_t i = 0; i < l->comms.n; i++) {
		struct late_comm *c = table_at(&l->comms, i);

		hist_free(&c->lag);
		hist_free(&c->spread);
	}
	for (uint32_t i = 0; i < l->members.n; i++)
		hist_free(&((struct member *)table_at(&l->members, i))->lag);
	table_free(&l->comms);
	table_free(&l->members);
	free(l->starts);
}

static uint64_t corrected_start(const struct late *l, const struct arrival *a)
{
	return clock_set_right(&l->skew[a->rank], a->start);
}

const struct arrival *late_last(const struct late *l, const struct meeting *m)
{
	const struct arrival *last = &m->a[0];

	for (unsigned i = 1; i < m->n; i++)
		if (corrected_start(l, &m->a[i]) > corrected_start(l, last))
			last = &m->a[i];
	return last;
}

/* Returns the k-th smallest value; reorders v. */
static uint64_t select_smallest(uint64_t *v, unsigned n, unsigned k)
{
	unsigned lo = 0, hi = n - 1;

	while (lo < hi) {
		uint64_t pivot = v[lo + (hi - lo) / 2];
		unsigned i = lo, j = hi;

		for (;; i++, j--) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;

			uint64_t t = v[i];

			v[i] = v[j];
			v[j] = t;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

/*
 * Asynchronous operations overlap (the buckets of one backward pass). Time that was counted for one
 * of them is not counted again. The operations arrive in the order of completion. If one is out of
 * order, only its part after the time counted so far is added, so the sum is at most the true one.
 */
static double count_pending_time(
	struct late *l, const struct meeting *m, const struct arrival *a, uint64_t at)
{
	struct member *who = table_get(&l->members, m->comm, a->rank);
	uint64_t from = corrected_start(l, a), end = from + a->dur;

	if (!who)
		return 0;
	if (end > at)
		end = at;
	if (from < who->stood_until)
		from = who->stood_until;
	if (from >= end)
		return 0;
	who->stood_until = end;
	return (double)(end - from);
}

void late_meeting(struct late *l, const struct meeting *m, bool complete)
{
	struct late_comm *c = table_get(&l->comms, m->comm, 0);

	if (!c)
		return;
	c->mismatch += m->mismatch != MISMATCH_NOTHING;
	if (!complete || m->open) {
		c->incomplete++;
		return;
	}
	if (m->n > l->cap) {
		l->cap = m->n;
		l->starts = tool_realloc(l->starts, l->cap * sizeof(*l->starts));
	}

	const struct arrival *last = late_last(l, m);
	uint64_t at = corrected_start(l, last), shortest = UINT64_MAX, longest = 0;
	double waited = 0, stood = 0;
	bool held = false;

	for (unsigned i = 0; i < m->n; i++) {
		const struct arrival *a = &m->a[i];
		uint64_t wait = at - corrected_start(l, a);

		l->starts[i] = corrected_start(l, a);
		held |= a != last && a->dur > wait;
		/*
		 * A rank that left before the last one arrived did not wait for it (the sender of a
		 * broadcast).
		 */
		if (!m->async) {
			waited += (double)(wait < a->dur ? wait : a->dur);
			c->time_ns += (double)a->dur;
		} else if (a != last) {
			stood += count_pending_time(l, m, a, at);
		}
		if (a->dur < shortest)
			shortest = a->dur;
		if (a->dur > longest)
			longest = a->dur;
	}
	c->wait_ns += waited;
	c->stood_ns += stood;
	c->wait_squares += (waited + stood) * (waited + stood);
	c->meetings++;
	c->ranks = m->n;
	hist_add(&c->spread, longest - shortest);
	if (!held)
		return;
	c->held++;

	uint64_t lag = at - select_smallest(l->starts, m->n, (m->n - 1) / 2);
	struct member *who = table_get(&l->members, m->comm, last->rank);

	hist_add(&c->lag, lag);
	if (waited + stood > c->worst_ns) {
		c->worst_ns = waited + stood;
		c->worst_for = who;
	}
	if (!who)
		return;
	who->last++;
	if (!c->most || who->last > c->most->last)
		c->most = who;
	who->wait_ns += waited;
	who->stood_ns += stood;
	if (!c->costly || who->wait_ns + who->stood_ns > c->costly->wait_ns + c->costly->stood_ns)
		c->costly = who;
	if (waited + stood > who->worst_ns) {
		who->worst_ns = waited + stood;
		who->worst = m->longest;
	}
	hist_add(&who->lag, lag);
}
