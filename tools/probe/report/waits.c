/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/waits.h"

#include <stdlib.h>

#include "tools/lib/tool.h"

#define RANKS_MOST 4096u /* of larger runs the groups of the report say enough */

/* What one rank waits for, by folder index. */
struct wait_edges {
	uint32_t *to;
	unsigned n, cap;
};

static void add_wait_edge(struct wait_edges *e, uint32_t to)
{
	for (unsigned i = 0; i < e->n; i++)
		if (e->to[i] == to)
			return;
	TOOL_GROW(e->to, e->n, e->cap);
	e->to[e->n++] = to;
}

/* The folder of a call's peer; -1: any, or not known. */
static int index_of_peer(const struct report *r, const struct call *c)
{
	const struct comm_info *k = comms_find(&r->g.comms, c->comm);
	int rank = -1;

	if (c->peer == NO_NUMBER || c->peer < 0)
		return -1;
	if (k && k->ranks)
		rank = comm_member_at(k, c->peer);
	else if (c->size == (int64_t)r->g.folders.n)
		rank = (int)c->peer;
	return rank < 0 ? -1 : gather_index(&r->g, rank);
}

/* Who has not come to a collective operation: the report's groups know. */
static void add_absent_edges(
	const struct report *r, const struct open_call *c, struct wait_edges *e)
{
	const struct stuck *s = NULL;

	for (unsigned i = 0; i < r->stuck.n && !s; i++)
		if (r->stuck.stuck[i].joined && stuck_alike(r->stuck.stuck[i].sample, c))
			s = &r->stuck.stuck[i];
	for (unsigned i = 0; s && i < s->nabsent; i++) {
		const struct absent *a = &s->absent[i];

		if (a->why != ABSENT_NEVER && a->why != ABSENT_OTHER && a->why != ABSENT_ENDED)
			continue;
		for (unsigned k = 0; k < a->n; k++) {
			int at = gather_index(&r->g, a->rank[k]);

			if (at >= 0)
				add_wait_edge(e, (uint32_t)at);
		}
	}
}

static void add_call_edges(const struct report *r, const struct open_call *c, struct wait_edges *e)
{
	if (c->call.bits & CALL_P2P) {
		int peer = index_of_peer(r, &c->call);

		/* Where the other side has begun as well it is the library that is to move. */
		if (peer >= 0 && peer != (int)c->call.rank &&
			(c->call.comm_seq == NO_NUMBER || c->call.tag == NO_NUMBER ||
				is_message_alone(&r->g.diagnose.messages, &c->call)))
			add_wait_edge(e, (uint32_t)peer);
		return;
	}
	add_absent_edges(r, c, e);
}

/* A thread in a Wait stands for what its rank has started. */
static void find_wait_edges(const struct report *r, uint32_t rank, struct wait_edges *e)
{
	const struct open_call *in = r->stuck.standing[rank];

	*e = (struct wait_edges){0};
	if (!in)
		return;
	if (!in->waiting) {
		add_call_edges(r, in, e);
		return;
	}
	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct open_call *c = &r->g.opens.call[i];

		if (c->call.rank == rank && c->call.bits & CALL_ASYNC && !c->ended_ok)
			add_call_edges(r, c, e);
	}
}

static struct wait_edges *make_wait_graph(const struct report *r)
{
	struct wait_edges *graph;

	if (!r->stuck.standing || !r->g.folders.n || r->g.folders.n > RANKS_MOST)
		return NULL;
	graph = tool_alloc(r->g.folders.n * sizeof(*graph));
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		find_wait_edges(r, i, &graph[i]);
	return graph;
}

static void free_wait_graph(const struct report *r, struct wait_edges *graph)
{
	for (unsigned i = 0; graph && i < r->g.folders.n; i++)
		free(graph[i].to);
	free(graph);
}

static void put_waiting(struct waiting_ranks *out, uint32_t rank)
{
	if (out->n < WAITS_NAMED)
		out->rank[out->n] = rank;
	out->n++;
}

