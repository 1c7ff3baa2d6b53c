/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/report/sites.h"

#define RANK_VALUES_MAX (1u << 20)
#define PLACES_MAX (1u << 18)
#define STRANGE_MAX 4096u
#define SPIKE_SEEN 5 /* steps at a place before anything can be far outside */
#define SPIKE_TIMES 30 /* the largest so far */
#define SPIKE_SPREAD \
	3 /* ... or this much of the ratio between the largest and the smallest so far */
#define STALE_COUNT 16 /* elements: fewer may be equal by chance */
#define STALE_CHANGES 3
#define ZERO_STEPS 3
#define ZERO_SEEN 3

struct rank_values {
	struct table_key key; /* a: rank, b: place */
	uint64_t digest, step;
	float hi, lo; /* largest and smallest of the largest absolute values, zeros left out */
	uint32_t seen, nonzero, changes, repeats, zeros;
	uint64_t zero_step, zero_seq;
};

struct place_values {
	struct table_key key; /* a: place */
	bool repeats, zeros; /* has been so before, on some rank, and nothing came of it */
	uint64_t zero_step, stale_step; /* of the first report */
	uint32_t zero_ranks, stale_ranks; /* that were reported for that step */
};

void history_init(struct history *h, const struct clock_fix *skew)
{
	*h = (struct history){.skew = skew};
	table_init(&h->ranks, sizeof(struct rank_values), RANK_VALUES_MAX);
	table_init(&h->places, sizeof(struct place_values), PLACES_MAX);
}

void history_free(struct history *h)
{
	table_free(&h->ranks);
	table_free(&h->places);
	free(h->zero);
	free(h->stale);
}

static bool is_earlier_event(const struct strange *a, const struct strange *b)
{
	return a->call.step != b->call.step ? a->call.step < b->call.step : a->event < b->event;
}

static void keep_strange(
	struct strange **list, unsigned *n, unsigned *cap, const struct strange *now)
{
	if (*n >= STRANGE_MAX)
		return;
	TOOL_GROW(*list, *n, *cap);
	(*list)[(*n)++] = *now;
}

static bool is_float(const struct call *c)
{
	const char *d = intern_name(c->dtype);

	return strncmp(d, "float", 5) == 0 || strncmp(d, "bfloat", 6) == 0 ||
	       strncmp(d, "complex", 7) == 0;
}

static void note_reach(struct history *h, struct rank_values *v, const struct call *c)
{
	double now = side_reach(&c->in), limit;
	struct strange s = {
		true, *c, now, v->hi, v->seen, 0, clock_set_right(&h->skew[c->rank], c->start)};

	if (!(now > 0) || isinf(now))
		return;
	if (v->nonzero >= SPIKE_SEEN) {
		limit = SPIKE_SPREAD * (double)v->hi / (double)v->lo;
		if (limit < SPIKE_TIMES)
			limit = SPIKE_TIMES;
		if (now > limit * (double)v->hi) {
			if (!h->spike.any || is_earlier_event(&s, &h->spike)) {
				s.more = h->spike.any ? h->spike.more + 1 : 0;
				h->spike = s;
			} else {
				h->spike.more++;
			}
			return; /* one does not make the next one usual */
		}
	}
	v->hi = !v->nonzero || now > (double)v->hi ? (float)now : v->hi;
	v->lo = !v->nonzero || now < (double)v->lo ? (float)now : v->lo;
	v->nonzero++;
}

/* Operations whose input is new in every step; of a broadcast it need not be. */
static bool is_contribution(const struct call *c)
{
	static const char *const list[] = {"all_reduce", "reduce", "reduce_scatter", "all_gather",
		"gather", "all_to_all", "send"};
	const char *op = intern_name(c->op);

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

static void note_repetition(
	struct history *h, struct rank_values *v, struct place_values *p, const struct call *c)
{
	if (!v->seen || v->digest != c->in.digest) {
		v->changes += v->seen != 0;
		v->repeats = 0;
		return;
	}
	if (c->step == v->step || c->in.count < STALE_COUNT || !c->in.telling ||
		v->changes < STALE_CHANGES || !is_contribution(c))
		return;
	if (p->repeats && p->stale_step != c->step)
		return;

	struct strange s = {.any = true,
		.call = *c,
		.seen = v->seen,
		.event = clock_set_right(&h->skew[c->rank], c->start)};

	if (!p->stale_ranks) {
		p->stale_step = c->step;
		p->repeats = true;
	}
	p->stale_ranks++;
	v->repeats++;
	keep_strange(&h->stale, &h->nstale, &h->capstale, &s);
}

static void note_zeros(
	struct history *h, struct rank_values *v, struct place_values *p, const struct call *c)
{
	if (!(c->in.squares <= 0)) {
		/* A few steps of zeros: an expert without tokens. */
		if (v->zeros && v->zeros < ZERO_STEPS)
			p->zeros = true;
		v->zeros = 0;
		return;
	}
	if (v->nonzero < ZERO_SEEN)
		p->zeros = true;
	if (!v->zeros++) {
		v->zero_step = c->step;
		v->zero_seq = c->seq;
	}
	if (v->zeros != ZERO_STEPS || p->zeros)
		return;

	struct strange s = {.any = true,
		.call = *c,
		.seen = v->seen - ZERO_STEPS + 1,
		.event = clock_set_right(&h->skew[c->rank], c->start)};

	s.call.step = v->zero_step;
	s.call.seq = v->zero_seq;
	s.call.comm_seq = NO_NUMBER;
	if (!p->zero_ranks)
		p->zero_step = v->zero_step;
	p->zero_ranks += p->zero_step == v->zero_step;
	keep_strange(&h->zero, &h->nzero, &h->capzero, &s);
}

void note_values(struct history *h, const struct call *c)
{
	struct rank_values *v;
	struct place_values *p;
	uint64_t place;

	if (!c->comm || !c->in.digest || c->in.blind || c->bits & (CALL_NESTED | CALL_LATE) ||
		!is_float(c))
		return;
	place = hash_place(c);
	v = table_get(&h->ranks, c->rank, place);
	p = table_get(&h->places, place, 0);
	if (!v || !p)
		return;
	note_repetition(h, v, p, c);
	note_reach(h, v, c);
	note_zeros(h, v, p, c);
	v->digest = c->in.digest;
	v->step = c->step;
	v->seen++;
}

/* What half of the ranks did at the same place in the same step belongs to the program. */
static const struct strange *first_of_few(
	const struct history *h, const struct strange *list, unsigned n, bool zero)
{
	const struct strange *best = NULL;

	for (unsigned i = 0; i < n; i++) {
		const struct place_values *p = table_find(&h->places, hash_place(&list[i].call), 0);
		uint32_t ranks = p ? zero ? p->zero_ranks : p->stale_ranks : 0;

		if (!p || (zero && p->zeros) ||
			(list[i].call.size > 1 && !(list[i].call.bits & CALL_P2P) &&
				2 * (int64_t)ranks > list[i].call.size))
			continue;
		if (!best || is_earlier_event(&list[i], best))
			best = &list[i];
	}
	return best;
}

const struct strange *first_zero(const struct history *h)
{
	return first_of_few(h, h->zero, h->nzero, true);
}

const struct strange *first_stale(const struct history *h)
{
	return first_of_few(h, h->stale, h->nstale, false);
}
