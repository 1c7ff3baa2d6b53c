/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/explain.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

#define RANKS_MAX 64u /* that are read again */
#define CALLS_MAX 3000u /* of each, the latest */
#define STEPS_BEFORE 10
#define SEEN_MIN 2 /* times that a call must have been made before its successor means anything */
#define LEFT_OUT_MAX 4 /* calls one after the other */
#define THREADS_MAX 16u

/* A call, and what it is compared by. */
struct entry {
	struct call call;
	uint64_t place; /* where in the program, alike on all ranks */
	uint64_t loop; /* the same without its number in the step */
	uint64_t token; /* place and terms */
	uint64_t kin; /* what it is, wherever it was made */
	bool known; /* its rank has been at the place before */
	int prev; /* the call before it on its thread; -1: none */
	int next;
};

struct rank_window {
	uint32_t rank;
	struct entry *e;
	unsigned n;
};

/* Terms that a place has had in the steps before the trouble; those that change from step to step say nothing. */
struct usual_terms {
	struct table_key key; /* a: place */
	bool any;
	uint64_t count;
	uint32_t dtype, redop;
	int64_t root, tag, peer;
	bool counts, dtypes, redops, roots, tags, peers; /* there were several */
};

struct window {
	struct gather *g;
	struct rank_window rank[RANKS_MAX];
	unsigned n;
	uint64_t step;
	struct table terms; /* struct usual_terms */
	bool steps; /* marked */
};

/* ---- reading ---- */

static int by_sequence(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	return a->call.seq < b->call.seq ? -1 : a->call.seq > b->call.seq;
}

/* What a communicator is for: those of other ranks for the same purpose are others. */
static uint64_t comm_role(const struct window *w, const struct call *c)
{
	const struct comm_info *k = comms_find(&w->g->comms, c->comm);

	return hash_u64(k ? hash_u64(k->kind, k->name) : 0, (uint64_t)c->size);
}

static int64_t relative_peer(const struct call *c)
{
	if (c->peer == NO_NUMBER || c->comm_rank == NO_NUMBER || c->size <= 0)
		return c->peer;
	return (c->peer - c->comm_rank + c->size) % c->size;
}

static void add_entry(struct window *w, struct rank_window *r, const struct call *c, unsigned *cap)
{
	if (!c->comm || c->bits & CALL_NESTED || !*intern_name(c->op))
		return;
	if (r->n == 2 * CALLS_MAX) {
		memmove(r->e, r->e + CALLS_MAX, CALLS_MAX * sizeof(*r->e));
		r->n = CALLS_MAX;
	}
	TOOL_GROW(r->e, r->n, *cap);

	struct entry *e = &r->e[r->n++];

	*e = (struct entry){.call = *c};
	e->loop = hash_u64(hash_u64(c->site, c->api), comm_role(w, c));
}

static void read_rank_window(struct window *w, uint32_t rank)
{
	struct rank_window *r = &w->rank[w->n++];
	struct gather *g = w->g;
	struct calls s;
	struct call c;
	unsigned cap = 0;
	uint64_t last = 0;

	*r = (struct rank_window){.rank = rank};
	calls_open(&s, &g->folders.dir[rank], rank, &g->rank[rank].overlay);
	s.step_lo = w->step > STEPS_BEFORE ? w->step - STEPS_BEFORE : 0;
	s.step_hi = w->step + 1;
	while (calls_next(&s, &c)) {
		find_site(&g->diagnose.sites, &c);
		add_entry(w, r, &c, &cap);
		last = c.seq > last ? c.seq : last;
	}
	calls_close(&s);
	for (unsigned i = 0; i < g->opens.n; i++) {
		struct call *o = &g->opens.call[i].call;

		if (o->rank != rank || o->seq <= last || g->opens.call[i].waiting)
			continue;
		find_site(&g->diagnose.sites, o);
		add_entry(w, r, o, &cap);
	}
	if (r->n)
		qsort(r->e, r->n, sizeof(*r->e), by_sequence);
}

static uint64_t hash_kin(const struct call *c)
{
	uint64_t h = hash_u64(hash_u64(c->api, c->comm), (uint64_t)c->root);

	return hash_u64(hash_u64(h, (uint64_t)c->peer), (uint64_t)c->tag);
}