/* The shortest way from `from` back to itself, breadth first; before[]: room. */
static bool find_way_back(const struct wait_edges *graph, unsigned n, uint32_t from,
	uint32_t *before, uint32_t *queue, struct waiting_ranks *out)
{
	unsigned head = 0, tail = 0;

	for (unsigned i = 0; i < n; i++)
		before[i] = UINT32_MAX;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t at = queue[head++];

		for (unsigned i = 0; i < graph[at].n; i++) {
			uint32_t to = graph[at].to[i];

			if (to == from) {
				uint32_t way[WAITS_NAMED];
				unsigned length = 0;

				/* Backwards; those that follow `from` are kept, the last ones of the way. */
				for (uint32_t k = at; k != from; k = before[k])
					way[length++ % WAITS_NAMED] = k;
				out->n = 0;
				put_waiting(out, from);
				for (unsigned k = length, left = WAITS_NAMED; k-- > 0 && left > 0;
					left--)
					put_waiting(out, way[k % WAITS_NAMED]);
				out->n = length + 1;
				return true;
			}
			if (before[to] != UINT32_MAX)
				continue;
			before[to] = at;
			queue[tail++] = to;
		}
	}
	return false;
}

bool find_wait_circle(const struct report *r, struct waiting_ranks *out)
{
	struct wait_edges *graph = make_wait_graph(r);
	struct waiting_ranks one;
	uint32_t *room;

	*out = (struct waiting_ranks){0};
	if (!graph)
		return false;
	room = tool_alloc(2 * r->g.folders.n * sizeof(*room));
	/* The smallest one: what others wait for besides is no part of it. */
	for (uint32_t i = 0; i < r->g.folders.n && out->n != 2; i++)
		if (graph[i].n &&
			find_way_back(
				graph, r->g.folders.n, i, room, room + r->g.folders.n, &one) &&
			(!out->n || one.n < out->n))
			*out = one;
	free(room);
	free_wait_graph(r, graph);
	return out->n > 0;
}

bool find_holding_ranks(const struct report *r, struct waiting_ranks *out)
{
	struct wait_edges *graph = make_wait_graph(r);
	bool *named;
	unsigned waiting = 0;

	*out = (struct waiting_ranks){0};
	if (!graph)
		return false;
	named = tool_alloc(r->g.folders.n * sizeof(*named));
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		waiting += graph[i].n > 0;
		for (unsigned k = 0; k < graph[i].n; k++) {
			uint32_t to = graph[i].to[k];

			if (named[to] || r->stuck.standing[to])
				continue;
			named[to] = true;
			put_waiting(out, to);
		}
	}
	free(named);
	free_wait_graph(r, graph);
	return out->n && out->n <= waiting && out->n <= WAITS_NAMED;
}

/* Stands in a receive from any rank, or in a call whose peer or members are not known: it may wait for anybody. */
static bool waits_for_unknown(const struct report *r, uint32_t rank)
{
	const struct open_call *in = r->stuck.standing[rank];

	if (!in)
		return false;
	if (in->waiting)
		return true;
	return in->call.bits & CALL_P2P ? index_of_peer(r, &in->call) < 0
					: !comms_find(&r->g.comms, in->call.comm);
}

bool *list_awaited_ranks(const struct report *r)
{
	struct wait_edges *graph = make_wait_graph(r);
	bool *awaited;

	unsigned edges = 0;
	bool known = true;

	if (!graph)
		return NULL;
	awaited = tool_alloc(r->g.folders.n * sizeof(*awaited));
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		edges += graph[i].n;
		known &= graph[i].n || !waits_for_unknown(r, i);
		for (unsigned k = 0; k < graph[i].n; k++)
			awaited[graph[i].to[k]] = true;
	}
	free_wait_graph(r, graph);
	if (known && edges)
		return awaited;
	free(awaited);
	return NULL;
}
