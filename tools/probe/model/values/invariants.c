/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/invariants.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/values/telling.h"

#define RANK_PLACES_MAX (1u << 20) /* call sites of all ranks together ... */
#define RANK_PLACES_MIN 8192u /* ... but at least this many of each rank */
#define PLACES_MAX (1u << 18)
#define STRANGE_MAX 4096u /* maximum number of values in each list */
/* widths of the range; with the smallest width, LEVEL_WIDTH, this is a million times the largest value */
#define SPIKE_WIDTHS 20.0
#define LOOP_SALT 2 /* distinguishes the keys of lines from those of call sites */

struct rank_invariants {
	struct table_key key; /* a: call site */
	uint64_t shared; /* the key of this call site on all ranks */
	uint64_t digest, step, count; /* of the latest call */
	/* Largest and smallest `reach` (largest absolute value of a tensor), zeros excluded. */
	float hi, lo;
	/* calls; new values, of the length before, that could not be predicted; values other than all zeros. */
	uint32_t seen, fresh, filled;
	/* values other than all zeros: those that cannot be counted down to zero; those that were a proof */
	uint32_t telling, proofs;
	uint32_t resized; /* calls with another number of elements than the one before */
	/* New values of several elements: whose sum was the same as before, and another one. Both without zeros. */
	uint32_t conserved, summed;
	double sum; /* of the latest call */
	/* Index of the list's item + 1, while the repetition or the zeros last. */
	uint32_t repeat, zeros;
	struct trend trend;
	bool loops; /* for a line: it made two calls in one step */
	bool tested; /* a repetition of its values would mean something */
	bool few; /* a tensor had fewer elements than TELLING_COUNT */
	/* It repeated a value, or was zero, before the invariant existed. */
	bool varies, empties;
	/*
	 * How often the largest value of new data equalled that of the previous step, and how often
	 * it differed.
	 */
	bool kept, moved;
};

/* The violated invariants at a call site, on all ranks. */
struct breaks {
	uint64_t step; /* the first step in which one broke */
	uint32_t ranks; /* number of ranks that broke it in that step */
	bool varies; /* also broken in another step, or before the invariant existed */
};

struct site_invariants {
	struct table_key key; /* a: call site, common to all ranks */
	double fresh, filled, conserved; /* confirmations on all ranks */
	bool summed; /* the sum of the elements differed from call to call */
	bool tested; /* if a rank repeated a value, that would be reported */
	bool few; /* a tensor of a rank had fewer elements than TELLING_COUNT */
	struct breaks stale, zero;
};

struct beside {
	struct table_key key; /* a: line */
	uint64_t step;
	/* hi: largest value; times: its largest factor above the second largest rank. */
	float hi, lo, times;
	uint32_t seen, steps;
};

void invariants_init(struct invariants *h, unsigned nrank, const struct clock_fix *skew)
{
	uint32_t most = nrank ? RANK_PLACES_MAX / nrank : 0;

	*h = (struct invariants){
		.skew = skew, .rank = tool_alloc((nrank + 1) * sizeof(*h->rank)), .n = nrank};
	for (unsigned i = 0; i < nrank; i++)
		table_init_small(&h->rank[i], sizeof(struct rank_invariants),
			most > RANK_PLACES_MIN ? most : RANK_PLACES_MIN);
	table_init(&h->sites, sizeof(struct site_invariants), PLACES_MAX);
	table_init(&h->beside, sizeof(struct beside), PLACES_MAX);
}

void invariants_free(struct invariants *h)
{
	for (unsigned i = 0; i < h->n; i++)
		table_free(&h->rank[i]);
	free(h->rank);
	table_free(&h->sites);
	table_free(&h->beside);
	free(h->stale.item);
	free(h->zero.item);
	free(h->level.item);
	free(h->diverged.item);
	free(h->fresh.item);
	free(h->filled.item);
}

/* ---- while calls are read ---- */

