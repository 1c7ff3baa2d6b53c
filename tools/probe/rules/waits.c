/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/waits.h"

#include <stdlib.h>

#include "tools/lib/tool.h"
#include "tools/probe/rules/rank_activity.h"

/* maximum number of steps in the search for the smallest circle; then any circle is used */
#define LOOKS_PER_EDGE 64u

/*
 * Nodes 0 to nrank - 1 are ranks, by folder index; the others are operations that ranks have not
 * entered. A rank has edges to what it waits for, an operation has edges to its missing ranks.
 */
struct wait_graph {
	uint32_t nrank, n;
	uint32_t *first, *to; /* successors of node i: to[first[i]] to to[first[i + 1] - 1] */
	uint32_t *back_first, *from; /* the same for predecessors */
	unsigned nto, cap;
	uint64_t looks;
	/* By rank. Kept, because a process may stop or go on while the report is made. */
	const struct open_call **blocking;
};

/* ns without processor time and I/O: a rank that loads data is still for some seconds, too */
#define WAIT_STILL_NS UINT64_C(10000000000)

/*
 * A rank may compute while an operation that it started is not complete. It waits for it only if it
 * does nothing at all. Of a process that ended, the last measurement counts; one that was stopped
 * before it ended measured nothing then.
 */
static bool is_rank_still(struct report *r, uint32_t rank)
{
	const struct rank_progress *p = &r->g.folders.dir[rank].progress;
	struct activity m = find_rank_activity(r, rank);

	if (m.state == ACTIVITY_GONE)
		return p->known && !p->unseen && p->still_ns >= WAIT_STILL_NS;
	return m.state == ACTIVITY_STILL && m.since_ns >= WAIT_STILL_NS;
}

static const struct open_call *find_blocking_call(struct report *r, uint32_t rank)
{
	const struct open_call *in = r->stuck.blocked_in[rank], *started = r->stuck.blocked[rank];

	return in || !started || !is_rank_still(r, rank) ? in : started;
}

/* ---- construction ---- */

static void add_wait_edge(struct wait_graph *g, uint32_t *mark, uint32_t at, uint32_t to)
{
	g->looks++;
	if (mark[to] == at + 1 || to == at)
		return;
	mark[to] = at + 1;
	TOOL_GROW(g->to, g->nto, g->cap);
	g->to[g->nto++] = to;
}

int index_of_peer(const struct report *r, const struct call *c)
{
	const struct comm_info *k = comms_find(&r->g.comms, c->comm);
	int rank = -1;

	if (c->peer == NO_NUMBER || c->peer < 0)
		return -1;
	if (k && k->ranks && *k->ranks)
		rank = comm_get_member(k, c->peer);
	else if (c->size == (int64_t)r->g.folders.n)
		rank = (int)c->peer;
	return rank < 0 ? -1 : gather_index(&r->g, rank);
}

static void add_call_edges(const struct report *r, struct wait_graph *g, uint32_t *mark,
	uint32_t rank, const struct open_call *c)
{
	const struct messages *m = &r->g.diagnose.messages;
	struct call half;
	int at;

	if (c->call.bits & CALL_P2P) {
		const struct call *w = find_receive_half(m, &c->call, &half) ? &half : &c->call;
		int peer = index_of_peer(r, w);

		/* If the other side has begun as well, the library has to complete the message. */
		if (peer >= 0 &&
			(w->comm_seq == NO_NUMBER || w->tag == NO_NUMBER || is_message_alone(m, w)))
			add_wait_edge(g, mark, rank, (uint32_t)peer);
		return;
	}
	at = stuck_group_of(&r->stuck, c);
	if (at >= 0 && r->stuck.stuck[at].joined)
		add_wait_edge(g, mark, rank, g->nrank + (uint32_t)at);
}

/*
 * Adds edges for the open calls of a rank. A thread in a Wait waits for operations that its rank
 * has started. *open: the next open call, by rank.
 */
static void add_rank_edges(
	const struct report *r, struct wait_graph *g, uint32_t *mark, uint32_t rank, unsigned *open)
{
	const struct opens *o = &r->g.opens;
	const struct open_call *in = g->blocking[rank];

	for (; *open < o->n && o->call[*open].call.rank <= rank; ++*open) {
		const struct open_call *c = &o->call[*open];

		g->looks++;
		if (c->call.rank == rank && in && in->waiting && c->call.bits & CALL_ASYNC &&
			!c->ended_ok)
			add_call_edges(r, g, mark, rank, c);
	}
	/* A probe waits for its message as a receive does. */
	if (in && (!in->waiting || in->call.comm))
		add_call_edges(r, g, mark, rank, in);
}

