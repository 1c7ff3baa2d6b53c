/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/step_order.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/values/evidence.h"

/* minimum number of steps with the same calls in the usual order before one with another order */
#define USUAL_STEPS 3

void step_orders_init(struct step_orders *s, unsigned nrank)
{
	s->rank = tool_alloc((nrank + 1) * sizeof(*s->rank));
	s->n = nrank;
}

void step_orders_free(struct step_orders *s)
{
	free(s->rank);
}

/* Returns the kind of step with the same calls. A new kind replaces the rarest. */
static struct ordered_step *find_step_sort(struct order_seen *r)
{
	struct ordered_step *rarest = r->sort;

	for (unsigned i = 0; i < STEP_SORTS; i++) {
		if (r->sort[i].n && r->sort[i].set == r->now.set)
			return &r->sort[i];
		if (r->sort[i].n < rarest->n)
			rarest = &r->sort[i];
	}
	*rarest = r->now;
	return rarest;
}

static void record_odd_step(
	struct order_seen *r, const struct call *first, uint64_t usual, uint64_t set)
{
	if (r->odd++)
		return;
	r->odd_first = *first;
	r->odd_usual = usual;
	r->odd_set = set;
}

static void end_ordered_step(struct order_seen *r, const struct call *first)
{
	struct ordered_step *usual = find_step_sort(r);
	bool known = usual->n >= USUAL_STEPS;

	if (known && usual->order != r->now.order) {
		record_odd_step(r, first, usual->n, usual->set);
		return;
	}
	if (usual->order != r->now.order) {
		*usual = r->now;
		usual->n = 0;
	}
	usual->n++;
	if (!known && r->astray)
		record_odd_step(r, first, r->astray, r->astray_set);
}

bool is_ordered(const struct call *c)
{
	return !(c->bits & (CALL_NESTED | CALL_ASYNC | CALL_OPEN));
}

uint64_t hash_kind_of_call(const struct call *c)
{
	uint64_t h = hash_u64(hash_u64(c->comm, c->api), (uint64_t)c->dtype << 32 | c->redop);

	h = hash_u64(h, (uint64_t)c->root);
	return c->bits & CALL_P2P ? hash_u64(hash_u64(h, (uint64_t)c->peer), (uint64_t)c->tag) : h;
}

static void note_ordered_call(struct order_seen *r, uint64_t what)
{
	r->now.order = hash_u64(r->now.order, what);
	r->now.set += hash_u64(0, what);
	r->now.calls++;
	for (unsigned i = 0; i < STEP_SORTS; i++)
		if (r->sort[i].calls == r->now.calls && r->sort[i].set == r->now.set &&
			r->sort[i].n >= USUAL_STEPS) {
			r->astray = r->sort[i].order != r->now.order ? r->sort[i].n : 0;
			r->astray_set = r->now.set;
		}
}

void note_step_order(struct step_orders *s, const struct call *c)
{
	struct rank_order *r = &s->rank[c->rank];

	if (!is_ordered(c) || (r->any && c->thread != r->thread))
		return;
	for (unsigned w = 0; w < ORDER_WAYS; w++) {
		if (r->any && c->step != r->step)
			end_ordered_step(&r->by[w], &r->first);
		if (!r->any || c->step != r->step) {
			r->by[w].now = (struct ordered_step){0};
			r->by[w].astray = 0;
		}
	}
	if (!r->any || c->step != r->step) {
		r->any = true;
		r->thread = c->thread;
		r->step = c->step;
		r->first = *c;
	}
	note_ordered_call(&r->by[ORDER_BY_PLACE], hash_place(c));
	note_ordered_call(&r->by[ORDER_BY_KIND], hash_kind_of_call(c));
}

/* Returns the number of steps of all ranks with the calls of the odd one, in the usual order. */
static double count_confirmed(
	const struct step_orders *s, enum order_way way, const struct order_seen *odd)
{
	double n = 0;

	for (unsigned i = 0; i < s->n; i++)
		for (unsigned k = 0; k < STEP_SORTS; k++)
			if (s->rank[i].by[way].sort[k].set == odd->odd_set)
				n += (double)s->rank[i].by[way].sort[k].n;
	return n;
}

static const struct order_seen *find_only_odd(const struct step_orders *s, enum order_way way)
{
	const struct order_seen *one = NULL;

	for (unsigned i = 0; i < s->n; i++) {
		const struct order_seen *o = &s->rank[i].by[way];

		if (!o->odd)
			continue;
		if (one || o->odd > 1)
			return NULL;
		one = o;
	}
	/* Where data decide the order, a few equal steps mean nothing. */
	if (one && weigh_evidence(chance_of_break(count_confirmed(s, way, one))) != WEIGHT_BAD)
		return NULL;
	return one;
}

const struct order_seen *find_odd_step_order(const struct step_orders *s, enum order_way *way)
{
	const struct order_seen *one = NULL;

	for (unsigned w = 0; w < ORDER_WAYS && !one; w++) {
		one = find_only_odd(s, w);
		*way = w;
	}
	return one;
}