/* Adds a value to the list. Returns the index of its item + 1, or 0 if the list is full. */
static uint32_t keep_strange(struct invariants *h, struct strange_list *l, const struct call *c,
	uint64_t site, uint32_t seen)
{
	if (l->n >= STRANGE_MAX)
		return 0;
	TOOL_GROW(l->item, l->n, l->cap);
	l->item[l->n++] = (struct strange){.any = true,
		.call = *c,
		.site = site,
		.seen = seen,
		.length = 1,
		.ranks = 1,
		.event = clock_set_right(&h->skew[c->rank], c->start)};
	return l->n;
}

static bool is_name_of_float(const char *d)
{
	return strncmp(d, "float", 5) == 0 || strncmp(d, "bfloat", 6) == 0 ||
	       strncmp(d, "complex", 7) == 0;
}

static bool is_float(const struct call *c)
{
	static struct name_question q = {.ask = is_name_of_float};

	return check_name_property(&q, c->dtype);
}

static bool is_name_of_contribution(const char *op)
{
	static const char *const list[] = {"all_reduce", "reduce", "reduce_scatter", "all_gather",
		"all_gather_v", "gather", "gather_v", "scan", "exscan", "all_to_all",
		"all_to_all_v", "all_to_all_w", "neighbor_all_gather", "neighbor_all_gather_v",
		"neighbor_all_to_all", "neighbor_all_to_all_v", "send", "send_recv"};

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

/*
 * Returns true if each rank contributes its own data, as in a reduction. In a broadcast, the root
 * may send the same data again on purpose.
 */
static bool is_contribution(const struct call *c)
{
	static struct name_question q = {.ask = is_name_of_contribution};

	return check_name_property(&q, c->op);
}

/*
 * The line of a call, without communicator, peer and tag: a loop may make new communicators, each rank sends to another
 * peer, and a loop may choose it each time. Equal on all ranks.
 */
static uint64_t hash_line(const struct call *c)
{
	return hash_u64(c->site, c->api);
}

/* The calls of that line, one after the other; messages by peer and tag. */
static uint64_t hash_loop(const struct call *c)
{
	uint64_t h = hash_u64(hash_line(c), LOOP_SALT);

	return c->bits & CALL_P2P ? hash_u64(hash_u64(h, (uint64_t)c->peer), (uint64_t)c->tag) : h;
}

/* Returns true if the data often decide the length of the call. */
static bool has_varying_length(const struct rank_invariants *v)
{
	return 2 * v->resized >= v->seen;
}

/*
 * New data whose largest value equals that of the previous step, although it usually changes: a
 * part of the data was repeated, possibly all of it (a batch that is used twice, of which few
 * points change their cluster). A largest value that never changes is a limit or a clip, and proves
 * nothing.
 */
static void record_part(struct rank_invariants *v, const struct call *c)
{
	bool kept = (float)side_get_largest_absolute(&c->in) == v->trend.reach;

	/* A whole number may be equal by chance, and one number that is new has no parts. */
	v->kept |= kept && c->in.count > 1 && v->trend.reach != rintf(v->trend.reach);
	v->moved |= !kept;
	v->varies |= v->kept && v->moved;
}

static void record_repetition(
	struct invariants *h, struct rank_invariants *v, const struct call *c, bool turn)
{
	v->tested = is_contribution(c);
	if (!v->seen || v->digest != c->in.digest) {
		/* A loop whose last turns are equal has converged. */
		if (v->repeat && (!turn || !h->steps || c->step == v->step))
			h->stale.item[v->repeat - 1].ended = true;
		v->repeat = 0;
		if (v->seen)
			record_part(v, c);
		return;
	}
	if ((c->step == v->step && !turn) || !v->tested ||
		!(c->in.telling || has_telling_sum(c->in.sum)) || !is_proof(c))
		return;
	if (v->repeat) {
		h->stale.item[v->repeat - 1].length++;
	} else if (!v->fresh) {
		v->varies = true;
	} else if ((v->repeat = keep_strange(h, &h->stale, c, v->shared, v->seen))) {
		h->stale.item[v->repeat - 1].turn = turn;
	}
}

static void record_latest(struct rank_invariants *v, const struct call *c)
{
	if (!v->seen || v->digest != c->in.digest) {
		if (v->seen && c->in.count > 1 && c->in.squares > 0) {
			v->conserved += c->in.sum == v->sum;
			v->summed += c->in.sum != v->sum;
		}
		if (c->in.squares > 0)
			v->sum = c->in.sum;
		/* A repetition has the same length. New data of another length show nothing about it. */
		v->fresh += add_to_trend(&v->trend, c->in.sum, side_get_largest_absolute(&c->in)) &&
			    is_proof(c) && c->in.count == v->count;
	}
	v->digest = c->in.digest;
	v->step = c->step;
	v->resized += v->seen && v->count != c->in.count;
	v->count = c->in.count;
	v->few |= c->in.count < TELLING_COUNT;
	v->seen++;
}

/*
 * Records repetitions at a line that makes several calls in a step: micro-batches, loop iterations.
 */
static void record_turns(struct invariants *h, const struct call *c)
{
	struct table *own = &h->rank[c->rank];
	uint64_t loop = hash_loop(c);
	struct rank_invariants *v = c->turn ? table_get(own, loop, 0) : table_find(own, loop, 0);

	if (!v)
		return;
	if (!v->seen)
		v->shared = hash_u64(hash_line(c), LOOP_SALT);
	/*
	 * When a line makes two calls in a step for the first time, one may be too many. Then the
	 * buffer is not the fault.
	 */
	if (v->loops || !v->seen || v->step != c->step)
		record_repetition(h, v, c, true);
	v->loops |= v->seen && v->step == c->step;
	record_latest(v, c);
}

/*
 * Returns true if the call has another size, where sizes rarely change: an additional call in the step shifts
 * the numbers of later ones, and this is another tensor.
 */
static bool is_other_tensor(const struct rank_invariants *v, const struct call *c)
{
	return v->count != c->in.count && !has_varying_length(v);
}

static void record_zeros(struct invariants *h, struct rank_invariants *v, const struct call *c)
{
	/* The norm does not include NaN. */
	if (!(c->in.squares <= 0) || c->in.bad) {
		/* A call that came to this line on another way (an evaluation) shows nothing about these zeros. */
		if (v->zeros && h->zero.item[v->zeros - 1].call.stack == c->stack) {
			h->zero.item[v->zeros - 1].ended = true;
			v->zeros = 0;
		}
		v->filled++;
		v->telling += is_proof_against_zero(c);
		v->proofs += is_proof(c);
	} else if (v->zeros) {
		h->zero.item[v->zeros - 1].length++;
	} else if (!(v->hi > 0) || is_other_tensor(v, c)) {
		v->empties = true;
	} else if ((v->zeros = keep_strange(h, &h->zero, c, v->shared, v->seen)) &&
		   2 * v->telling < v->filled) {
		struct strange *s = &h->zero.item[v->zeros - 1];

		s->mixed = 2 * v->proofs >= v->filled;
		s->distance = log1p((double)v->lo);
		s->width = log((double)v->hi / (double)v->lo) + LEVEL_WIDTH;
	}
}

static void record_level(struct invariants *h, struct rank_invariants *v, const struct call *c)
{
	double now = side_get_largest_absolute(&c->in), width, distance;

	if (!(now > 0) || isinf(now))
		return;
	h->levels++;
	/* Logarithms are slow, and values within the range do not need them. */
	if (v->hi > 0 && now > 2 * (double)v->hi) {
		distance = log(now / (double)v->hi);
		width = log((double)v->hi / (double)v->lo) + LEVEL_WIDTH;
		if (distance >= width && keep_strange(h, &h->level, c, hash_line(c), v->seen)) {
			struct strange *s = &h->level.item[h->level.n - 1];

			s->now = now;
			s->before = (double)v->hi;
			s->distance = distance;
			s->width = width;
		}
	}
	v->lo = v->hi > 0 ? fminf(v->lo, (float)now) : (float)now;
	v->hi = fmaxf(v->hi, (float)now);
}

void note_values(struct invariants *h, const struct call *c)
{
	struct rank_invariants *v;
	uint64_t place;

	if (!c->comm || !c->in.digest || c->in.blind || c->bits & (CALL_NESTED | CALL_LATE) ||
		!is_float(c))
		return;
	place = hash_u64(hash_line(c), c->turn);
	v = table_get(&h->rank[c->rank], place, 0);
	if (!v)
		return;
	v->shared = place;
	record_repetition(h, v, c, !h->steps);
	record_turns(h, c);
	record_level(h, v, c);
	record_zeros(h, v, c);
	record_latest(v, c);
}

/*
 * Compares the rank with the largest value to the second one. If all ranks do something together,
 * no single rank is at fault. The line of another rank identifies the call site, because a branch
 * that is taken only once makes the call from a line of its own.
 */
void note_values_beside_others(struct invariants *h, const struct meeting *m)
{
	const struct arrival *most = &m->a[0];
	double now, times;
	struct beside *b;
	struct call c;
	float second = 0;

	if (m->bad || m->n < 2 || m->nin != m->n || !is_float(&m->longest))
		return;
	for (unsigned i = 1; i < m->n; i++) {
		const struct arrival *a = &m->a[i];

		second = fmaxf(second, fminf(a->in_reach, most->in_reach));
		most = a->in_reach > most->in_reach ? a : most;
	}
	if (!most->site || !(second > 0) || isinf(most->in_reach))
		return;
	c = call_of_arrival(m, most == &m->a[0] ? &m->a[1] : &m->a[0]);
	b = table_get(&h->beside, hash_line(&c), 0);
	if (!b)
		return;
	now = (double)most->in_reach;
	times = now / (double)second;
	h->meetings++;
	if (b->seen && now > (double)b->hi && times > 2 * (double)b->times) {
		struct call of = call_of_arrival(m, most);

		if (keep_strange(h, &h->diverged, &of, b->key.a, b->steps)) {
			struct strange *s = &h->diverged.item[h->diverged.n - 1];

			s->now = now;
			s->before = (double)b->hi;
			s->distance = log(times / (double)b->times);
			s->width = log((double)b->times) + LEVEL_WIDTH;
			s->length = b->seen;
			s->ranks = m->n;
		}
	}
	b->hi = fmaxf(b->hi, (float)now);
	b->times = fmaxf(b->times, (float)times);
	b->steps += !b->seen || b->step != m->step;
	b->step = m->step;
	b->seen++;
}

/* ---- all calls were read ---- */

static void add_places(struct invariants *h)
{
	for (unsigned i = 0; i < h->n; i++)
		for (uint32_t k = 0; k < h->rank[i].n; k++) {
			const struct rank_invariants *v = table_at(&h->rank[i], k);
			struct site_invariants *p = table_get(&h->sites, v->shared, 0);

			if (!p)
				continue;
			p->few |= v->few;
			p->tested |= v->fresh && v->tested;
			p->fresh += v->fresh;
			p->filled += v->filled;
			p->conserved += v->conserved;
			p->summed |= v->summed > 0;
			p->stale.varies |= v->varies;
			p->zero.varies |= v->empties;
		}
}

static int compare_confirmed(const void *a, const void *b)
{
	double x = ((const struct confirmed *)a)->kept, y = ((const struct confirmed *)b)->kept;

	return (x < y) - (x > y);
}

/*
 * Sorts the call sites, and adds up how many of them break by chance. broken: how many did. A program in which
 * few of many call sites break is one in which the others rarely will.
 */
static void rank_confirmed(struct confirmed_list *l, unsigned broken)
{
	double expected = 0, tests = 0, share;

	if (l->n)
		qsort(l->item, l->n, sizeof(*l->item), compare_confirmed);
	for (unsigned i = 0; i < l->n; i++)
		tests += log1p(l->item[i].kept);
	share = compute_share_of_breaks(tests, broken);
	for (unsigned i = 0; i < l->n; i++)
		l->item[i].expected = expected += share * chance_of_break(l->item[i].kept);
}

static void add_confirmed(struct confirmed_list *l, double kept)
{
	TOOL_GROW(l->item, l->n, l->cap);
	l->item[l->n++] = (struct confirmed){.kept = kept};
}

static void rank_sites(struct invariants *h)
{
	unsigned stale = 0, zero = 0;

	for (uint32_t i = 0; i < h->sites.n; i++) {
		const struct site_invariants *p = table_at(&h->sites, i);

		stale += p->tested && p->stale.varies;
		zero += p->filled > 0 && p->zero.varies;
		if (p->tested)
			add_confirmed(&h->fresh, p->fresh);
		if (p->filled > 0)
			add_confirmed(&h->filled, p->filled);
	}
	rank_confirmed(&h->fresh, stale);
	rank_confirmed(&h->filled, zero);
}

/*
 * Returns the expected number of call sites that break by chance after `kept` or more confirmations. With fewer, a
 * break is no evidence of the same weight: lines that a program rarely reaches are many, and break often.
 */
static double expect_breaks(const struct confirmed_list *l, double kept)
{
	unsigned low = 0, high = l->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (l->item[middle].kept >= kept)
			low = middle + 1;
		else
			high = middle;
	}
	return fmax(chance_of_break(kept), low ? l->item[low - 1].expected : 0);
}

