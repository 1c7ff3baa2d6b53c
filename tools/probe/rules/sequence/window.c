/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

#define BEFORE_WAIT 16 /* calls of a rank before the one in which it is blocked */
#define CALLS_MAX 3000u /* maximum number of calls of a rank, the latest ones */
#define STEPS_BEFORE 10
/* for each rank, if rounds are the steps: they may be rounds of a loop inside a step */
#define CALLS_BEFORE 1000
/* without marked steps, the last tenth of the window's calls is always judged */
#define LATEST_SHARE 10
#define CHAINS_MAX 32u
/* backward passes of all ranks, by which the most calls of a line in a pass is known */
#define PASSES_MIN 8u

/* ---- reading ---- */

static int by_sequence(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	return a->call.seq < b->call.seq ? -1 : a->call.seq > b->call.seq;
}

/*
 * Returns the purpose of a communicator: equal for communicators of other ranks with the same
 * purpose.
 */
static uint64_t comm_role(const struct window *w, const struct call *c)
{
	const struct comm_info *k = comms_find(&w->g->comms, c->comm);

	return hash_u64(k ? hash_u64(k->kind, k->name) : 0, (uint64_t)c->size);
}

int64_t relative_peer(const struct call *c)
{
	if (c->peer == NO_NUMBER || c->comm_rank == NO_NUMBER || c->size <= 0)
		return c->peer;
	return (c->peer - c->comm_rank + c->size) % c->size;
}

static void add_entry(struct window *w, struct rank_window *r, const struct call *c, unsigned *cap)
{
	if (!c->comm || c->bits & CALL_NESTED || !*intern_get_name(c->op))
		return;
	if (r->n == 2 * CALLS_MAX) {
		memmove(r->e, r->e + CALLS_MAX, CALLS_MAX * sizeof(*r->e));
		r->n = CALLS_MAX;
	}
	TOOL_GROW(r->e, r->n, *cap);

	struct entry *e = &r->e[r->n++];

	*e = (struct entry){.call = *c};
	e->line = e->loop = hash_u64(hash_u64(c->site, c->api), comm_role(w, c));
	e->near = find_near_site(&w->g->diagnose.sites, c);
	e->leaf = hash_u64(hash_u64(find_leaf_site(&w->g->diagnose.sites, c), c->api), c->comm);
	e->chain = c->thread;
}

/* True if the call is among the first n entries, which are sorted. */
static bool has_sequence(const struct rank_window *r, unsigned n, const struct call *c)
{
	struct entry e = {.call = *c};

	return n && bsearch(&e, r->e, n, sizeof(e), by_sequence);
}

static uint64_t count_steps_before(const struct gather *g, uint32_t rank)
{
	uint64_t steps = g->last_step - g->first_step + 1, calls = g->rank[rank].calls, before;

	if (!g->by_rounds || !calls)
		return STEPS_BEFORE;
	before = CALLS_BEFORE * steps / calls;
	return before > STEPS_BEFORE ? before : STEPS_BEFORE;
}

static void read_rank_window(struct window *w, uint32_t rank)
{
	struct rank_window *r = &w->rank[w->n++];
	struct gather *g = w->g;
	struct calls s;
	struct call c;
	uint64_t before;
	unsigned cap = 0, read;

	*r = (struct rank_window){.rank = rank};
	calls_open(&s, &g->folders.dir[rank], rank, &g->rank[rank].overlay);
	before = count_steps_before(g, rank);
	s.step_lo = w->step > before ? w->step - before : 0;
	s.step_hi = w->step + 1;
	while (calls_read_next(&s, &c)) {
		find_site(&g->diagnose.sites, &c);
		add_entry(w, r, &c, &cap);
	}
	calls_close(&s);
	read = r->n;
	if (read)
		qsort(r->e, read, sizeof(*r->e), by_sequence);
	/* Adds started calls, which may still be open when later calls are complete. */
	for (unsigned i = 0; i < g->opens.n; i++) {
		struct call *o = &g->opens.call[i].call;

		if (o->rank != rank || g->opens.call[i].waiting || has_sequence(r, read, o))
			continue;
		find_site(&g->diagnose.sites, o);
		add_entry(w, r, o, &cap);
	}
	if (r->n)
		qsort(r->e, r->n, sizeof(*r->e), by_sequence);
}

static int by_start_of_call(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	return a->call.start != b->call.start ? a->call.start < b->call.start ? -1 : 1
					      : by_sequence(x, y);
}

/*
 * Callbacks run on any thread that completes the operation for which they wait, so their callers
 * differ by chance. Their calls are ordered per communicator, because that order does not depend on
 * the caller, and their line is the innermost frame.
 */
