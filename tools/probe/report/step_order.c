/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/step_order.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"

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
static struct ordered_step *find_step_sort(struct rank_order *r)
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

static void end_ordered_step(struct rank_order *r)
{
	struct ordered_step *usual = find_step_sort(r);

	if (usual->order == r->now.order) {
		usual->n++;
	} else if (usual->n < USUAL_STEPS) {
		*usual = r->now;
		usual->n = 1;
	} else if (!r->odd++) {
		r->odd_first = r->first;
	}
}

/* What the call is, from whichever line: who changes two calls in a branch of its own makes both from new lines. */
static uint64_t hash_kind_of_call(const struct call *c)
{
	uint64_t h = hash_u64(hash_u64(c->comm, c->api), (uint64_t)c->dtype << 32 | c->redop);

	h = hash_u64(h, (uint64_t)c->root);
	return c->bits & CALL_P2P ? hash_u64(hash_u64(h, (uint64_t)c->peer), (uint64_t)c->tag) : h;
}

void note_step_order(struct step_orders *s, const struct call *c)
{
	struct rank_order *r = &s->rank[c->rank];
	uint64_t kind;

	/* What is only started may be started when something else has been completed. */
	if (c->bits & (CALL_NESTED | CALL_ASYNC | CALL_OPEN) || (r->any && c->thread != r->thread))
		return;
	if (r->any && c->step != r->step)
		end_ordered_step(r);
	if (!r->any || c->step != r->step) {
		r->any = true;
		r->thread = c->thread;
		r->step = c->step;
		r->now = (struct ordered_step){0};
		r->first = *c;
	}
	kind = hash_kind_of_call(c);
	r->now.order = hash_u64(r->now.order, kind);
	r->now.set += hash_u64(0, kind);
}

const struct call *find_odd_step_order(const struct step_orders *s)
{
	const struct call *one = NULL;

	for (unsigned i = 0; i < s->n; i++) {
		if (!s->rank[i].odd)
			continue;
		if (one || s->rank[i].odd > 1)
			return NULL;
		one = &s->rank[i].odd_first;
	}
	return one;
}