/*
 * Values of few bits (counts, powers of two, 16-bit floats) may reach zero. Returns true if all earlier ones were far
 * from it. Those below 1 never are. If there are other numbers beside the counts, these need only be far from it themselves.
 */
static bool is_far_below(const struct invariants *h, const struct strange *s)
{
	double places = s->mixed ? 1 : h->filled.n;

	return weigh_evidence(places * chance_of_distance(s->distance / s->width, s->seen)) ==
	       WEIGHT_BAD;
}

/* Returns true if the elements always had the same sum, as the counts of a fixed number of items have. */
static bool has_fixed_sum(const struct invariants *h, const struct site_invariants *p)
{
	return !p->summed && weigh_evidence(expect_breaks(&h->filled, p->conserved)) == WEIGHT_BAD;
}

static struct breaks *stale_of(struct site_invariants *p)
{
	return &p->stale;
}

static struct breaks *zero_of(struct site_invariants *p)
{
	return &p->zero;
}

static bool is_earlier_event(const struct strange *a, const struct strange *b)
{
	return a->call.step != b->call.step ? a->call.step < b->call.step : a->event < b->event;
}

static void count_breaks(struct invariants *h, const struct strange_list *l,
	struct breaks *(*of)(struct site_invariants *))
{
	for (unsigned i = 0; i < l->n; i++) {
		struct site_invariants *p = table_find(&h->sites, l->item[i].site, 0);
		struct breaks *b = p ? of(p) : NULL;

		if (!b)
			continue;
		b->varies |= b->ranks && b->step != l->item[i].call.step;
		b->step = l->item[i].call.step;
		b->ranks++;
	}
}

