/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the two calls that were swapped in the only step in which a rank made its calls in another
 * order.
 */
#include "tools/probe/rules/sequence/explain_order.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/sequence/excused.h"
#include "tools/probe/rules/sequence/window.h"

#define STEPS_LOOKED_AT 10 /* number of earlier steps in which the same calls are looked for */

static uint64_t what_entry_is(const struct entry *e, enum order_way way)
{
	return way == ORDER_BY_PLACE ? e->place : hash_kind_of_call(&e->call);
}

/*
 * Lists the calls of the thread of `first` in a step, in order. Returns their number. *set: a hash
 * of the calls, independent of their order.
 */
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

/*
 * Returns true if the first k of the n calls `now` are, in any order, the k calls of the other step. set: the sum of
 * the hashes of those.
 */
static bool has_same_first_calls(
	const struct entry **now, unsigned n, enum order_way way, unsigned k, uint64_t set)
{
	uint64_t own = 0;

	for (unsigned i = 0; i < k && k <= n; i++)
		own += hash_u64(0, what_entry_is(now[i], way));
	return k && k <= n && own == set;
}

/*
 * Lists the receives that the thread of `first` started in a step and that completed later, in the
 * order of their completion.
 */
static unsigned list_arrivals(const struct rank_window *r, const struct call *first, uint64_t step,
	const struct entry **list)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++) {
		const struct call *c = &r->e[i].call;
		unsigned at = n;

		if (c->step != step || c->thread != first->thread || !(c->bits & CALL_ASYNC) ||
			!is_receive(c))
			continue;
		for (; at && list[at - 1]->call.start + list[at - 1]->call.dur > c->start + c->dur;
			at--)
			list[at] = list[at - 1];
		list[at] = &r->e[i];
		n++;
	}
	return n;
}

/*
 * A rank may serve its peers in the order in which their messages arrive (MPI_Waitany,
 * MPI_ANY_SOURCE, MPI_Probe). Then one line of the program has another peer than before, or the
 * preceding requests completed in another order.
 */
static bool follows_arrivals(const struct rank_window *r, const struct entry *now,
	const struct entry *was, const struct call *first)
{
	const struct entry **these, **those;
	unsigned n, k, i = 0;

	if (!(now->call.bits & was->call.bits & CALL_P2P) || now->call.peer == was->call.peer)
		return false;
	if (now->loop == was->loop)
		return true;
	these = tool_alloc((r->n + 1) * sizeof(*these));
	those = tool_alloc((r->n + 1) * sizeof(*those));
	n = list_arrivals(r, first, now->call.step, these);
	k = list_arrivals(r, first, was->call.step, those);
	while (i < n && i < k &&
		hash_kind_of_call(&these[i]->call) == hash_kind_of_call(&those[i]->call))
		i++;
	free(these);
	free(those);
	return i < n && i < k;
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
		like = has_same_first_calls(now, n, way, k, set) ? k : 0;
	}
	while (i < like && what_entry_is(now[i], way) == what_entry_is(was[i], way))
		i++;
	if (i < like && !follows_arrivals(r, now[i], was[i], first)) {
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
