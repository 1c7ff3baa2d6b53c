/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/join/rounds.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/each.h"
#include "tools/lib/period.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/walk.h"

#define TRIED_MAX 4 /* maximum number of ranks that are searched for a period */
#define OFTEN_MIN 5 /* a call site with this many calls is part of a loop */
#define PLACES_MOST 4096u
#define SWAPPED_SEEN 3 /* minimum number of rounds with a call at the same call site */
#define LONGER_MIN 8 /* minimum number of longer rounds ... */
#define LONGER_TIMES 4 /* ... and of rounds in each */
#define ENDS_SHARE 0.8 /* minimum share of the rounds that contain an operation of all ranks */

struct finder {
	struct rounds *out;
	struct period period;
	struct round_end kept[PERIOD_KEPT]; /* end of each call that `period` keeps */
	uint64_t *token; /* token of each call that ended */
	unsigned cap;
	uint64_t first;
};

static void add_round_end(struct finder *f, uint64_t token)
{
	struct rounds *r = f->out;
	unsigned n = r->n;

	TOOL_GROW(f->token, n, f->cap);
	TOOL_GROW(r->end, r->n, r->cap);
	f->token[n] = token;
	r->end[r->n++] = f->kept[token % PERIOD_KEPT];
}

/* Starts to count the rounds of a new pattern. The latest calls already follow it. */
static void start_rounds(struct finder *f)
{
	const struct period *p = &f->period;
	struct rounds *r = f->out;

	f->first = p->first;
	/* The previous pattern was a loop within a step: its rounds no longer count. */
	if (p->rounds == (p->n - p->first) / p->length)
		r->n = 0;
	while (r->n && f->token[r->n - 1] >= p->first)
		r->n--;
	for (uint64_t i = p->first + p->length - 1; i < p->n; i += p->length)
		add_round_end(f, i);
}

static void follow_rounds(struct finder *f, const struct call *c)
{
	struct period *p = &f->period;
	uint64_t at = p->n, token;
	bool ends;

	if (c->bits & CALL_NESTED)
		return;
	token = hash_u64(hash_u64(hash_u64(c->op, c->comm), c->count), c->dtype);
	f->kept[at % PERIOD_KEPT] = (struct round_end){c->start, c->seq};
	ends = period_add_call(p, token);
	if (p->length && p->first != f->first)
		start_rounds(f);
	else if (ends)
		add_round_end(f, at);
}

void find_rounds(struct rounds *r, const struct rank_dir *d, const struct overlay *o)
{
	struct finder *f = tool_alloc(sizeof(*f));
	const struct walk_call *c;
	struct walk w;

	*r = (struct rounds){0};
	f->out = r;
	period_init(&f->period);
	f->first = UINT64_MAX;
	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w)))
		follow_rounds(f, &c->call);
	walk_close(&w);
	r->length = f->period.length;
	r->confidence = period_get_confidence(&f->period);
	free(f->token);
	free(f);
}

/* ---- the same steps on all ranks ---- */

/* Operations on the communicator of all ranks, each the end of a step, ascending. */
struct common_ends {
	uint64_t comm;
	int64_t *seq;
	unsigned n, cap;
};

/*
 * Returns true for an operation of all ranks. An asynchronous one with a later wait does not end a
 * round, because it may be started before an earlier one is complete.
 */
static bool is_of_all(const struct call *c, const struct folders *f)
{
	int64_t all = f->world_size > 0 ? f->world_size : (int64_t)f->n;

	return c->comm && c->comm_seq != NO_NUMBER && c->size == all && all > 1 &&
	       !(c->bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED)) &&
	       (c->bits & (CALL_ASYNC | CALL_WAITED)) != (CALL_ASYNC | CALL_WAITED);
}

/* ---- places with the most common number of calls ---- */

struct place_count {
	struct table_key key; /* a: stack */
	uint64_t n, first; /* n: number of calls; first: index of the first one among all calls */
	/* Communicator of the first call, if it is an operation of all ranks; else 0. */
	uint64_t comm;
	/* How often a call came directly before the end of a round, and directly after it. */
	unsigned before, after;
	unsigned round; /* round of the last call */
	/* Calls at sites with the same count since the latest call; how often these were few. */
	uint64_t since, early;
	bool has_bursts; /* several calls come in a row, followed by long gaps */
	/* The site's calls are on several communicators: the program calls them in an inner loop over these. */
	bool has_many_comms;
};