/*
 * A fault happens once. If a rank did something in two steps, it belongs to the program. Messages carry it to the
 * next ranks, but not to half of them. The inputs of one collective cannot follow from each other.
 */
static bool is_once(const struct breaks *b, const struct call *c)
{
	return !b->varies &&
	       (b->ranks == 1 || (c->bits & CALL_P2P && 2 * (int64_t)b->ranks < c->size));
}

/* Replaces *have if *now has more weight, or the same weight and is earlier. */
static void keep_weighed(struct strange *have, const struct strange *now, enum weight w)
{
	uint64_t more = have->more + have->any;

	if (w == WEIGHT_NONE)
		return;
	if (!have->any || w > have->weight || (w == have->weight && is_earlier_event(now, have))) {
		more = have->any && have->weight == w ? more : 0;
		*have = *now;
		have->weight = w;
		have->more = more;
	} else if (w == have->weight) {
		have->more++;
	}
}

static bool is_name_of_extreme(const char *redop)
{
	return strcmp(redop, "max") == 0 || strcmp(redop, "min") == 0;
}

/* Returns true if an equal input may mean that a part of the data is equal: a maximum stays while the
 * element that has it does not change. */
static bool is_extreme(const struct call *c)
{
	static struct name_question q = {.ask = is_name_of_extreme};

	return c->in.count < TELLING_COUNT && check_name_property(&q, c->redop);
}

