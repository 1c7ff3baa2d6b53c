/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/turns.h"

#include "base/hash.h"

bool fits_turn(const struct window *w, const struct entry *e, int turns)
{
	const struct call *c = &e->call;
	const struct usual_terms *t;
	uint64_t place;

	if (turns < 0 && !c->nth)
		return false;
	place = hash_u64(e->loop, c->nth + (uint64_t)(int64_t)turns);
	t = table_find(&w->terms, place, 0);
	/* If counts vary from step to step, tag or peer must distinguish the iterations. */
	return t && t->any && (t->counts ? !t->tags || !t->peers : t->count == c->count) &&
	       t->dtype == c->dtype && (t->tags || t->tag == c->tag) &&
	       (t->peers || t->peer == relative_peer(c)) && (t->roots || t->root == c->root) &&
	       (t->redops || t->redop == c->redop);
}

const struct entry *find_next_turn(const struct rank_window *r, unsigned i)
{
	const struct entry *e = &r->e[i];

	for (int at = e->next; at >= 0 && r->e[at].call.step == e->call.step; at = r->e[at].next)
		if (r->e[at].loop == e->loop)
			return &r->e[at];
	return NULL;
}

bool is_turn_skipped(const struct rank_window *r, unsigned i, uint64_t usual)
{
	const struct entry *e = &r->e[i], *next = e->next >= 0 ? &r->e[e->next] : NULL;

	return next && e->token == r->e[e->prev].token && next->token == usual &&
	       (next->next < 0 || r->e[next->next].token == e->token);
}
