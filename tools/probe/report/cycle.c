/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "call/period.h"
#include "tools/probe/tool.h"

#define HELD \
	256 /* asynchronous calls stand in the files where they were completed: put in order among so many */

struct held {
	uint64_t start, seq, token;
	uint32_t api;
};

struct cycle {
	struct period period;
	struct held kept[PERIOD_KEPT]; /* of the tokens that the period remembers */
	struct held held[HELD]; /* by start */
	unsigned nheld;
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
	if (y)
		hist_free(&y->time);
	free(y);
}

static const struct held *kept(const struct cycle *y, uint64_t n)
{
	return &y->kept[n % PERIOD_KEPT];
}

/* The last function of the round that is called no second time in it. */
static uint32_t called_once(const struct cycle *y)
{
	const struct period *p = &y->period;

	for (uint64_t i = p->first + p->length; i-- > p->first;) {
		unsigned n = 0;

		for (uint64_t k = p->first; k < p->first + p->length && n < 2; k++)
			n += kept(y, k)->api == kept(y, i)->api;
		if (n == 1)
			return kept(y, i)->api;
	}
	return 0;
}

/* A pattern has been found: the rounds that led to it have lain there already. */
static void found(struct cycle *y)
{
	const struct period *p = &y->period;
	uint64_t i = p->first;

	y->first = p->first;
	y->first_seq = kept(y, p->first)->seq;
	y->once = called_once(y);
	hist_free(&y->time);
	memset(&y->time, 0, sizeof(y->time));
	for (; i + p->length < p->n; i += p->length)
		hist_add(&y->time, kept(y, i + p->length)->start - kept(y, i)->start);
	y->round_start = i < p->n ? kept(y, i)->start : 0;
}

static void follow(struct cycle *y, const struct held *h)
{
	struct period *p = &y->period;
	uint64_t at = p->n, settled = p->settled;

	y->kept[at % PERIOD_KEPT] = *h;
	period_call(p, h->token);
	if (!p->length)
		return;
	if (p->first != y->first) {
		found(y);
	} else if (at == settled) {
		/* The first call behind a round begins the next one. */
		if (y->round_start)
			hist_add(&y->time, h->start - y->round_start);
		y->round_start = h->start;
	}
}

static void take_first(struct cycle *y)
{
	follow(y, &y->held[0]);
	memmove(y->held, y->held + 1, --y->nheld * sizeof(*y->held));
}

void cycle_call(struct cycle *y, const struct call *c)
{
	struct held h = {.start = c->start, .seq = c->seq, .api = c->api};
	unsigned i = y->nheld;

	if (c->bits & CALL_NESTED)
		return;
	h.token = hash_u64(hash_u64(hash_u64(c->op, c->comm), c->count), c->dtype);
	if (y->nheld == HELD) {
		take_first(y);
		i--;
	}
	for (; i && y->held[i - 1].start > h.start; i--)
		y->held[i] = y->held[i - 1];
	y->held[i] = h;
	y->nheld++;
}

void cycle_end(struct cycle *y)
{
	while (y->nheld)
		take_first(y);
}

void cycle_result(const struct cycle *y, struct cycle_found *f)
{
	const struct period *p = &y->period;

	*f = (struct cycle_found){.length = p->length,
		.rounds = p->rounds,
		.extra = p->extras,
		.changes = p->breaks,
		.first_seq = y->first_seq,
		.confidence = period_confidence(p),
		.time = &y->time,
		.once = y->once};
}