static void find_known_places(struct rank_window *r)
{
	struct table seen;

	table_init(&seen, sizeof(struct table_key), 4 * CALLS_MAX);
	for (unsigned i = 0; i < r->n; i++) {
		r->e[i].kin = hash_kin(&r->e[i].call);
		r->e[i].known = table_find(&seen, r->e[i].place, 0);
		table_get(&seen, r->e[i].place, 0);
	}
	table_free(&seen);
}

/* The number of each call at its place in its step, in the order in which they were made. */
static void count_turns(const struct window *w, struct rank_window *r)
{
	struct table turns;
	struct turn {
		struct table_key key;
		uint32_t n;
	};

	table_init(&turns, sizeof(struct turn), 4 * CALLS_MAX);
	for (unsigned i = 0; i < r->n; i++) {
		struct entry *e = &r->e[i];
		struct turn *t = w->steps ? table_get(&turns, e->loop, e->call.step) : NULL;

		e->call.nth = t ? t->n++ : 0;
		e->place = hash_u64(e->loop, e->call.nth);
	}
	table_free(&turns);
	find_known_places(r);
}

/* What happened before each call on its thread. */
static void chain_calls(struct rank_window *r)
{
	uint32_t thread[THREADS_MAX];
	int latest[THREADS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++) {
		unsigned t = 0;

		r->e[i].prev = r->e[i].next = -1;
		while (t < n && thread[t] != r->e[i].call.thread)
			t++;
		if (t == n && n < THREADS_MAX) {
			thread[n] = r->e[i].call.thread;
			latest[n++] = -1;
		}
		if (t == n)
			continue;
		r->e[i].prev = latest[t];
		if (latest[t] >= 0)
			r->e[latest[t]].next = (int)i;
		latest[t] = (int)i;
	}
}

/* ---- terms ---- */

static void learn_terms(struct window *w, const struct entry *e)
{
	struct usual_terms *t = table_get(&w->terms, e->place, 0);
	const struct call *c = &e->call;

	if (!t || c->bits & CALL_OPEN)
		return;
	if (!t->any) {
		*t = (struct usual_terms){t->key, true, c->count, c->dtype, c->redop, c->root,
			c->tag, relative_peer(c), false, false, false, false, false, false};
		return;
	}
	t->counts |= t->count != c->count;
	t->dtypes |= t->dtype != c->dtype;
	t->redops |= t->redop != c->redop;
	t->roots |= t->root != c->root;
	t->tags |= t->tag != c->tag;
	t->peers |= t->peer != relative_peer(c);
}

/* A receive of any tag, of any rank has the tag and the peer of what came. */
static bool may_be_of_any(const struct call *c)
{
	return strcmp(intern_name(c->op), "recv") == 0 && !(c->bits & CALL_OPEN);
}

/* The terms of a call as far as its place always has the same. An open call may not know them: they are as usual then. */
static uint64_t hash_terms(const struct window *w, const struct entry *e, uint64_t place)
{
	const struct usual_terms *t = table_find(&w->terms, place, 0);
	const struct call *c = &e->call;
	bool open = c->bits & CALL_OPEN;
	uint64_t h = hash_u64(place, 7);

	if (!t || !t->any)
		return h;
	h = hash_u64(h, t->counts ? 0 : open && !c->count ? t->count : c->count);
	h = hash_u64(h, t->dtypes ? 0 : open && !c->dtype ? t->dtype : c->dtype);
	h = hash_u64(h, t->redops ? 0 : open && !c->redop ? t->redop : c->redop);
	h = hash_u64(
		h, t->roots ? 0 : (uint64_t)(open && c->root == NO_NUMBER ? t->root : c->root));
	h = hash_u64(h, t->tags ? 0 : (uint64_t)(open && c->tag == NO_NUMBER ? t->tag : c->tag));
	return hash_u64(h, t->peers ? 0 : (uint64_t)relative_peer(c));
}

/* Which term of the call is not what its place always had; NULL: none. */
static const char *odd_term(const struct window *w, const struct entry *e)
{
	const struct usual_terms *t = table_find(&w->terms, e->place, 0);
	const struct call *c = &e->call;
	bool open = c->bits & CALL_OPEN;

	if (!t || !t->any)
		return NULL;
	if (!t->tags && t->tag != c->tag && !(open && c->tag == NO_NUMBER))
		return "tag";
	if (!t->peers && t->peer != relative_peer(c))
		return "peer";
	if (!t->dtypes && t->dtype != c->dtype && !(open && !c->dtype))
		return "dtype";
	if (!t->redops && t->redop != c->redop && !(open && !c->redop))
		return "redop";
	if (!t->roots && t->root != c->root && !(open && c->root == NO_NUMBER))
		return "root";
	return !t->counts && t->count != c->count && !(open && !c->count) ? "count" : NULL;
}