static void chain_callbacks(struct window *w)
{
	struct leaf {
		/*
		 * a: leaf; b: rank, or UINT64_MAX: several threads of some rank made these calls.
		 */
		struct table_key key;
		uint32_t thread;
	} * l;
	struct table leaves;

	table_init(&leaves, sizeof(struct leaf), 1u << 18);
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++) {
			const struct entry *e = &w->rank[j].e[i];

			if (e->call.bits & (CALL_P2P | CALL_LOCAL) ||
				!(l = table_get(&leaves, e->leaf, w->rank[j].rank)))
				continue;
			if (!l->thread)
				l->thread = e->call.thread;
			if (l->thread != e->call.thread)
				table_get(&leaves, e->leaf, UINT64_MAX);
		}
	for (unsigned j = 0; j < w->n; j++) {
		struct rank_window *r = &w->rank[j];
		bool moved = false;

		for (unsigned i = 0; i < r->n; i++) {
			struct entry *e = &r->e[i];

			if (e->call.bits & (CALL_P2P | CALL_LOCAL) ||
				!table_find(&leaves, e->leaf, UINT64_MAX))
				continue;
			e->chain = hash_u64(e->call.comm, 1);
			e->line = e->loop =
				hash_u64(hash_u64(find_leaf_site(&w->g->diagnose.sites, &e->call),
						 e->call.api),
					comm_role(w, &e->call));
			e->near = 0;
			moved = true;
		}
		/*
		 * Threads get sequence numbers in blocks, so these do not show the order between
		 * threads.
		 */
		if (moved)
			qsort(r->e, r->n, sizeof(*r->e), by_start_of_call);
	}
	table_free(&leaves);
}

static uint64_t hash_kin(const struct call *c)
{
	uint64_t h = hash_u64(hash_u64(c->api, c->comm), (uint64_t)c->root);

	return hash_u64(hash_u64(h, (uint64_t)c->peer), (uint64_t)c->tag);
}

const char *differing_term(const struct call *a, const struct call *b)
{
	return a->redop != b->redop && a->redop && b->redop   ? "redop"
	       : a->dtype != b->dtype && a->dtype && b->dtype ? "dtype"
	       : a->root != b->root			      ? "root"
	       : a->count != b->count && a->count && b->count ? "count"
							      : NULL;
}

bool is_alike(const struct call *a, const struct call *b)
{
	return a->api == b->api && a->comm == b->comm && a->peer == b->peer && a->tag == b->tag &&
	       !differing_term(a, b);
}

bool is_judged(const struct window *w, const struct rank_window *r, unsigned i)
{
	if (i < r->first)
		return false;
	if (w->steps)
		return r->e[i].call.step + 1 >= w->step;
	return i >= r->n - r->n / LATEST_SHARE || (i >= r->from && i < r->until);
}

/*
 * A rank may have begun long ago to wait for a message that never came, while others went on.
 * Returns the time of the call BEFORE_WAIT calls before that wait, when nothing was wrong yet;
 * UINT64_MAX: no rank waits.
 */
static uint64_t begin_of_waiting(const struct window *w)
{
	uint64_t since = UINT64_MAX;

	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];
		const struct call *last = r->n > BEFORE_WAIT ? &r->e[r->n - 1].call : NULL;
		uint64_t at;

		if (!last || !(last->bits & CALL_OPEN) || !(last->bits & CALL_P2P))
			continue;
		at = clock_set_right(&w->g->skew[r->rank], r->e[r->n - BEFORE_WAIT].call.start);
		since = at < since ? at : since;
	}
	return since;
}

/*
 * Sets the calls of each rank that are judged in addition to the latest ones: those since a rank
 * began to wait, but none of the first half.
 */
static void choose_judged(struct window *w)
{
	uint64_t since = begin_of_waiting(w);

	for (unsigned j = 0; j < w->n; j++) {
		struct rank_window *r = &w->rank[j];

		while (r->since < r->n &&
			clock_set_right(&w->g->skew[r->rank], r->e[r->since].call.start) < since)
			r->since++;
		r->from = r->since > r->n / 2 ? r->since : r->n / 2;
		r->until = r->n;
	}
}

/*
 * Like choose_judged(), from the call at which a rank began to wait, however early; other calls of
 * equal number show what is usual. Returns false if no wait began in the first half.
 */
static bool choose_earlier(struct window *w)
{
	bool any = false;

	for (unsigned j = 0; j < w->n; j++) {
		struct rank_window *r = &w->rank[j];
		unsigned latest = r->n / LATEST_SHARE;

		if (r->since >= r->from)
			continue;
		r->from = r->since > latest ? r->since : latest;
		r->until = r->from + r->n / 2 - latest;
		any = true;
	}
	return any;
}

