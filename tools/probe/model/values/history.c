/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/places/sites.h"

#define RANK_VALUES_MAX (1u << 20) /* places of all ranks together ... */
#define RANK_VALUES_MIN 8192u /* ... but for so many of each */
#define PLACES_MAX (1u << 18)
#define STRANGE_MAX 4096u
#define SPIKE_SEEN 5 /* steps at a place before anything can be far outside ... */
#define SPIKE_NONZERO 3 /* ... and those of them that had anything but zeros */
#define SPIKE_TIMES 30 /* the largest so far */
#define SPIKE_SPREAD \
	3 /* ... or this much of the ratio between the largest and the smallest so far */
#define BESIDE_SEEN 3 /* operations of a place in which a rank was compared with the others */
#define BESIDE_TIMES 1000 /* the largest so far, where there were not more than a few */
#define STALE_COUNT 16 /* elements: fewer may be equal by chance */
#define STALE_CHANGES 3
#define TURNS_CHANGES 20 /* turns of a loop with new values */
#define TURNS_SALT 2 /* a line is no place */
#define ZERO_STEPS 3
#define ZERO_SEEN 3
#define ONCE_SEEN 5 /* steps without zeros before some in one step only are worth a word */

struct rank_values {
	struct table_key key; /* a: place */
	uint64_t digest, step;
	float hi, lo; /* largest and smallest of the largest absolute values, zeros left out */
	uint32_t seen, nonzero, changes, repeats, zeros;
	uint64_t zero_step, zero_seq, zero_event;
	uint64_t count; /* elements, of the latest */
	bool counts; /* they change: another tensor may have the place in one step */
};

/* The largest absolute value of all ranks at a line, and how many times that of the second one the largest was. */
struct beside {
	struct table_key key; /* a: line */
	float hi, times;
	uint32_t seen;
};

struct place_values {
	struct table_key key; /* a: place */
	bool repeats, zeros; /* has been so before, on some rank, and nothing came of it */
	uint64_t zero_step, once_step, stale_step; /* of the first report */
	uint32_t zero_ranks, once_ranks, stale_ranks; /* that were reported for that step */
	bool usual; /* a line that had the same twice in a row before, or more than once */
	bool again; /* zeros that ended, in more steps than one */
};

void history_init(struct history *h, unsigned nrank, const struct clock_fix *skew)
{
	uint32_t most = nrank ? RANK_VALUES_MAX / nrank : 0;

	*h = (struct history){
		.skew = skew, .rank = tool_alloc((nrank + 1) * sizeof(*h->rank)), .n = nrank};
	for (unsigned i = 0; i < nrank; i++)
		table_init_small(&h->rank[i], sizeof(struct rank_values),
			most > RANK_VALUES_MIN ? most : RANK_VALUES_MIN);
	table_init(&h->places, sizeof(struct place_values), PLACES_MAX);
	table_init(&h->beside, sizeof(struct beside), PLACES_MAX);
}