struct window *window_read(struct gather *g, uint64_t step, uint64_t comm)
{
	struct window *w = tool_alloc(sizeof(*w));
	const struct comm_info *k = comms_find(&g->comms, comm);

	*w = (struct window){.g = g, .step = step, .steps = g->diagnose.sites.steps};
	table_init(&w->terms, sizeof(struct usual_terms), 1u << 16);
	for (unsigned i = 0; k && k->member && i < k->nmember && w->n < RANKS_MAX; i++) {
		int at = gather_index(g, k->member[i]);

		if (at >= 0)
			read_rank_window(w, (uint32_t)at);
	}
	for (uint32_t i = 0; i < g->folders.n && w->n < RANKS_MAX; i++) {
		bool has = false;

		for (unsigned j = 0; j < w->n && !has; j++)
			has = w->rank[j].rank == i;
		if (!has)
			read_rank_window(w, i);
	}
	for (unsigned j = 0; j < w->n; j++) {
		struct rank_window *r = &w->rank[j];

		count_turns(w, r);
		chain_calls(r);
		/* Without steps: what the last tenth does is not learnt. */
		for (unsigned i = 0; i < r->n; i++)
			if (w->steps ? r->e[i].call.step < step : i < r->n - r->n / 10)
				learn_terms(w, &r->e[i]);
	}
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++)
			w->rank[j].e[i].token =
				hash_terms(w, &w->rank[j].e[i], w->rank[j].e[i].place);
	return w;
}

void window_free(struct window *w)
{
	for (unsigned i = 0; i < w->n; i++)
		free(w->rank[i].e);
	table_free(&w->terms);
	free(w);
}

/* ---- what never followed ---- */

/* Calls that came between the one before and this one at an earlier time, from k on; 0: it never came so soon after. */
static unsigned count_left_out(const struct rank_window *r, unsigned i, int k)
{
	int at = r->e[k].next;

	for (unsigned n = 1; n <= LEFT_OUT_MAX && at >= 0; n++) {
		at = r->e[at].next;
		if (at >= 0 && at < (int)i &&
			(r->e[at].token == r->e[i].token ||
				(!r->e[i].known && r->e[at].kin == r->e[i].kin)))
			return n;
	}
	return 0;
}

/*
 * How often the call before this one was made earlier, and how often this one followed then. *usual: the earlier time that
 * this one is nearest to: as few calls as possible between them.
 */
static unsigned count_followed(const struct rank_window *r, unsigned i, unsigned *same, int *usual)
{
	uint64_t before = r->e[r->e[i].prev].token;
	unsigned n = 0, best = UINT_MAX;

	*same = 0;
	*usual = -1;
	for (int k = r->e[i].prev - 1; k >= 0; k--) {
		int next = r->e[k].next;
		unsigned left;

		if (r->e[k].token != before || next < 0 || next >= (int)i)
			continue;
		n++;
		if (r->e[next].token == r->e[i].token) {
			++*same;
			continue;
		}
		left = count_left_out(r, i, k);
		if (*usual < 0 || (left && left < best)) {
			best = left ? left : best;
			*usual = k;
		}
	}
	return n;
}

/* The latest call with that token before i; -1: none. */
static int find_token(const struct rank_window *r, unsigned i, uint64_t token)
{
	for (int k = (int)i - 1; k >= 0; k--)
		if (r->e[k].token == token)
			return k;
	return -1;
}

/* The call as if it had been at another number of the loop: that one always has these very terms. */
static bool fits_turn(const struct window *w, const struct entry *e, int turns)
{
	const struct call *c = &e->call;
	const struct usual_terms *t;
	uint64_t place;

	if (turns < 0 && !c->nth)
		return false;
	place = hash_u64(e->loop, c->nth + (uint64_t)(int64_t)turns);
	t = table_find(&w->terms, place, 0);
	return t && t->any && !t->counts && t->count == c->count && t->dtype == c->dtype &&
	       (t->tags || t->tag == c->tag) && (t->peers || t->peer == relative_peer(c)) &&
	       (t->roots || t->root == c->root) && (t->redops || t->redop == c->redop);
}

