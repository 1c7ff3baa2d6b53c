/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/period.h"
#include "tools/lib/tool.h"

/*
 * The row of an asynchronous call is written when the call completes. If another thread completed
 * it, the row follows everything else that the writer found at that time, up to half a journal. So
 * calls are sorted in a window of this size.
 */
#define HELD_MAX 65536u

struct held {
	uint64_t start, seq, token;
	uint32_t api;
};

struct cycle {
	struct period period;
	struct held kept[PERIOD_KEPT]; /* the calls whose tokens the period has */
	struct held *held; /* a heap, the earliest call first */
	unsigned nheld, capheld;
	uint64_t first, first_seq, round_start;
	uint32_t once;
	struct hist time;
};

struct cycle *cycle_new(void)
{
	struct cycle *y = tool_alloc(sizeof(*y));

	period_init(&y->period);
	y->first = UINT64_MAX;
	return y;
}

void cycle_free(struct cycle *y)
{
	if (y) {
		hist_free(&y->time);
		free(y->held);
	}
	free(y);
}

static const struct held *kept_call(const struct cycle *y, uint64_t n)
{
	return &y->kept[n % PERIOD_KEPT];
}

/* Returns the last function of the round that is called only once in it. */
static uint32_t called_once(const struct cycle *y)
{
	const struct period *p = &y->period;

	for (uint64_t i = p->first + p->length; i-- > p->first;) {
		unsigned n = 0;

		for (uint64_t k = p->first; k < p->first + p->length && n < 2; k++)
			n += kept_call(y, k)->api == kept_call(y, i)->api;
		if (n == 1)
			return kept_call(y, i)->api;
	}
	return 0;
}

/* A pattern was found. The rounds that led to it are already in `kept`. */
static void start_cycle(struct cycle *y)
{
	const struct period *p = &y->period;
	uint64_t i = p->first;

	y->first = p->first;
	y->first_seq = kept_call(y, p->first)->seq;
	y->once = called_once(y);
	hist_free(&y->time);
	memset(&y->time, 0, sizeof(y->time));
	for (; i + p->length < p->n; i += p->length)
		hist_add(&y->time, kept_call(y, i + p->length)->start - kept_call(y, i)->start);
	y->round_start = i < p->n ? kept_call(y, i)->start : 0;
}

static void follow_call(struct cycle *y, const struct held *h)
{
	struct period *p = &y->period;
	uint64_t at = p->n, settled = p->settled;

	y->kept[at % PERIOD_KEPT] = *h;
	period_add_call(p, h->token);
	if (!p->length)
		return;
	if (p->first != y->first) {
		start_cycle(y);
	} else if (at == settled) {
		/* The first call after a round begins the next round. */
		if (y->round_start)
			hist_add(&y->time, h->start - y->round_start);
		y->round_start = h->start;
	}
}

static bool comes_before_held(const struct held *a, const struct held *b)
{
	return a->start != b->start ? a->start < b->start : a->seq < b->seq;
}

static void hold_call(struct cycle *y, const struct held *h)
{
	unsigned i = y->nheld;

	TOOL_GROW(y->held, y->nheld, y->capheld);
	for (y->nheld++; i && comes_before_held(h, &y->held[(i - 1) / 2]); i = (i - 1) / 2)
		y->held[i] = y->held[(i - 1) / 2];
	y->held[i] = *h;
}

static void take_first(struct cycle *y)
{
	struct held last = y->held[--y->nheld];
	unsigned i = 0, k;

	follow_call(y, &y->held[0]);
	for (; (k = 2 * i + 1) < y->nheld; i = k) {
		k += k + 1 < y->nheld && comes_before_held(&y->held[k + 1], &y->held[k]);
		if (!comes_before_held(&y->held[k], &last))
			break;
		y->held[i] = y->held[k];
	}
	y->held[i] = last;
}

void cycle_call(struct cycle *y, const struct call *c)
{
	struct held h = {.start = c->start, .seq = c->seq, .api = c->api};

	if (c->bits & CALL_NESTED)
		return;
	h.token = hash_u64(hash_u64(hash_u64(c->op, c->comm), c->count), c->dtype);
	if (y->nheld == HELD_MAX)
		take_first(y);
	hold_call(y, &h);
}

void cycle_end(struct cycle *y)
{
	while (y->nheld)
		take_first(y);
	free(y->held);
	y->held = NULL;
	y->capheld = 0;
}

void cycle_result(const struct cycle *y, struct cycle_found *f)
{
	const struct period *p = &y->period;

	*f = (struct cycle_found){.length = p->length,
		.rounds = p->rounds,
		.extra = p->extras,
		.changes = p->breaks,
		.first_seq = y->first_seq,
		.confidence = period_get_confidence(p),
		.time = &y->time,
		.once = y->once};
}