static void count_places(
	struct table *t, const struct folders *f, const struct rank_dir *d, const struct overlay *o)
{
	const struct walk_call *c;
	struct walk w;
	uint64_t number = 0;

	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w))) {
		struct place_count *p =
			c->call.stack ? table_get(t, c->call.stack, c->call.api) : NULL;

		number++;
		if (!p)
			continue;
		if (!p->n++) {
			p->first = number;
			p->comm = is_of_all(&c->call, f) ? c->call.comm : 0;
		}
		p->has_many_comms |= p->comm && p->comm != c->call.comm;
	}
	walk_close(&w);
}

/* False for places of inner loops. */
static bool is_in_outer_loop(const struct place_count *p)
{
	return !p->has_bursts && !p->has_many_comms;
}

/*
 * Returns true if the counts are equal, or differ by one: the run may have ended in the middle of a
 * step.
 */
static bool is_as_often(const struct place_count *p, uint64_t n)
{
	return is_in_outer_loop(p) && p->n + 1 >= n && p->n <= n + 1;
}

static unsigned count_as_often(const struct table *t, uint64_t n)
{
	unsigned places = 0;

	for (uint32_t i = 0; i < t->n; i++)
		places += is_as_often(table_at(t, i), n);
	return places;
}

static const struct place_count *find_last_as_often(const struct table *t, uint64_t n)
{
	const struct place_count *last = NULL;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct place_count *p = table_at(t, i);

		if (p->comm && is_as_often(p, n) && (!last || p->first > last->first))
			last = p;
	}
	return last;
}

/*
 * Most call sites of the loop over the steps are called once in each step. Of the sites with the
 * most common number of calls, the last operation of all ranks ends the steps. Returns NULL if
 * there is none.
 */
static const struct place_count *find_last_place(const struct table *t, uint64_t *times)
{
	uint64_t often = 0;
	unsigned most = 1;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct place_count *p = table_at(t, i);
		uint64_t n = p->n;
		unsigned places = count_as_often(t, n);

		if (!is_in_outer_loop(p))
			continue;
		if (n >= OFTEN_MIN && (places > most || (places == most && often && n > often))) {
			most = places;
			often = n;
		}
	}
	*times = often;
	return often ? find_last_as_often(t, often) : NULL;
}

/*
 * Marks call sites that have this number of calls by chance (the layers of a few checkpoints):
 * their calls come several in a row, with few calls of the other such sites in between. Returns
 * false if there are none.
 */
static bool mark_bursts(
	struct table *t, uint64_t often, const struct rank_dir *d, const struct overlay *o)
{
	const struct walk_call *c;
	struct place_count *p;
	struct walk w;
	uint64_t places = count_as_often(t, often), now = 0;
	bool any = false;

	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w))) {
		p = c->call.stack ? table_find(t, c->call.stack, c->call.api) : NULL;
		if (!p || !is_as_often(p, often))
			continue;
		now++;
		p->early += p->since && now - p->since - 1 < places / 2;
		p->since = now;
	}
	walk_close(&w);
	for (uint32_t i = 0; i < t->n; i++) {
		p = table_at(t, i);
		if (2 * p->early > p->n)
			any = p->has_bursts = true;
	}
	return any;
}

static void add_common_end(struct common_ends *e, int64_t seq)
{
	TOOL_GROW(e->seq, e->n, e->cap);
	e->seq[e->n++] = seq;
}

static void list_ends_of_place(struct common_ends *e, const struct place_count *p,
	const struct folders *f, const struct rank_dir *d, const struct overlay *o)
{
	const struct walk_call *c;
	struct walk w;

	e->n = 0;
	e->comm = p->comm;
	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w)))
		if (c->call.stack == p->key.a && c->call.api == p->key.b &&
			c->call.comm == e->comm && is_of_all(&c->call, f))
			add_common_end(e, c->call.comm_seq);
	walk_close(&w);
}

static bool find_ends_by_place(struct common_ends *e, const struct folders *f,
	const struct rank_dir *d, const struct overlay *o)
{
	const struct place_count *last;
	struct table t;
	uint64_t often;

	table_init(&t, sizeof(struct place_count), PLACES_MOST);
	count_places(&t, f, d, o);
	last = find_last_place(&t, &often);
	if (last && mark_bursts(&t, often, d, o))
		last = find_last_place(&t, &often);
	if (last)
		list_ends_of_place(e, last, f, d, o);
	table_free(&t);
	return last && e->n;
}

