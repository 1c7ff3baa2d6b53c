/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/call_order.h"

#include <stdlib.h>
#include <string.h>

#include "journal/layout.h"
#include "tools/lib/tool.h"

#define HELD_MAX 32

struct held_calls {
	struct call call[HELD_MAX];
	/* order: indices of the n calls, by time of entry; spare: free indices. */
	uint8_t order[HELD_MAX], spare[HELD_MAX];
	unsigned n;
};

/* Returns NULL if the thread's calls are not sorted (yet). */
static uint64_t *find_thread_next(struct call_order *o, uint32_t thread)
{
	for (unsigned i = 0; i < ORDERED_THREADS; i++)
		if (o->of[i].thread == thread)
			return &o->of[i].next;
	return NULL;
}

static bool is_first_of_block(uint64_t seq)
{
	return seq % SEQ_BLOCK == SEQ_FIRST % SEQ_BLOCK;
}

static bool has_turn(struct call_order *o, const struct call *c)
{
	const uint64_t *next = find_thread_next(o, c->thread);

	return !next || c->seq <= *next || (is_first_of_block(c->seq) && is_first_of_block(*next));
}

static void record_taken_call(struct call_order *o, const struct call *c)
{
	uint64_t *next = find_thread_next(o, c->thread);

	if (!next) {
		unsigned i = o->evicted++ % ORDERED_THREADS;

		o->of[i].thread = c->thread;
		next = &o->of[i].next;
		*next = 0;
	}
	if (c->seq >= *next)
		*next = c->seq + 1;
}

static bool is_earlier_call(const struct call *a, const struct call *b)
{
	return a->start != b->start ? a->start < b->start : a->seq < b->seq;
}

bool hold_early_call(struct call_order *o, const struct call *c)
{
	struct held_calls *h = o->held;
	unsigned i;
	uint8_t at;

	if (has_turn(o, c)) {
		record_taken_call(o, c);
		return false;
	}
	if (!h) {
		h = o->held = tool_alloc(sizeof(*h));
		for (i = 0; i < HELD_MAX; i++)
			h->spare[i] = (uint8_t)i;
	}
	i = h->n++;
	at = h->spare[HELD_MAX - h->n];
	h->call[at] = *c;
	for (; i && is_earlier_call(c, &h->call[h->order[i - 1]]); i--)
		h->order[i] = h->order[i - 1];
	h->order[i] = at;
	return true;
}

bool take_held_call(struct call_order *o, struct call *c, bool ended)
{
	struct held_calls *h = o->held;
	unsigned i = 0;
	uint8_t at;

	if (!h)
		return false;
	if (!ended && h->n < HELD_MAX)
		while (i < h->n && !has_turn(o, &h->call[h->order[i]]))
			i++;
	if (i == h->n)
		return false;
	at = h->order[i];
	*c = h->call[at];
	h->spare[HELD_MAX - h->n] = at;
	h->n--;
	memmove(h->order + i, h->order + i + 1, h->n - i);
	record_taken_call(o, c);
	if (!h->n)
		free_call_order(o);
	return true;
}

void free_call_order(struct call_order *o)
{
	free(o->held);
	o->held = NULL;
}