/* Adds edges to the missing ranks of each collective, which the groups of the report contain. */
static void add_missing_edges(
	const struct report *r, struct wait_graph *g, uint32_t *mark, unsigned group)
{
	const struct stuck *s = &r->stuck.stuck[group];

	for (unsigned i = 0; i < s->nabsent; i++) {
		const struct absent *a = &s->absent[i];

		if (a->why != ABSENT_NEVER && a->why != ABSENT_OTHER && a->why != ABSENT_ENDED)
			continue;
		for (unsigned k = 0; k < a->n; k++) {
			int at = gather_index(&r->g, a->rank[k]);

			if (at >= 0)
				add_wait_edge(g, mark, g->nrank + group, (uint32_t)at);
		}
	}
}

static void turn_edges_round(struct wait_graph *g)
{
	uint32_t *next = tool_alloc((g->n + 1) * sizeof(*next));

	g->back_first = tool_alloc((g->n + 1) * sizeof(*g->back_first));
	g->from = tool_alloc((g->nto + 1) * sizeof(*g->from));
	for (unsigned k = 0; k < g->nto; k++)
		g->back_first[g->to[k] + 1]++;
	for (uint32_t i = 0; i < g->n; i++)
		next[i] = g->back_first[i + 1] += g->back_first[i];
	for (uint32_t i = g->n; i-- > 0;)
		for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
			g->from[--next[g->to[k]]] = i;
	g->looks += 2 * (uint64_t)g->nto;
	free(next);
}

/* Returns NULL if no rank is blocked. */
static struct wait_graph *get_wait_graph(struct report *r)
{
	struct wait_graph *g = r->waits;
	uint32_t *mark;
	unsigned open = 0;

	if (g || !r->stuck.blocked_in || !r->g.folders.n)
		return g;
	g = r->waits = tool_alloc(sizeof(*g));
	g->nrank = r->g.folders.n;
	g->n = g->nrank + r->stuck.n;
	g->first = tool_alloc((g->n + 1) * sizeof(*g->first));
	g->blocking = tool_alloc(g->nrank * sizeof(*g->blocking));
	for (uint32_t i = 0; i < g->nrank; i++)
		g->blocking[i] = find_blocking_call(r, i);
	mark = tool_alloc(g->n * sizeof(*mark));
	for (uint32_t i = 0; i < g->n; i++) {
		g->first[i] = g->nto;
		if (i < g->nrank)
			add_rank_edges(r, g, mark, i, &open);
		else if (r->stuck.stuck[i - g->nrank].joined)
			add_missing_edges(r, g, mark, i - g->nrank);
	}
	g->first[g->n] = g->nto;
	free(mark);
	turn_edges_round(g);
	return g;
}

void free_wait_graph(struct wait_graph *g)
{
	if (!g)
		return;
	free(g->first);
	free(g->to);
	free(g->back_first);
	free(g->from);
	free(g->blocking);
	free(g);
}

const struct open_call *get_blocking_call(struct report *r, uint32_t rank)
{
	const struct wait_graph *g = get_wait_graph(r);

	return g ? g->blocking[rank] : NULL;
}

uint64_t count_wait_looks(struct report *r, uint64_t *edges)
{
	const struct wait_graph *g = get_wait_graph(r);

	*edges = g ? (uint64_t)g->nto + g->n : 0;
	return g ? g->looks : 0;
}

static bool has_edges(const struct wait_graph *g, uint32_t i)
{
	return g->first[i + 1] > g->first[i];
}

/* ---- circles ---- */

/* The remaining part of the graph: nodes on circles, and between circles. */
struct wait_rest {
	bool *gone;
	uint32_t *in, *out; /* number of remaining edges */
	uint32_t *stack;
	unsigned nstack;
};

static void remove_place(struct wait_rest *w, uint32_t i)
{
	if (w->gone[i])
		return;
	w->gone[i] = true;
	w->stack[w->nstack++] = i;
}