/*
 * Rounds may be iterations of an inner loop (a solver that iterates until it has converged). If the
 * outer loop has call sites of its own, its end is the last of these that is an operation of all
 * ranks.
 */
static void find_longer_ends(struct common_ends *longer, unsigned rounds, const struct folders *f,
	const struct rank_dir *d, const struct overlay *o)
{
	const struct place_count *last = NULL;
	unsigned most = 1;
	uint64_t often = 0;
	struct table t;

	table_init(&t, sizeof(struct place_count), PLACES_MOST);
	count_places(&t, f, d, o);
	for (uint32_t i = 0; i < t.n; i++) {
		uint64_t n = ((const struct place_count *)table_at(&t, i))->n;
		unsigned places = count_as_often(&t, n);

		if (n >= LONGER_MIN && LONGER_TIMES * n <= rounds && places > most) {
			most = places;
			often = n;
		}
	}
	if (often) {
		mark_bursts(&t, often, d, o);
		last = find_last_as_often(&t, often);
	}
	if (last)
		list_ends_of_place(longer, last, f, d, o);
	table_free(&t);
}

/* ---- the period of the calls ---- */

/* Finds the last call of each round. */
static void find_common_ends(struct common_ends *e, const struct rounds *r, const struct folders *f,
	const struct rank_dir *d, const struct overlay *o)
{
	const struct walk_call *c;
	struct walk w;
	uint64_t step = 0;

	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w))) {
		uint64_t now = get_rounds_before(r->end, r->n, c->call.start, c->call.seq);

		if (!is_of_all(&c->call, f) || now >= r->n || (e->n && c->call.comm != e->comm))
			continue;
		e->comm = c->call.comm;
		if (!e->n || now != step) {
			add_common_end(e, c->call.comm_seq);
		}
		e->seq[e->n - 1] = c->call.comm_seq;
		step = now;
	}
	walk_close(&w);
}

