/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the ranks that differ in one parameter of an operation on which the ranks do not agree
 * (explain.h).
 */
#include "tools/probe/rules/sequence/explain.h"

#include "base/hash.h"
#include "tools/probe/model/join/signature.h"
#include "tools/probe/rules/sequence/window.h"

/* If a rank receives another type than it sends, or another size, that is none of any other rank. */
static uint64_t compute_type_term(const struct call *c)
{
	struct part p = compute_part(c, false);

	return p.received_dtype && p.received_dtype != p.dtype ? hash_u64(p.dtype, p.received_dtype)
							       : p.dtype;
}

static uint64_t compute_part_term(const struct call *c)
{
	struct part p = compute_part(c, false);

	return !p.received || p.received == p.bytes ? p.bytes : hash_u64(p.bytes, p.received);
}

static uint64_t term_of(const struct call *c, enum meet_mismatch what)
{
	switch (what) {
	case MISMATCH_OP:
		return c->op;
	case MISMATCH_REDOP:
		return c->redop;
	case MISMATCH_ROOT:
		return (uint64_t)c->root;
	case MISMATCH_DTYPE:
		return compute_type_term(c);
	case MISMATCH_LAYOUT:
		return c->bits & CALL_PERMUTED;
	default:
		return compute_part_term(c);
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

/* Counts the ranks that have the same value at the same call site in the same step. */
static unsigned count_votes(const struct window *w, const struct entry *e, enum meet_mismatch what)
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

unsigned judge_terms(const struct window *w, uint64_t comm, int64_t seq, enum meet_mismatch what,
	uint32_t *rank, unsigned cap, struct call *is, struct call *others)
{
	const struct entry *e[WINDOW_RANKS_MAX], *right = NULL;
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
	/*
	 * Calls at a call site are distinguished by their number in the step. Calls that were not
	 * recorded change that number.
	 */
	if (best == second && w->g->thinned)
		return 0;
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