/*
 * A buffer that was not filled repeats a value once and then has new ones. If the values of a call
 * site stay the same, the computation has converged, or its data has ended.
 */
static void weigh_stale(struct invariants *h)
{
	for (unsigned i = 0; i < h->stale.n; i++) {
		const struct strange *s = &h->stale.item[i];
		struct site_invariants *p = table_find(&h->sites, s->site, 0);
		bool lasts = !s->ended || s->length > 1;

		if (!p || !is_once(&p->stale, &s->call) || (lasts && (s->turn || p->few)) ||
			weigh_evidence(expect_breaks(&h->fresh, p->fresh)) != WEIGHT_BAD)
			continue;
		keep_weighed(&h->first_stale, s,
			lasts || is_extreme(&s->call) ? WEIGHT_NOTE : WEIGHT_BAD);
	}
}

/*
 * Zeros up to the last record are an accusation if they lasted long enough: after n steps without
 * data, the probability that it appears in the next step is known. Zeros in only one step are a
 * note. Zeros in several steps that ended (an expert without tokens) are not reported.
 */
static void weigh_zeros(struct invariants *h)
{
	for (unsigned i = 0; i < h->zero.n; i++) {
		const struct strange *s = &h->zero.item[i];
		struct site_invariants *p = table_find(&h->sites, s->site, 0);
		double expected;

		if (!p || !is_once(&p->zero, &s->call) ||
			(s->width > 0 && !is_far_below(h, s) && !has_fixed_sum(h, p)))
			continue;
		expected = expect_breaks(&h->filled, p->filled);
		if (!s->ended)
			keep_weighed(&h->first_zero, s,
				weigh_evidence(fmax(expected, 1) * chance_of_break(s->length)));
		else if (s->length == 1 &&
			 weigh_evidence(expected) >= (p->few ? WEIGHT_BAD : WEIGHT_NOTE))
			keep_weighed(&h->first_once, s, WEIGHT_NOTE);
	}
}