static bool is_line_in_step(const struct rank_window *r, uint64_t line, uint64_t step)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->e[i].line == line && r->e[i].call.step == step)
			return true;
	return false;
}

/*
 * Returns the loop in which the rank made such a call in earlier steps, if there is only one; a
 * loop on the same line if there is any. 0: none.
 */
static uint64_t find_former_loop(const struct window *w, const struct rank_window *r, unsigned i)
{
	uint64_t near = 0, any = 0;
	bool nears = false, anys = false;

	for (unsigned k = 0; k < i && !is_judged(w, r, k); k++) {
		const struct entry *o = &r->e[k];

		if (!is_alike(&o->call, &r->e[i].call))
			continue;
		anys |= any && any != o->loop;
		any = o->loop;
		if (!o->near || o->near != r->e[i].near)
			continue;
		nears |= near && near != o->loop;
		near = o->loop;
	}
	return near ? nears ? 0 : near : anys ? 0 : any;
}

/*
 * A branch that is taken only once makes its calls from lines of its own. These calls are taken for
 * calls of the usual lines, if the usual lines make no call in the step.
 */
static void follow_moved_calls(const struct window *w, struct rank_window *r)
{
	struct moved {
		struct table_key key; /* a: line */
		uint64_t loop;
	} * m;
	struct table seen, lines;

	table_init(&seen, sizeof(struct table_key), 4 * CALLS_MAX);
	table_init(&lines, sizeof(struct moved), 4 * CALLS_MAX);
	for (unsigned i = 0; i < r->n; i++) {
		struct entry *e = &r->e[i];

		e->loop = e->line;
		e->moved = false;
		if (!is_judged(w, r, i)) {
			table_get(&seen, e->line, 0);
			continue;
		}
		if (table_find(&seen, e->line, 0) ||
			!(m = table_get(&lines, e->line, e->call.step)))
			continue;
		if (!m->loop) {
			m->loop = find_former_loop(w, r, i);
			if (!m->loop || is_line_in_step(r, m->loop, e->call.step))
				m->loop = e->line;
		}
		e->moved = m->loop != e->line;
		e->loop = m->loop;
	}
	table_free(&seen);
	table_free(&lines);
}

/* How often a line is called in one backward pass. */
struct pass_calls {
	struct table_key key; /* a: line; b: 0: of all, else hash of rank, step and pass */
	uint32_t n; /* of all: the most in one pass; else: so far */
	uint32_t passes; /* of all: those that were seen */
};

static bool is_in_backward_pass(const struct call *c)
{
	return c->pass && !(c->bits & (CALL_P2P | CALL_LOCAL)) &&
	       strcmp(intern_get_name(c->phase), "backward") == 0;
}

/* Returns the number of the call among those of its line in its backward pass, from 1. 0: not known. */
static uint32_t get_number_in_pass(struct table *t, uint32_t rank, const struct entry *e)
{
	uint64_t pass = hash_u64(hash_u64(rank, e->call.step), (uint64_t)e->call.pass) | 1;
	struct pass_calls *c = table_get(t, e->line, pass);

	return c ? ++c->n : 0;
}

/*
 * Number of passes and of calls in a pass both vary from step to step where data decide how many passes there are. But a hook of
 * gradients that was never called as often in one pass makes another call than those before.
 */
static void update_calls_beyond_pass(struct window *w)
{
	struct table t;

	table_init(&t, sizeof(struct pass_calls), 8 * CALLS_MAX);
	for (unsigned judged = 0; judged < 2; judged++)
		for (unsigned j = 0; j < w->n; j++)
			for (unsigned i = 0; i < w->rank[j].n; i++) {
				struct entry *e = &w->rank[j].e[i];
				struct pass_calls *all;
				uint32_t n;

				if (is_judged(w, &w->rank[j], i) != judged ||
					!is_in_backward_pass(&e->call))
					continue;
				n = get_number_in_pass(&t, w->rank[j].rank, e);
				all = table_get(&t, e->line, 0);
				if (!all || !n)
					continue;
				if (!judged) {
					all->passes += n == 1;
					all->n = n > all->n ? n : all->n;
				} else if (n > all->n && all->passes >= PASSES_MIN) {
					e->loop = hash_u64(e->loop, n);
				}
			}
	table_free(&t);
}