/* The call with the terms that its place has had. */
static struct call usual_call(const struct window *w, const struct entry *e)
{
	const struct usual_terms *t = table_find(&w->terms, e->place, 0);
	struct call c = e->call;

	if (!t || !t->any)
		return c;
	c.count = t->count;
	c.dtype = t->dtype;
	c.redop = t->redop;
	c.root = t->root;
	c.tag = t->tag;
	c.peer = t->peer;
	if (c.peer != NO_NUMBER && c.comm_rank != NO_NUMBER && c.size > 0)
		c.peer = (c.peer + c.comm_rank) % c.size;
	return c;
}

static struct verdict make_verdict(const struct window *w, const struct rank_window *r,
	enum verdict_kind kind, unsigned at, const struct call *usual, unsigned times)
{
	return (struct verdict){.kind = kind,
		.rank = r->rank,
		.step = r->e[at].call.step,
		.call = r->e[at].call,
		.usual = *usual,
		.before = r->e[r->e[at].prev].call,
		.times = times,
		.ranks = w->n};
}

/* A call of a loop with other terms than that turn has: a turn was left out, made twice, or two changed places. */
static bool judge_turn(const struct window *w, const struct rank_window *r, unsigned i,
	const struct call *usual, unsigned times, struct verdict *v)
{
	const struct entry *e = &r->e[i];
	const struct entry *next = e->next >= 0 ? &r->e[e->next] : NULL;
	bool goes_on = next && next->loop == e->loop && next->call.step == e->call.step;

	if (fits_turn(w, e, 1) && goes_on && fits_turn(w, next, -1)) {
		*v = make_verdict(w, r, VERDICT_ORDER, i, usual, times);
		return true;
	}
	/* All that follow are a turn ahead too; else it is this one's term that is wrong. */
	if (fits_turn(w, e, 1) && (!goes_on || fits_turn(w, next, 1))) {
		struct call left_out = usual_call(w, e);

		*v = make_verdict(w, r, VERDICT_MISSING, i, usual, times);
		v->call = left_out;
		return true;
	}
	if (fits_turn(w, e, -1) && r->e[e->prev].loop == e->loop) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, usual, times);
		return true;
	}
	return false;
}

/* Is the call made a little later nevertheless? */
static bool comes_later(const struct rank_window *r, unsigned i, uint64_t token)
{
	int at = r->e[i].next;

	for (unsigned n = 0; n < 3 && at >= 0; n++, at = r->e[at].next)
		if (r->e[at].token == token)
			return true;
	return false;
}

/* Other ranks that did the usual thing in this very step. */
static unsigned count_others(
	const struct window *w, const struct rank_window *me, unsigned i, uint64_t usual)
{
	const struct entry *before = &me->e[me->e[i].prev];
	unsigned n = 0;

	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned k = 0; r != me && k < r->n; k++)
			if (r->e[k].token == before->token &&
				r->e[k].call.step == before->call.step && r->e[k].next >= 0 &&
				r->e[r->e[k].next].token == usual) {
				n++;
				break;
			}
	}
	return n;
}

/* The same operation in the place of the usual one, from another line: what comes behind it is what came behind that one. */
static bool takes_place_of(const struct rank_window *r, unsigned i, int k)
{
	const struct entry *e = &r->e[i], *usual = &r->e[r->e[k].next];

	if (e->call.api != usual->call.api || e->call.comm != usual->call.comm ||
		(e->call.bits | usual->call.bits) & CALL_P2P)
		return false;
	return e->next < 0 || (usual->next >= 0 && r->e[e->next].token == r->e[usual->next].token);
}

/* NULL: none. */
static const char *differing_term(const struct call *a, const struct call *b)
{
	return a->redop != b->redop && a->redop && b->redop   ? "redop"
	       : a->dtype != b->dtype && a->dtype && b->dtype ? "dtype"
	       : a->root != b->root			      ? "root"
	       : a->count != b->count && a->count && b->count ? "count"
							      : NULL;
}

