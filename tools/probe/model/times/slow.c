/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/slow.h"

#include <stdlib.h>

#include "tools/lib/tool.h"

void slow_init(struct slow *s, unsigned max)
{
	*s = (struct slow){.max = max};
	s->top = tool_alloc((max + 1) * sizeof(*s->top));
}

void slow_free(struct slow *s)
{
	free(s->top);
}

/* A total order, so that equal runs give equal output. */
static int by_call_duration(const void *x, const void *y)
{
	const struct call *a = &((const struct slow_call *)x)->call,
			  *b = &((const struct slow_call *)y)->call;

	if (a->dur != b->dur)
		return a->dur > b->dur ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void swap_slow_calls(struct slow *s, unsigned i, unsigned j)
{
	struct slow_call t = s->top[i];

	s->top[i] = s->top[j];
	s->top[j] = t;
}

static bool is_shorter_call(const struct slow *s, unsigned i, unsigned j)
{
	return by_call_duration(&s->top[i], &s->top[j]) > 0;
}

void slow_add(struct slow *s, const struct slow_call *c)
{
	unsigned i;

	if (!slow_wants(s, c->call.dur))
		return;
	if (s->n < s->max) {
		i = s->n++;
		s->top[i] = *c;
		for (; i && is_shorter_call(s, i, (i - 1) / 2); i = (i - 1) / 2)
			swap_slow_calls(s, i, (i - 1) / 2);
		return;
	}
	s->top[0] = *c;
	for (i = 0;;) {
		unsigned least = i;

		for (unsigned k = 2 * i + 1; k <= 2 * i + 2; k++)
			if (k < s->n && is_shorter_call(s, k, least))
				least = k;
		if (least == i)
			break;
		swap_slow_calls(s, i, least);
		i = least;
	}
}

void slow_sort(struct slow *s)
{
	if (s->n)
		qsort(s->top, s->n, sizeof(*s->top), by_call_duration);
}