/*
 * Returns true if other ranks got such values at this line independently: later than in the next
 * step, or not all of them together. A fault that spreads through the result reaches all ranks in
 * the next step.
 */
static bool is_wave(const struct invariants *h, const struct strange *s)
{
	uint64_t first = UINT64_MAX;
	int64_t others = 0;

	for (unsigned i = 0; i < h->level.n; i++) {
		const struct strange *k = &h->level.item[i];

		if (k->site != s->site || k->call.rank == s->call.rank ||
			k->call.step <= s->call.step || 2 * k->distance < s->distance)
			continue;
		others = k->call.step < first ? 1 : others + (k->call.step == first);
		first = k->call.step < first ? k->call.step : first;
	}
	return others && (first > s->call.step + 1 || others + 1 < s->call.size);
}

static bool is_same_collective(const struct call *a, const struct call *b)
{
	return !((a->bits | b->bits) & CALL_P2P) && a->comm == b->comm &&
	       a->comm_seq == b->comm_seq && a->comm_seq != NO_NUMBER;
}

/*
 * Returns the expected number of such outliers by chance. compared: number of values of the whole run that were
 * compared with a range.
 */
static double compute_expected_outliers(
	const struct strange *s, double compared, double seen, double n)
{
	double z = s->distance / s->width;
	bool lone = s->call.in.count == 1;

	return compared * chance_of_break(seen) *
	       chance_of_distance(lone ? LONE_NUMBER * z : z, lone ? seen : n);
}

