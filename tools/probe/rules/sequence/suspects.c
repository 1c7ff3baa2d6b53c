/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/suspects.h"

#include "tools/probe/rules/end/hang.h"
#include "tools/probe/rules/waits.h"

static void suspect_rank(struct suspects *s, uint32_t rank)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->rank[i] == rank)
			return;
	if (s->n < SUSPECTS_MAX)
		s->rank[s->n++] = rank;
}

static void suspect_world_ranks(
	const struct report *r, struct suspects *s, const int *rank, unsigned n)
{
	for (unsigned i = 0; i < n && s->n < SUSPECTS_MAX; i++) {
		int at = gather_index(&r->g, rank[i]);

		if (at >= 0)
			suspect_rank(s, (uint32_t)at);
	}
}

/* Adds the peer of a suspect's message. */
static void suspect_peer(const struct report *r, struct suspects *s, const struct call *c)
{
	int peer = -1;

	for (unsigned k = 0; c->bits & CALL_P2P && peer < 0 && k < s->n; k++)
		peer = s->rank[k] == c->rank ? index_of_peer(r, c) : -1;
	if (peer >= 0)
		suspect_rank(s, (uint32_t)peer);
}

/* Adds the peers of messages that suspects wait for, or that were not received. */
static void suspect_peers(const struct report *r, struct suspects *s)
{
	for (unsigned i = 0; i < r->g.opens.n; i++)
		suspect_peer(r, s, &r->g.opens.call[i].call);
	for (const struct message *k = r->g.diagnose.messages.oldest; k; k = k->newer)
		suspect_peer(r, s, &k->call);
}

struct suspects list_suspects(
	const struct report *r, const struct stuck *stuck, const struct order_seen *order)
{
	const struct mismatch *u = &r->g.mismatch;
	const struct odd_meeting *o = &r->g.diagnose.results.places;
	const struct call *l = find_lagging(&r->g.diagnose.messages, are_all_finished(r));
	const struct truncated *x = &r->g.diagnose.messages.truncated;
	struct suspects s = {.n = 0};

	if (order)
		suspect_rank(&s, order->odd_first.rank);
	if (u->any) {
		suspect_rank(&s, u->a.rank);
		suspect_rank(&s, u->b.rank);
	}
	if (l)
		suspect_rank(&s, l->rank);
	if (x->any) {
		suspect_rank(&s, x->send.rank);
		suspect_rank(&s, x->recv.rank);
	}
	for (unsigned i = 0; o->any && i < o->nrank && i < NAMED_MAX; i++)
		suspect_rank(&s, o->rank[i]);
	if (!stuck) {
		suspect_peers(r, &s);
		return s;
	}
	/*
	 * Either few ranks are blocked in a call that no other rank makes, or few ranks are missing
	 * in a call in which all others are blocked.
	 */
	if (stuck->n <= SUSPECTS_MAX / 2)
		suspect_world_ranks(r, &s, stuck->rank, stuck->n);
	for (unsigned i = 0; i < stuck->nabsent; i++)
		suspect_world_ranks(r, &s, stuck->absent[i].rank, stuck->absent[i].n);
	suspect_peers(r, &s);
	return s;
}