void history_free(struct history *h)
{
	for (unsigned i = 0; i < h->n; i++)
		table_free(&h->rank[i]);
	free(h->rank);
	table_free(&h->places);
	table_free(&h->beside);
	free(h->zero);
	free(h->once);
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

static bool is_name_of_float(const char *d)
{
	return strncmp(d, "float", 5) == 0 || strncmp(d, "bfloat", 6) == 0 ||
	       strncmp(d, "complex", 7) == 0;
}

static bool is_float(const struct call *c)
{
	static struct name_question q = {.ask = is_name_of_float};

	return ask_name(&q, c->dtype);
}

/* What a value at that place would have to be above to be far outside; 0: that cannot be said yet. */
static double spike_limit(const struct rank_values *v)
{
	double times;

	if (v->seen < SPIKE_SEEN || v->nonzero < SPIKE_NONZERO)
		return 0;
	times = SPIKE_SPREAD * (double)v->hi / (double)v->lo;
	return (times < SPIKE_TIMES ? SPIKE_TIMES : times) * (double)v->hi;
}

static bool is_same_operation(const struct call *a, const struct call *b)
{
	return !((a->bits | b->bits) & CALL_P2P) && a->comm == b->comm &&
	       a->comm_seq == b->comm_seq && a->comm_seq != NO_NUMBER;
}

/* The first one counts, however late it is found. */
static void keep_spike(
	struct history *h, const struct rank_values *v, const struct call *c, double now)
{
	struct strange s = {.any = true,
		.call = *c,
		.now = now,
		.before = v->hi,
		.seen = v->seen,
		.ranks = 1,
		.event = clock_set_right(&h->skew[c->rank], c->start)};

	/* Of a meeting it is known when the rank has been there again. */
	s.seen -= v->seen > 1 && v->step > c->step;
	if (h->spike.any && is_same_operation(&h->spike.call, c)) {
		h->spike.ranks++;
		s.ranks = h->spike.ranks;
	}
	if (h->spike.any && !is_earlier_event(&s, &h->spike)) {
		h->spike.more++;
		return;
	}
	s.more = h->spike.any ? h->spike.more + 1 : 0;
	h->spike = s;
}

static void note_reach(struct history *h, struct rank_values *v, const struct call *c)
{
	double now = side_reach(&c->in), limit = spike_limit(v);

	if (!(now > 0) || isinf(now))
		return;
	if (limit > 0 && now > limit) {
		keep_spike(h, v, c, now);
		return; /* one does not make the next one usual */
	}
	v->hi = !v->nonzero || now > (double)v->hi ? (float)now : v->hi;
	v->lo = !v->nonzero || now < (double)v->lo ? (float)now : v->lo;
	v->nonzero++;
}

void note_values_from_new_lines(struct history *h, const struct meeting *m)
{
	struct call c = m->longest;
	unsigned other = 0;

	if (!is_float(&c))
		return;
	for (unsigned i = 1; i < m->n && !other; i++)
		other = m->a[i].site != m->a[0].site ? i : 0;
	for (unsigned i = 0; other && i < m->n; i++) {
		const struct arrival *a = &m->a[i],
				     *k = a->site == m->a[0].site ? &m->a[other] : &m->a[0];
		const struct rank_values *own, *usual;
		double limit;

		if (!a->in || !a->site || !k->site)
			continue;
		c = call_of_arrival(m, a);
		own = table_find(&h->rank[a->rank], hash_place(&c), 0);
		c.site = k->site;
		c.nth = k->nth;
		usual = table_find(&h->rank[a->rank], hash_place(&c), 0);
		if (!usual || (own && own->nonzero > 1))
			continue;
		limit = spike_limit(usual);
		if (limit > 0 && (double)a->in_reach > limit && !isinf(a->in_reach)) {
			c = call_of_arrival(m, a);
			keep_spike(h, usual, &c, a->in_reach);
		}
	}
}

/* Only the rank that has the largest value can be far outside. */
void note_values_beside_others(struct history *h, const struct meeting *m)
{
	const struct arrival *most = &m->a[0];
	double now, times, far;
	struct beside *b;
	struct call c;
	float second = 0;

	if (m->bad || m->n < 3 || m->nin != m->n || !is_float(&m->longest))
		return;
	for (unsigned i = 1; i < m->n; i++) {
		const struct arrival *a = &m->a[i];

		second = fmaxf(second, fminf(a->in_reach, most->in_reach));
		most = a->in_reach > most->in_reach ? a : most;
	}
	if (!most->site || !(second > 0))
		return;
	c = call_of_arrival(m, most);
	b = table_get(&h->beside, hash_line(&c), 0);
	if (!b)
		return;
	now = (double)most->in_reach;
	times = now / (double)second;
	far = b->seen < SPIKE_SEEN ? BESIDE_TIMES : SPIKE_TIMES;
	if (b->seen >= BESIDE_SEEN && now > far * (double)b->hi &&
		times > far * fmax(1, (double)b->times)) {
		struct rank_values usual = {.hi = b->hi, .seen = b->seen};
		const struct strange *s = &h->spike;

		if (!s->any || !is_same_operation(&s->call, &c) || s->call.rank != c.rank)
			keep_spike(h, &usual, &c, now);
		return;
	}
	b->hi = fmaxf(b->hi, most->in_reach);
	b->times = fmaxf(b->times, (float)times);
	b->seen++;
}

/* Operations whose input is new in every step; of a broadcast it need not be. */
static bool is_contribution(const struct call *c)
{
	static const char *const list[] = {"all_reduce", "reduce", "reduce_scatter", "all_gather",
		"all_gather_v", "gather", "gather_v", "all_to_all", "all_to_all_v", "all_to_all_w",
		"neighbor_all_gather", "neighbor_all_gather_v", "neighbor_all_to_all",
		"neighbor_all_to_all_v", "send", "send_recv"};
	const char *op = intern_name(c->op);

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

/* Needed where something is strange only. NULL: too many. */
static struct place_values *place_of_values(struct history *h, const struct call *c)
{
	return table_get(&h->places, hash_place(c), 0);
}

static void note_repetition(
	struct history *h, struct rank_values *v, const struct call *c, uint64_t place)
{
	bool turn = place != hash_place(c);
	struct place_values *p;

	if (!v->seen || v->digest != c->in.digest) {
		v->changes += v->seen != 0;
		v->repeats = 0;
		return;
	}
	if ((c->step == v->step && !turn) || c->in.count < STALE_COUNT || !c->in.telling ||
		v->changes < STALE_CHANGES || !is_contribution(c))
		return;
	p = table_get(&h->places, place, 0);
	if (!p || (p->repeats && p->stale_step != c->step))
		return;

	struct strange s = {.any = true,
		.call = *c,
		.place = place,
		.turn = turn,
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

/*
 * Of a line that is called several times in a step also what it had the time before: micro-batches, iterations. What it ever had twice
 * before (the weights of the same layer) is no fault.
 */
static void note_turns(struct history *h, const struct call *c)
{
	struct table *own = &h->rank[c->rank];
	uint64_t line = hash_u64(hash_line(c), TURNS_SALT);
	struct rank_values *v = c->nth ? table_get(own, line, 0) : table_find(own, line, 0);
	struct place_values *p;
	bool again;

	if (!v)
		return;
	again = v->seen && v->digest == c->in.digest;
	p = again ? table_get(&h->places, line, 0) : NULL;
	if (p && (p->repeats || v->changes < TURNS_CHANGES))
		p->usual = p->repeats = true;
	if (c->nth)
		note_repetition(h, v, c, line);
	else
		v->changes += !again;
	v->digest = c->in.digest;
	v->step = c->step;
	v->seen++;
}

/* Zeros at that place have ended: an expert without tokens, or a buffer that was not filled, once. */
static void end_zeros(
	struct history *h, struct rank_values *v, struct place_values *p, const struct call *c)
{
	struct strange s = {.any = true,
		.call = *c,
		.place = hash_place(c),
		.seen = v->seen - v->zeros,
		.event = v->zero_event};

	s.call.step = v->zero_step;
	s.call.seq = v->zero_seq;
	s.call.comm_seq = NO_NUMBER;
	p->again |= v->zeros > 1 || v->counts || v->nonzero < ONCE_SEEN ||
		    c->in.count < STALE_COUNT ||
		    (p->zeros && (!p->once_ranks || p->once_step != v->zero_step));
	p->zeros = true;
	if (p->again || !is_contribution(c))
		return;
	p->once_step = v->zero_step;
	p->once_ranks++;
	keep_strange(&h->once, &h->nonce, &h->caponce, &s);
}

static void note_zeros(struct history *h, struct rank_values *v, const struct call *c)
{
	struct place_values *p;

	/* What is no number is left out of the norm. */
	if (!(c->in.squares <= 0) || c->in.bad) {
		if (v->zeros && v->zeros < ZERO_STEPS && (p = place_of_values(h, c)))
			end_zeros(h, v, p, c);
		v->zeros = 0;
		return;
	}
	p = place_of_values(h, c);
	if (!p)
		return;
	if (v->nonzero < ZERO_SEEN)
		p->zeros = true;
	if (!v->zeros++) {
		v->zero_step = c->step;
		v->zero_seq = c->seq;
		v->zero_event = clock_set_right(&h->skew[c->rank], c->start);
	}
	if (v->zeros != ZERO_STEPS || p->zeros)
		return;

	struct strange s = {.any = true,
		.call = *c,
		.place = hash_place(c),
		.seen = v->seen - ZERO_STEPS + 1,
		.event = v->zero_event};

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
	uint64_t place;

	if (!c->comm || !c->in.digest || c->in.blind || c->bits & (CALL_NESTED | CALL_LATE) ||
		!is_float(c))
		return;
	place = hash_place(c);
	v = table_get(&h->rank[c->rank], place, 0);
	if (!v)
		return;
	v->counts |= v->seen && v->count != c->in.count;
	v->count = c->in.count;
	note_repetition(h, v, c, place);
	note_turns(h, c);
	note_reach(h, v, c);
	note_zeros(h, v, c);
	v->digest = c->in.digest;
	v->step = c->step;
	v->seen++;
}

/* Of a place what speaks against it, and how many ranks did it in the same step. */
struct shared {
	bool usual;
	uint32_t ranks;
};

static struct shared shared_zero(const struct place_values *p)
{
	return (struct shared){p->zeros, p->zero_ranks};
}

static struct shared shared_zero_once(const struct place_values *p)
{
	return (struct shared){p->again, p->once_ranks};
}

static struct shared shared_stale(const struct place_values *p)
{
	return (struct shared){p->usual, p->stale_ranks};
}

/* What half of the ranks did at the same place in the same step belongs to the program. */
static const struct strange *first_of_few(const struct history *h, const struct strange *list,
	unsigned n, struct shared (*ask)(const struct place_values *p))
{
	const struct strange *best = NULL;

	for (unsigned i = 0; i < n; i++) {
		const struct place_values *p = table_find(&h->places, list[i].place, 0);
		struct shared with = p ? ask(p) : (struct shared){.usual = true};

		if (with.usual || (list[i].call.size > 1 && !(list[i].call.bits & CALL_P2P) &&
					  2 * (int64_t)with.ranks > list[i].call.size))
			continue;
		if (!best || is_earlier_event(&list[i], best))
			best = &list[i];
	}
	return best;
}

const struct strange *first_zero(const struct history *h)
{
	return first_of_few(h, h->zero, h->nzero, shared_zero);
}

const struct strange *first_zero_once(const struct history *h)
{
	return first_of_few(h, h->once, h->nonce, shared_zero_once);
}

const struct strange *first_stale(const struct history *h)
{
	return first_of_few(h, h->stale, h->nstale, shared_stale);
}