/* Removes nodes without predecessors or successors, which cannot be on a circle. */
static void trim_rest(struct wait_graph *g, struct wait_rest *w)
{
	while (w->nstack) {
		uint32_t i = w->stack[--w->nstack];

		for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++, g->looks++)
			if (--w->in[g->to[k]] == 0)
				remove_place(w, g->to[k]);
		for (uint32_t k = g->back_first[i]; k < g->back_first[i + 1]; k++, g->looks++)
			if (--w->out[g->from[k]] == 0)
				remove_place(w, g->from[k]);
	}
}

static void begin_rest(struct wait_graph *g, struct wait_rest *w)
{
	w->gone = tool_alloc(g->n * sizeof(*w->gone));
	w->in = tool_alloc(g->n * sizeof(*w->in));
	w->out = tool_alloc(g->n * sizeof(*w->out));
	w->stack = tool_alloc(g->n * sizeof(*w->stack));
	w->nstack = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		w->in[i] = g->back_first[i + 1] - g->back_first[i];
		w->out[i] = g->first[i + 1] - g->first[i];
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (!w->in[i] || !w->out[i])
			remove_place(w, i);
	trim_rest(g, w);
}

static void end_rest(struct wait_rest *w)
{
	free(w->gone);
	free(w->in);
	free(w->out);
	free(w->stack);
}

static void write_waiting(struct waiting_ranks *out, uint32_t rank)
{
	if (out->n < WAITS_NAMED)
		out->rank[out->n] = rank;
	out->n++;
}

/*
 * Follows before[] backwards from `last` to `from`. Stores the ranks on the path, first those next
 * to `from`.
 */
static void write_way(const struct wait_graph *g, const uint32_t *before, uint32_t from,
	uint32_t last, struct waiting_ranks *out)
{
	uint32_t way[WAITS_NAMED];
	unsigned length = 0;

	for (uint32_t k = last; k != from; k = before[k])
		if (k < g->nrank)
			way[length++ % WAITS_NAMED] = k;
	*out = (struct waiting_ranks){0};
	write_waiting(out, from);
	for (unsigned k = length, left = WAITS_NAMED; k-- > 0 && left > 0; left--)
		write_waiting(out, way[k % WAITS_NAMED]);
	out->n = length + 1;
}

/*
 * Breadth-first search from one rank. The arrays before[], depth[] (number of ranks on the path, 0:
 * not visited) and queue[] are reused for each search.
 */
struct wait_search {
	uint32_t *before, *depth, *queue;
	unsigned head, tail;
};

static void start_search(const struct wait_graph *g, struct wait_search *s)
{
	s->before = tool_alloc(g->n * sizeof(*s->before));
	s->depth = tool_alloc(g->n * sizeof(*s->depth));
	s->queue = tool_alloc(g->n * sizeof(*s->queue));
}

static void end_search(struct wait_search *s)
{
	free(s->before);
	free(s->depth);
	free(s->queue);
}

/*
 * Queues the successors of `at`. An operation is not a step of its own: its missing ranks are
 * queued at once. Returns true if `from` is reached again; *last has an edge to it.
 */
static bool search_on(struct wait_graph *g, const struct wait_rest *w, struct wait_search *s,
	uint32_t at, uint32_t from, uint32_t *last)
{
	for (uint32_t k = g->first[at]; k < g->first[at + 1]; k++) {
		uint32_t to = g->to[k];

		g->looks++;
		if (to == from) {
			*last = at;
			return true;
		}
		if (w->gone[to] || s->depth[to])
			continue;
		s->before[to] = at;
		s->queue[s->tail++] = to;
		if (to < g->nrank) {
			s->depth[to] = s->depth[at] + 1;
			continue;
		}
		s->depth[to] = s->depth[at];
		if (search_on(g, w, s, to, from, last))
			return true;
	}
	return false;
}

/*
 * Finds the smallest circle through `from`. Returns false if it does not have fewer than `most`
 * ranks.
 */
static bool find_way_back(struct wait_graph *g, const struct wait_rest *w, struct wait_search *s,
	uint32_t from, uint32_t most, struct waiting_ranks *out)
{
	bool found = false;
	uint32_t last = from;

	s->head = s->tail = 0;
	s->queue[s->tail++] = from;
	s->depth[from] = 1;
	while (s->head < s->tail && !found) {
		uint32_t at = s->queue[s->head++];

		if (at < g->nrank && s->depth[at] < most)
			found = search_on(g, w, s, at, from, &last);
	}
	if (found)
		write_way(g, s->before, from, last, out);
	while (s->tail)
		s->depth[s->queue[--s->tail]] = 0;
	return found;
}