static void find_known_places(const struct window *w, struct rank_window *r)
{
	struct table seen;

	table_init(&seen, sizeof(struct table_key), 4 * CALLS_MAX);
	/* The later calls also show what a new phase of the program does. */
	for (unsigned i = r->until; !w->steps && i < r->n; i++)
		if (!is_judged(w, r, i))
			table_get(&seen, r->e[i].place, 0);
	for (unsigned i = 0; i < r->n; i++) {
		r->e[i].kin = hash_kin(&r->e[i].call);
		r->e[i].known = table_find(&seen, r->e[i].place, 0);
		table_get(&seen, r->e[i].place, 0);
	}
	table_free(&seen);
}

struct successor {
	/* a: call site; b: call site of the previous call in its chain, 0 if there is none. */
	struct table_key key;
};

static uint64_t hash_finer_place(const struct entry *e)
{
	return e->unnumbered && e->call.bits & CALL_P2P
		       ? hash_u64(hash_u64(e->loop, (uint64_t)e->call.tag),
				 (uint64_t)relative_peer(&e->call))
		       : e->place;
}

/*
 * Without marked steps, and in a loop whose number of iterations varies, the iterations of a loop
 * of messages have no number. Tag and peer identify them if each iteration always follows the same
 * one. At a server, which answers any rank in the order of arrival, they mean nothing.
 */
static void tell_turns_by_terms(struct rank_window *r)
{
	unsigned learnt = r->n - r->n / 10, places, pairs;
	struct table seen;
	bool any = false;

	for (unsigned i = 0; i < r->n && !any; i++)
		any = r->e[i].unnumbered;
	if (!any)
		return;

	table_init(&seen, sizeof(struct successor), 8 * CALLS_MAX);
	for (unsigned i = 0; i < learnt; i++)
		table_get(&seen, hash_finer_place(&r->e[i]), 0);
	places = seen.n;
	for (unsigned i = 0; i < learnt; i++)
		if (r->e[i].prev >= 0)
			table_get(&seen, hash_finer_place(&r->e[i]),
				hash_finer_place(&r->e[r->e[i].prev]) | 1);
	pairs = seen.n - places;
	for (unsigned i = 0; pairs <= places + places / 2 && i < r->n; i++)
		r->e[i].place = hash_finer_place(&r->e[i]);
	table_free(&seen);
}

/* How many calls a thread makes, step by step. */
struct own_time {
	struct table_key key; /* a: chain */
	uint64_t step;
	uint32_t now, last; /* number of calls in this step, and in the previous step */
	bool gap; /* there are steps without calls between these two */
	/*
	 * steps: steps that were compared with the previous one; same: steps with as many calls as
	 * the previous one.
	 */
	uint32_t steps, same;
};

static void note_own_time(struct own_time *o, uint64_t step)
{
	if (o->now && o->step == step) {
		o->now++;
		return;
	}
	if (o->last) {
		o->steps++;
		o->same += o->last == o->now && !o->gap;
	}
	o->gap = o->now && step > o->step + 1;
	o->last = o->now;
	o->step = step;
	o->now = 1;
}

/*
 * True for one of several threads if it does not follow the steps, so that its calls are sometimes
 * in this step and sometimes in the next.
 */
static bool keeps_own_time(const struct table *chains, const struct entry *e)
{
	const struct own_time *o = table_find(chains, e->chain, 0);

	return chains->n > 1 && o && o->steps > 2 && 3 * o->same < 2 * o->steps;
}

/* How many iterations a loop makes, step by step. */
struct loop_turns {
	struct table_key key; /* a: loop */
	uint64_t step;
	/* Number of iterations in this step, and in the last step that had any. */
	uint32_t now, last;
	/*
	 * steps: steps that were compared; same: steps with as many iterations as the one before.
	 */
	uint32_t steps, same;
};

static void note_loop_turn(struct loop_turns *o, uint64_t step)
{
	if (o->now && o->step == step) {
		o->now++;
		return;
	}
	if (o->last) {
		o->steps++;
		o->same += o->last == o->now;
	}
	o->last = o->now;
	o->step = step;
	o->now = 1;
}

/*
 * True for a loop that runs until a condition is met: the number of an iteration in the step has no
 * meaning.
 */
static bool has_any_turns(const struct table *loops, const struct entry *e)
{
	const struct loop_turns *o = table_find(loops, e->loop, 0);

	return o && o->steps > 2 && 3 * o->same < 2 * o->steps;
}

