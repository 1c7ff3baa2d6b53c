/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/step_order.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/rules/sequence/window.h"

#define STEPS_LOOKED_AT 10 /* before that one, for one with the same calls */
#define USUAL_STEPS 3 /* with the same calls in the same order, before one with another order */

void step_orders_init(struct step_orders *s, unsigned nrank)
{
	s->rank = tool_alloc((nrank + 1) * sizeof(*s->rank));
	s->n = nrank;
}

void step_orders_free(struct step_orders *s)
{
	free(s->rank);
}

/* The sort of step with the same calls; one that is not known yet takes the place of the rarest. */
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

static void note_odd_step(struct order_seen *r, const struct call *first, uint64_t usual)
{
	if (r->odd++)
		return;
	r->odd_first = *first;
	r->odd_usual = usual;
}

static void end_ordered_step(struct order_seen *r, const struct call *first)
{
	struct ordered_step *usual = find_step_sort(r);
	bool known = usual->n >= USUAL_STEPS;

	if (known && usual->order != r->now.order) {
		note_odd_step(r, first, usual->n);
		return;
	}
	if (usual->order != r->now.order) {
		*usual = r->now;
		usual->n = 0;
	}
	usual->n++;
	if (!known && r->astray)
		note_odd_step(r, first, r->astray);
}

/* What is only started may be started when something else has been completed. */
static bool is_ordered(const struct call *c)
{
	return !(c->bits & (CALL_NESTED | CALL_ASYNC | CALL_OPEN));
}

static uint64_t hash_kind_of_call(const struct call *c)
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
			r->sort[i].n >= USUAL_STEPS)
			r->astray = r->sort[i].order != r->now.order ? r->sort[i].n : 0;
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

static uint64_t what_entry_is(const struct entry *e, enum order_way way)
{
	return way == ORDER_BY_PLACE ? e->place : hash_kind_of_call(&e->call);
}

/* The calls of that step of first's thread, in their order. Returns how many; *set: what they are, in any order. */
static unsigned list_step(const struct rank_window *r, const struct call *first, uint64_t step,
	enum order_way way, const struct entry **list, uint64_t *set)
{
	unsigned n = 0;

	*set = 0;
	for (unsigned i = 0; i < r->n; i++) {
		const struct entry *e = &r->e[i];

		if (e->call.step != step || e->call.thread != first->thread ||
			!is_ordered(&e->call))
			continue;
		*set += hash_u64(0, what_entry_is(e, way));
		list[n++] = e;
	}
	return n;
}

/* Does the step begin with the calls that are another one, in whichever order? */
static bool begins_with(
	const struct entry **now, unsigned n, enum order_way way, unsigned k, uint64_t set)
{
	uint64_t own = 0;

	for (unsigned i = 0; i < k && k <= n; i++)
		own += hash_u64(0, what_entry_is(now[i], way));
	return k && k <= n && own == set;
}

struct verdict explain_step_order(
	const struct order_seen *odd, enum order_way way, const struct window *w)
{
	const struct call *first = &odd->odd_first;
	struct verdict v = {.kind = VERDICT_NONE, .rank = first->rank, .step = first->step};
	const struct rank_window *r = NULL;
	const struct entry **now, **was;
	uint64_t set;
	unsigned n, k, like = 0, i = 0;

	for (unsigned j = 0; j < w->n; j++)
		if (w->rank[j].rank == first->rank)
			r = &w->rank[j];
	if (!r)
		return v;
	now = tool_alloc((r->n + 1) * sizeof(*now));
	was = tool_alloc((r->n + 1) * sizeof(*was));
	n = list_step(r, first, first->step, way, now, &set);
	for (uint64_t step = first->step;
		!like && step-- > 0 && first->step - step <= STEPS_LOOKED_AT;) {
		k = list_step(r, first, step, way, was, &set);
		like = begins_with(now, n, way, k, set) ? k : 0;
	}
	while (i < like && what_entry_is(now[i], way) == what_entry_is(was[i], way))
		i++;
	if (i < like) {
		v.kind = VERDICT_ORDER;
		v.call = now[i]->call;
		v.usual = was[i]->call;
		v.before = i ? now[i - 1]->call : now[i]->call;
		v.times = (unsigned)odd->odd_usual;
		v.event = first->start;
	}
	free(now);
	free(was);
	return v;
}