/* From a new line, and all its terms are those of the call that comes behind the usual one: that one was made first. */
static bool is_next_made_first(const struct rank_window *r, unsigned i, int k)
{
	const struct entry *e = &r->e[i], *usual = &r->e[r->e[k].next], *behind;

	if (usual->next < 0 || usual->next >= (int)i)
		return false;
	behind = &r->e[usual->next];
	return behind->kin == e->kin && differing_term(&e->call, &usual->call) &&
	       !differing_term(&e->call, &behind->call);
}

/* Did that call ever come right behind the one before e[i]? */
static bool has_followed(const struct rank_window *r, unsigned i, uint64_t token)
{
	uint64_t before = r->e[r->e[i].prev].token;

	for (int k = r->e[i].prev - 1; k >= 0; k--)
		if (r->e[k].token == before && r->e[k].next >= 0 && r->e[k].next < (int)i &&
			r->e[r->e[k].next].token == token)
			return true;
	return false;
}

static bool judge_call(
	const struct window *w, const struct rank_window *r, unsigned i, struct verdict *v)
{
	const struct entry *e = &r->e[i];
	const struct entry *usual;
	unsigned same, left, times;
	const char *term;
	int k;

	if (e->prev < 0)
		return false;
	times = count_followed(r, i, &same, &k);
	if (same || k < 0)
		return false;
	usual = &r->e[r->e[k].next];
	if (times < SEEN_MIN && count_others(w, r, i, usual->token) < 1)
		return false;
	term = odd_term(w, e);
	if (term && judge_turn(w, r, i, &usual->call, times, v))
		return true;
	if (term && (*term == 't' || *term == 'p') && may_be_of_any(&e->call))
		return false;
	if (term && (usual->place == e->place || e->known)) {
		struct call as_usual = usual_call(w, e);

		*v = make_verdict(w, r, VERDICT_TERMS, i, &as_usual, times);
		v->what = term;
		return true;
	}
	/* The line that made the call before, once more than ever in a step. */
	if (w->steps && !e->known && e->loop == r->e[e->prev].loop &&
		e->call.step == r->e[e->prev].call.step) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	if (!e->known && takes_place_of(r, i, k)) {
		if (is_next_made_first(r, i, k)) {
			*v = make_verdict(w, r, VERDICT_ORDER, i, &usual->call, times);
			return true;
		}
		term = differing_term(&e->call, &usual->call);
		if (!term)
			return false;
		*v = make_verdict(w, r, VERDICT_TERMS, i, &usual->call, times);
		v->what = term;
		return true;
	}
	/* From a line that never made one, and behind it all goes on as it used to: put in between. */
	if (!e->known && e->next >= 0 && has_followed(r, i, r->e[e->next].token) &&
		(!(e->call.bits & CALL_P2P) ||
			is_message_alone(&w->g->diagnose.messages, &e->call))) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	if (comes_later(r, i, usual->token)) {
		/* The usual one came behind it: both changed places, or this one was put in between. */
		bool swapped = find_token(r, i, e->token) >= 0 && count_left_out(r, i, k) == 1;

		if (swapped && r->e[e->next].token == usual->token) {
			int behind = r->e[e->next].next;

			/* ... and comes once more: put in between. */
			if (behind >= 0 && r->e[behind].loop == e->loop &&
				r->e[behind].call.nth == e->call.nth + 1)
				swapped = false;
		}
		*v = make_verdict(
			w, r, swapped ? VERDICT_ORDER : VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	left = count_left_out(r, i, k);
	if (e->loop == r->e[e->prev].loop && !left) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	/* It stands in a message, and the one that came first may follow yet. */
	if (left && e->call.bits & CALL_OPEN && e->call.bits & usual->call.bits & CALL_P2P) {
		*v = make_verdict(w, r, VERDICT_ORDER, i, &usual->call, times);
		v->may_follow = true;
		return true;
	}
	/* From a new line: who only left something out goes on where it always did. */
	if (left && w->steps && !e->known) {
		*v = make_verdict(w, r, VERDICT_ORDER, i, &usual->call, times);
		return true;
	}
	if (left) {
		*v = make_verdict(w, r, VERDICT_MISSING, i, &usual->call, times);
		v->call = usual->call;
		/* In the step in which it was due. */
		v->step = r->e[e->prev].call.step + (usual->call.step - r->e[k].call.step);
		v->call.step = v->step;
		v->call.comm_seq = NO_NUMBER;
		return true;
	}
	return false;
}

/* Ranks that did the same new thing in that step. */
static unsigned count_alike(
	const struct window *w, const struct verdict *v, uint64_t before, uint64_t token)
{
	unsigned n = 0;

	(void)v;
	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned i = 0; i < r->n; i++) {
			unsigned same;
			int k;

			if (r->e[i].token != token || r->e[i].prev < 0 ||
				r->e[r->e[i].prev].token != before ||
				r->e[i].call.step + 1 < v->step || r->e[i].call.step > v->step + 1)
				continue;
			count_followed(r, i, &same, &k);
			if (!same) {
				n++;
				break;
			}
		}
	}
	return n;
}