/* Numbers the calls of each call site in a step, in the order in which they were made. */
static void count_turns(const struct window *w, struct rank_window *r)
{
	struct table chains, loops;
	struct table turns;
	struct turn {
		struct table_key key;
		uint32_t n;
	};

	table_init(&turns, sizeof(struct turn), 4 * CALLS_MAX);
	table_init(&chains, sizeof(struct own_time), 4 * CALLS_MAX);
	table_init(&loops, sizeof(struct loop_turns), 4 * CALLS_MAX);
	for (unsigned i = 0; w->steps && i < r->n; i++) {
		struct own_time *o = table_get(&chains, r->e[i].chain, 0);
		struct loop_turns *t =
			is_judged(w, r, i) ? NULL : table_get(&loops, r->e[i].loop, 0);

		if (o)
			note_own_time(o, r->e[i].call.step);
		if (t)
			note_loop_turn(t, r->e[i].call.step);
	}
	for (unsigned i = 0; i < r->n; i++) {
		struct entry *e = &r->e[i];
		struct turn *t;

		e->unnumbered = !w->steps || has_any_turns(&loops, e);
		t = e->unnumbered || keeps_own_time(&chains, e)
			    ? NULL
			    : table_get(&turns, e->loop, e->call.step);
		e->call.nth = t ? t->n++ : 0;
		e->place = hash_u64(e->loop, e->call.nth);
	}
	table_free(&turns);
	table_free(&chains);
	table_free(&loops);
}

/* Links each call to the previous one of its chain. */
static void chain_calls(struct rank_window *r)
{
	uint64_t chain[CHAINS_MAX];
	int latest[CHAINS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++) {
		unsigned t = 0;

		r->e[i].prev = r->e[i].next = -1;
		while (t < n && chain[t] != r->e[i].chain)
			t++;
		if (t == n && n < CHAINS_MAX) {
			chain[n] = r->e[i].chain;
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

/*
 * Returns a hash of those parameters of the call that never vary at its call site. If an open call
 * lacks a parameter, the usual value is taken.
 */
static uint64_t hash_terms(const struct window *w, const struct entry *e, uint64_t place)
{
	const struct usual_terms *t = table_find(&w->terms, place, 0);
	const struct call *c = &e->call;
	bool open = c->bits & (CALL_OPEN | CALL_ERROR);
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

static void read_one_more(struct window *w, uint32_t rank)
{
	for (unsigned j = 0; j < w->n; j++)
		if (w->rank[j].rank == rank)
			return;
	if (w->n < WINDOW_RANKS_MAX)
		read_rank_window(w, rank);
}

/* Sets call sites, and tokens by the parameters in calls that are not judged. */
static void compare_by_usual_order(struct window *w)
{
	table_init(&w->terms, sizeof(struct usual_terms), 1u << 16);
	for (unsigned j = 0; j < w->n; j++) {
		struct rank_window *r = &w->rank[j];

		follow_moved_calls(w, r);
	}
	update_calls_beyond_pass(w);
	for (unsigned j = 0; j < w->n; j++) {
		struct rank_window *r = &w->rank[j];

		count_turns(w, r);
		chain_calls(r);
		tell_turns_by_terms(r);
		find_known_places(w, r);
		/* Without marked steps, judged calls do not count as usual. */
		for (unsigned i = 0; i < r->n; i++)
			if (w->steps ? r->e[i].call.step < w->step : !is_judged(w, r, i))
				learn_terms(w, &r->e[i]);
	}
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++)
			w->rank[j].e[i].token =
				hash_terms(w, &w->rank[j].e[i], w->rank[j].e[i].place);
}

struct window *window_read(
	struct gather *g, const struct suspects *first, uint64_t step, uint64_t comm)
{
	struct window *w = tool_alloc(sizeof(*w));
	const struct comm_info *k = comms_find(&g->comms, comm);

	*w = (struct window){.g = g, .step = step, .steps = g->diagnose.sites.steps};
	for (unsigned i = 0; i < first->n; i++)
		read_one_more(w, first->rank[i]);
	for (unsigned i = 0; k && k->member && i < k->nmember && w->n < WINDOW_RANKS_MAX; i++) {
		int at = gather_index(g, k->member[i]);

		if (at >= 0)
			read_one_more(w, (uint32_t)at);
	}
	for (uint32_t i = 0; i < g->folders.n && w->n < WINDOW_RANKS_MAX; i++)
		read_one_more(w, i);
	chain_callbacks(w);
	choose_judged(w);
	compare_by_usual_order(w);
	return w;
}

bool window_look_earlier(struct window *w)
{
	if (w->steps || !choose_earlier(w))
		return false;
	table_free(&w->terms);
	compare_by_usual_order(w);
	return true;
}

void window_free(struct window *w)
{
	for (unsigned i = 0; i < w->n; i++)
		free(w->rank[i].e);
	table_free(&w->terms);
	free(w);
}