/* Finds any circle: a walk that is long enough returns to a node where it was. */
static void walk_in_circle(struct wait_graph *g, const struct wait_rest *w, struct wait_search *s,
	uint32_t at, struct waiting_ranks *out)
{
	uint32_t from;

	while (!s->depth[at]) {
		uint32_t k = g->first[at];

		s->depth[at] = 1;
		while (w->gone[g->to[k]])
			k++;
		g->looks += k - g->first[at] + 1;
		s->before[g->to[k]] = at;
		at = g->to[k];
	}
	for (from = at; from >= g->nrank;)
		from = s->before[from];
	write_way(g, s->before, from, s->before[from], out);
}

bool find_wait_circle(struct report *r, struct waiting_ranks *out)
{
	struct wait_graph *g = get_wait_graph(r);
	struct waiting_ranks one;
	struct wait_search s;
	struct wait_rest w;
	uint64_t enough;

	*out = (struct waiting_ranks){0};
	if (!g)
		return false;
	begin_rest(g, &w);
	start_search(g, &s);
	enough = g->looks + LOOKS_PER_EDGE * ((uint64_t)g->nto + g->n);
	/*
	 * Uses the smallest circle: other operations for which its ranks wait are not part of it.
	 */
	for (uint32_t i = 0; i < g->nrank && out->n != 2; i++) {
		if (w.gone[i])
			continue;
		if (g->looks > enough) {
			if (!out->n)
				walk_in_circle(g, &w, &s, i, out);
			break;
		}
		if (find_way_back(g, &w, &s, i, out->n ? out->n : UINT32_MAX, &one))
			*out = one;
		/* No other smallest circle contains this rank. */
		remove_place(&w, i);
		trim_rest(g, &w);
	}
	end_search(&s);
	end_rest(&w);
	return out->n > 0;
}

/* ---- ranks outside of circles ---- */

/*
 * Returns, by node, whether a rank waits for it. *waiting: number of ranks that wait for something.
 */
static bool *list_awaited_places(struct wait_graph *g, unsigned *waiting)
{
	bool *awaited = tool_alloc(g->n * sizeof(*awaited));

	*waiting = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		bool waits = i < g->nrank ? has_edges(g, i) : awaited[i];
		unsigned n = 0;

		for (uint32_t k = g->first[i]; waits && k < g->first[i + 1]; k++, g->looks++) {
			awaited[g->to[k]] = true;
			n += g->to[k] < g->nrank || has_edges(g, g->to[k]);
		}
		*waiting += i < g->nrank && n > 0;
	}
	return awaited;
}

bool find_holding_ranks(struct report *r, struct waiting_ranks *out)
{
	struct wait_graph *g = get_wait_graph(r);
	unsigned waiting;
	bool *awaited;

	*out = (struct waiting_ranks){0};
	if (!g)
		return false;
	awaited = list_awaited_places(g, &waiting);
	for (uint32_t i = 0; i < g->nrank; i++)
		if (awaited[i] && !g->blocking[i] && !r->g.folders.dir[i].meta.thinned)
			write_waiting(out, i);
	free(awaited);
	return out->n && out->n <= waiting && out->n <= WAITS_NAMED;
}

/*
 * True if the rank may wait for any rank: in a wildcard receive, or in a call whose peer or members
 * are not known.
 */
static bool waits_for_unknown(const struct report *r, const struct wait_graph *g, uint32_t rank)
{
	const struct open_call *in = g->blocking[rank];

	if (!in)
		return false;
	if (in->waiting && !in->call.comm)
		return true;
	return in->call.bits & CALL_P2P ? index_of_peer(r, &in->call) < 0
					: !comms_find(&r->g.comms, in->call.comm);
}

static bool waits_for_known(const struct wait_graph *g, uint32_t rank)
{
	for (uint32_t k = g->first[rank]; k < g->first[rank + 1]; k++)
		if (g->to[k] < g->nrank || has_edges(g, g->to[k]))
			return true;
	return false;
}

bool *list_awaited_ranks(struct report *r)
{
	struct wait_graph *g = get_wait_graph(r);
	bool *awaited, known = true;
	unsigned waiting;

	if (!g)
		return NULL;
	awaited = list_awaited_places(g, &waiting);
	for (uint32_t i = 0; i < g->nrank && known; i++)
		known = waits_for_known(g, i) || !waits_for_unknown(r, g, i);
	if (known && waiting)
		return awaited;
	free(awaited);
	return NULL;
}