struct verdict judge_sequences(const struct window *w, const bool *may)
{
	struct verdict best = {.kind = VERDICT_NONE}, v;
	uint64_t earliest = UINT64_MAX;

	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned i = 0; (!may || may[r->rank]) && i < r->n; i++) {
			const struct entry *e = &r->e[i];
			uint64_t at = clock_set_right(&w->g->skew[r->rank], e->call.start);

			if (w->steps ? e->call.step + 1 < w->step : i < r->n - r->n / 10)
				continue;
			if (at >= earliest)
				break;
			if (!judge_call(w, r, i, &v))
				continue;
			if (2 * count_alike(w, &v, r->e[e->prev].token, e->token) > w->n)
				continue;
			best = v;
			earliest = at;
			break;
		}
	}
	return best;
}

/* ---- who is alone with a term ---- */

static uint64_t term_of(const struct call *c, enum meet_unlike what)
{
	switch (what) {
	case UNLIKE_OP:
		return c->op;
	case UNLIKE_REDOP:
		return c->redop;
	case UNLIKE_ROOT:
		return (uint64_t)c->root;
	case UNLIKE_DTYPE:
		return c->dtype;
	default:
		return c->in_bytes ? c->in_bytes : c->out_bytes;
	}
}

static const struct entry *find_window_entry(
	const struct rank_window *r, uint64_t comm, int64_t seq)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->e[i].call.comm == comm && r->e[i].call.comm_seq == seq &&
			!(r->e[i].call.bits & (CALL_P2P | CALL_LOCAL)))
			return &r->e[i];
	return NULL;
}

/* How many of all ranks have that value at the same place in the same step. */
static unsigned count_votes(const struct window *w, const struct entry *e, enum meet_unlike what)
{
	unsigned n = 0;

	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++) {
			const struct entry *o = &w->rank[j].e[i];

			if (o->place == e->place && o->call.step == e->call.step &&
				term_of(&o->call, what) == term_of(&e->call, what)) {
				n++;
				break;
			}
		}
	return n;
}

unsigned judge_terms(const struct window *w, uint64_t comm, int64_t seq, enum meet_unlike what,
	uint32_t *rank, unsigned cap, struct call *is, struct call *others)
{
	const struct entry *e[RANKS_MAX], *right = NULL;
	unsigned n = 0, best = 0, second = 0, found = 0;

	for (unsigned j = 0; j < w->n; j++)
		if ((e[n] = find_window_entry(&w->rank[j], comm, seq)))
			n++;
	for (unsigned i = 0; i < n; i++) {
		unsigned votes = 0;

		for (unsigned k = 0; k < n; k++)
			votes += term_of(&e[k]->call, what) == term_of(&e[i]->call, what);
		if (votes > best) {
			second = right && term_of(&right->call, what) != term_of(&e[i]->call, what)
					 ? best
					 : second;
			best = votes;
			right = e[i];
		} else if (right && term_of(&right->call, what) != term_of(&e[i]->call, what) &&
			   votes > second) {
			second = votes;
		}
	}
	if (best == second) {
		best = second = 0;
		for (unsigned i = 0; i < n; i++) {
			unsigned votes = count_votes(w, e[i], what);

			if (votes > best) {
				second = right && term_of(&right->call, what) !=
								 term_of(&e[i]->call, what)
						 ? best
						 : 0;
				best = votes;
				right = e[i];
			} else if (term_of(&right->call, what) != term_of(&e[i]->call, what) &&
				   votes > second) {
				second = votes;
			}
		}
		if (best == second)
			return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		if (term_of(&e[i]->call, what) == term_of(&right->call, what))
			continue;
		if (!found)
			*is = e[i]->call;
		if (found < cap)
			rank[found] = e[i]->call.rank;
		found++;
	}
	if (found)
		*others = right->call;
	return found;
}