static bool is_common_end(const struct common_ends *e, int64_t seq)
{
	unsigned lo = 0, hi = e->n;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (e->seq[mid] < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < e->n && e->seq[lo] == seq;
}

static bool is_end_of_round(const struct common_ends *e, const struct call *c)
{
	return c->comm == e->comm && c->comm_seq != NO_NUMBER &&
	       !(c->bits & (CALL_P2P | CALL_LOCAL)) && is_common_end(e, c->comm_seq);
}

static int by_number_of_calls(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/*
 * In a loop over steps most rounds have about the same number of calls. Something that the program does a few times with other
 * sizes (a test, a solver for other inputs) is not a step, because nothing in it repeats. The first round is not counted: it
 * includes the program's start.
 */
static bool are_rounds_alike(const struct common_ends *e, const struct folders *f,
	const struct rank_dir *d, const struct overlay *o)
{
	uint64_t *calls = tool_alloc(e->n * sizeof(*calls)), since = 0, middle;
	unsigned ends = 0, near = 0, n;
	const struct walk_call *c;
	struct walk w;

	walk_calls_of_rank(&w, d, o);
	while ((c = walk_next(&w)) && ends < e->n) {
		since++;
		if (c->call.comm != e->comm || !is_of_all(&c->call, f) ||
			!is_common_end(e, c->call.comm_seq))
			continue;
		calls[ends++] = since;
		since = 0;
	}
	walk_close(&w);
	n = ends ? ends - 1 : 0;
	if (n)
		qsort(calls + 1, n, sizeof(*calls), by_number_of_calls);
	middle = n ? calls[1 + n / 2] : 0;
	for (unsigned i = 1; i <= n; i++)
		near += calls[i] >= middle - middle / 4 && calls[i] <= middle + middle / 4;
	free(calls);
	return 2 * near >= n;
}

/*
 * Returns true if the call after the operation that ends a step still belongs to that step: its
 * call site was first called after that of the operation. Calls that begin a step came earlier. A
 * site with a single call proves nothing.
 */
static bool is_after_end(
	const struct table *places, const struct call *c, const struct place_count *end)
{
	const struct place_count *p = c->stack ? table_find(places, c->stack, c->api) : NULL;

	return end && p && p->n > 1 && p->first > end->first;
}

/*
 * Returns true for a call that always came directly before the end of a round, is missing in this
 * round, and comes directly after its end: the two were swapped. A call that begins rounds has come
 * directly after an end before.
 */
static bool is_swapped_with_end(const struct place_count *p, unsigned round)
{
	return p && p->before >= SWAPPED_SEEN && !p->after && p->round != round;
}

static void end_rounds_of_rank(struct rank_dir *d, const struct folders *f,
	const struct common_ends *e, const struct common_ends *longer, const struct overlay *o)
{
	const struct walk_call *c;
	const struct place_count *last = NULL;
	struct place_count *before = NULL, *now;
	struct table places;
	struct walk w;
	struct round_end *end = NULL;
	unsigned n = 0, cap = 0, cap_longer = 0;
	bool over = false, /* over: the operation was made, and no call of the next step yet */
		first; /* the call comes directly after the operation */

	table_init(&places, sizeof(struct place_count), PLACES_MOST);
	count_places(&places, f, d, o);
	walk_calls_of_rank(&w, d, o);
	for (bool ended = false; (c = walk_next(&w));) {
		if (c->call.bits & CALL_NESTED)
			continue;
		now = c->call.stack ? table_find(&places, c->call.stack, c->call.api) : NULL;
		first = ended;
		ended = false;
		if (is_end_of_round(longer, &c->call)) {
			TOOL_GROW(d->longer, d->nlonger, cap_longer);
			d->longer[d->nlonger++] = (struct round_end){c->call.start, c->call.seq};
		}
		if (is_end_of_round(e, &c->call)) {
			last = now;
			over = ended = true;
			if (before)
				before->before++;
			TOOL_GROW(end, n, cap);
			n++;
		} else if (first && is_swapped_with_end(now, n)) {
			now->round = n;
		} else if (!over || !(over = is_after_end(&places, &c->call, last))) {
			if (now) {
				now->after += first;
				now->round = n + 1;
			}
			before = now;
			continue;
		}
		before = NULL;
		end[n - 1] = (struct round_end){c->call.start, c->call.seq};
	}
	walk_close(&w);
	table_free(&places);
	d->round = end;
	d->nround = n;
}

static uint64_t bytes_of_calls(const struct folders *f, const struct overlay *const *overlay)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < f->n; i++) {
		struct calls s;

		calls_open(&s, &f->dir[i], i, overlay[i]);
		all += calls_get_bytes(&s);
		calls_close(&s);
	}
	return all;
}

struct rounds_of_ranks {
	struct folders *folders;
	const struct overlay *const *overlay;
	const struct common_ends *ends, *longer;
	const bool *want;
};

static void end_rounds_of(void *arg, unsigned i)
{
	struct rounds_of_ranks *r = arg;

	if (!r->want || r->want[i])
		end_rounds_of_rank(
			&r->folders->dir[i], r->folders, r->ends, r->longer, r->overlay[i]);
}

bool number_by_rounds(
	struct folders *f, const struct overlay *const *overlay, struct numbering *how)
{
	struct common_ends e = {0}, longer = {0};
	bool found = false;
	unsigned by = 0;

	if (bytes_of_calls(f, overlay) > how->most)
		return false;
	for (unsigned i = 0; i < f->n && i < TRIED_MAX && !found; i++) {
		found = find_ends_by_place(&e, f, &f->dir[i], overlay[i]) &&
			are_rounds_alike(&e, f, &f->dir[i], overlay[i]);
		by = i;
	}
	for (unsigned i = 0; i < f->n && i < TRIED_MAX && !found; i++) {
		struct rounds r;

		find_rounds(&r, &f->dir[i], overlay[i]);
		e.n = 0;
		if (r.length && r.confidence >= ROUNDS_SURE)
			find_common_ends(&e, &r, f, &f->dir[i], overlay[i]);
		found = e.n && e.n >= ENDS_SHARE * r.n &&
			are_rounds_alike(&e, f, &f->dir[i], overlay[i]);
		by = i;
		free(r.end);
	}
	if (found)
		find_longer_ends(&longer, e.n, f, &f->dir[by], overlay[by]);
	how->longer = longer.n > 0;
	if (found)
		handle_each_in_threads(f->n, how->threads, end_rounds_of,
			&(struct rounds_of_ranks){f, overlay, &e, &longer, how->want});
	free(e.seq);
	free(longer.seq);
	return found;
}
