/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/given_up.h"

static bool has_given_up(const struct arrival *a)
{
	return a->failed && a->dur != UINT64_MAX && a->dur >= GIVEN_UP_NS;
}

void note_given_up(struct given_up *g, const struct meeting *m, const struct clock_fix *skew)
{
	const struct arrival *late = NULL, *longest = NULL;
	uint64_t first = UINT64_MAX, last = 0, came;
	unsigned waiters = 0;

	for (unsigned i = 0; i < m->n; i++) {
		const struct arrival *a = &m->a[i];

		if (has_given_up(a)) {
			uint64_t end = clock_set_right(&skew[a->rank], a->start) + a->dur;

			first = end < first ? end : first;
			last = end > last ? end : last;
			longest = !longest || a->dur > longest->dur ? a : longest;
			waiters++;
		} else if (!late || clock_set_right(&skew[a->rank], a->start) >
					    clock_set_right(&skew[late->rank], late->start)) {
			late = a;
		}
	}
	came = late ? clock_set_right(&skew[late->rank], late->start) : 0;
	if (!waiters || came <= last || (g->any && g->event <= first))
		return;
	*g = (struct given_up){.any = true,
		.late = call_of_arrival(m, late),
		.waiter = call_of_arrival(m, longest),
		.waiters = waiters,
		.waited_ns = longest->dur,
		.after_ns = came - last,
		.event = first};
	g->late.step = late->step;
}

bool is_given_up(const struct given_up *g, const struct call *c)
{
	return g->any && c->comm == g->late.comm && c->comm_seq == g->late.comm_seq &&
	       !(c->bits & (CALL_P2P | CALL_LOCAL));
}