/* The same, at most 1, for the call's largest value beside the earlier ones of its own rank. */
static double compute_expected_above_own(const struct invariants *h, const struct call *c)
{
	for (unsigned i = 0; i < h->level.n; i++) {
		const struct strange *s = &h->level.item[i];

		if (s->call.rank == c->rank && s->call.seq == c->seq)
			return fmin(1,
				compute_expected_outliers(s, (double)h->levels, s->seen, s->seen));
	}
	return 1;
}

static void weigh_levels(struct invariants *h)
{
	for (unsigned i = 0; i < h->level.n; i++) {
		struct strange s = h->level.item[i];
		bool own = s.call.bits & CALL_P2P || s.call.size == 1 || !is_contribution(&s.call);
		enum weight w = weigh_evidence(
			compute_expected_outliers(&s, (double)h->levels, s.seen, s.seen));

		for (unsigned k = 0; k < h->level.n && w; k++)
			s.ranks += k != i && is_same_collective(&s.call, &h->level.item[k].call);
		if (!own && (int64_t)s.ranks != s.call.size)
			continue;
		keep_weighed(&h->spike, &s, w && own && is_wave(h, &s) ? WEIGHT_NOTE : w);
	}
	for (unsigned i = 0; i < h->diverged.n; i++) {
		struct strange s = h->diverged.item[i];
		double expected = compute_expected_outliers(
			&s, (double)h->meetings, s.length, (double)s.length * s.ranks);

		s.ranks = 1;
		if (weigh_evidence(expected * compute_expected_above_own(h, &s.call)) == WEIGHT_BAD)
			keep_weighed(&h->spike, &s, is_wave(h, &s) ? WEIGHT_NOTE : WEIGHT_BAD);
	}
}

/*
 * A large value spreads through messages and results, and a call that has it later may have more earlier values to
 * compare with. The first one that is at least half as far above its own range, as a power, in the same step or in
 * the one before, is the cause.
 */
static void find_first_spike(struct invariants *h)
{
	const struct strange found = h->spike;
	struct strange *s = &h->spike;

	for (unsigned i = 0; i < h->level.n && found.any && found.ranks == 1; i++) {
		const struct strange *k = &h->level.item[i];
		struct strange first = *k;

		if (k->call.step + 1 < found.call.step || !is_earlier_event(k, s) ||
			2 * k->distance < found.distance)
			continue;
		first.weight = found.weight;
		first.more = s->more + 1;
		*s = first;
	}
}

static void add_power(struct invariant_power *p, double expected)
{
	p->tested++;
	p->able += weigh_evidence(expected) == WEIGHT_BAD;
}

static void measure_power(struct invariants *h)
{
	for (uint32_t i = 0; i < h->sites.n; i++) {
		const struct site_invariants *p = table_at(&h->sites, i);

		/*
		 * Where parts of the data are repeated, nothing would be reported.
		 */
		if (p->tested)
			add_power(&h->stale_power,
				p->stale.varies ? 1 : expect_breaks(&h->fresh, p->fresh));
		/* Zeros that would last as long as the data did. */
		if (p->filled > 0)
			add_power(&h->zero_power,
				p->zero.varies ? 1
					       : fmax(expect_breaks(&h->filled, p->filled), 1) *
							 chance_of_break(p->filled));
	}
	for (unsigned i = 0; i < h->n; i++)
		for (uint32_t k = 0; k < h->rank[i].n; k++) {
			const struct rank_invariants *v = table_at(&h->rank[i], k);

			if (v->hi > 0)
				add_power(&h->level_power,
					(double)h->levels * chance_of_break(v->seen) *
						chance_of_distance(SPIKE_WIDTHS, v->seen));
		}
}

void weigh_invariants(struct invariants *h)
{
	add_places(h);
	rank_sites(h);
	measure_power(h);
	count_breaks(h, &h->stale, stale_of);
	count_breaks(h, &h->zero, zero_of);
	weigh_stale(h);
	weigh_zeros(h);
	weigh_levels(h);
	find_first_spike(h);
}
