/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/mismatch_cause.h"

static bool is_on_mismatched_comm(const struct window *w, const struct call *c)
{
	return c->comm == w->g->mismatch.comm && !(c->bits & (CALL_P2P | CALL_LOCAL));
}

/* The rank's call with the number at which ranks disagree, and the one before it on that communicator. */
struct mismatched {
	const struct entry *call, *before; /* NULL: not in the window */
};

static struct mismatched find_mismatched_call(const struct window *w, uint32_t rank)
{
	struct mismatched found = {0};

	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; w->rank[j].rank == rank && i < w->rank[j].n && !found.call;
			i++) {
			const struct entry *e = &w->rank[j].e[i];

			if (!is_on_mismatched_comm(w, &e->call))
				continue;
			if (e->call.comm_seq == w->g->mismatch.seq)
				found.call = e;
			else
				found.before = e;
		}
	return found;
}

/*
 * True if both sides made the call at one call site in one step, or on a line that does not repeat it: neither
 * is a call ahead, and nothing was skipped or inserted.
 */
static bool is_mismatched_at_one_site(const struct window *w)
{
	struct mismatched a = find_mismatched_call(w, w->g->mismatch.a.rank),
			  b = find_mismatched_call(w, w->g->mismatch.b.rank);

	if (!a.call || !b.call)
		return false;
	if (a.call->place == b.call->place && a.call->call.step == b.call->call.step)
		return true;
	return a.call->line == b.call->line && a.before && b.before &&
	       a.before->line == b.before->line && a.before->line != a.call->line;
}

/*
 * True if a collective of the communicator comes at or after e[from], but before the call with this
 * token, which comes soon or never.
 */
static bool reaches_mismatched_comm(
	const struct window *w, const struct rank_window *r, int from, uint64_t until)
{
	bool any = false;

	for (unsigned n = 0; from >= 0 && r->e[from].token != until; n++, from = r->e[from].next) {
		if (n == SKIPPED_MAX)
			return false;
		any |= is_on_mismatched_comm(w, &r->e[from].call);
	}
	return any;
}

static bool can_cause_mismatch(const struct window *w, const struct rank_window *r, unsigned i,
	int k, const struct verdict *v)
{
	if (is_mismatched_at_one_site(w))
		return v->kind == VERDICT_TERMS && is_on_mismatched_comm(w, &v->call) &&
		       v->call.comm_seq == w->g->mismatch.seq;
	if (is_on_mismatched_comm(w, &v->call) ||
		(v->kind == VERDICT_ORDER && is_on_mismatched_comm(w, &v->usual)))
		return true;
	if (v->kind != VERDICT_MISSING && v->kind != VERDICT_EXTRA)
		return false;
	if (k < 0)
		return false;
	return v->kind == VERDICT_MISSING
		       ? reaches_mismatched_comm(w, r, r->e[k].next, r->e[i].token)
		       : reaches_mismatched_comm(w, r, (int)i, r->e[r->e[k].next].token);
}

bool is_on_route(const struct truncated *message, const struct call *c)
{
	const struct call *k = c->rank == message->send.rank ? &message->send : &message->recv;

	return c->bits & CALL_P2P && c->rank == k->rank && c->op == k->op && c->comm == k->comm &&
	       c->peer == k->peer && c->tag == k->tag;
}

void set_verdict_missing(struct verdict *v)
{
	v->kind = VERDICT_MISSING;
	v->call = v->usual;
	v->call.step = v->step;
	v->call.comm_seq = NO_NUMBER;
}

bool can_be_cause(const struct window *w, const struct rank_window *r, unsigned i, int k,
	bool of_mismatch, struct verdict *v)
{
	const struct call *side;

	if (!w->message)
		return !of_mismatch || can_cause_mismatch(w, r, i, k, v);
	side = r->rank == w->message->send.rank ? &w->message->send : &w->message->recv;
	if (v->kind == VERDICT_TERMS || r->e[i].call.seq > side->seq)
		return false;
	/* A call elsewhere cannot shift the messages. The call in whose place it came can. */
	if (!is_on_route(w->message, &v->call) && is_on_route(w->message, &v->usual))
		set_verdict_missing(v);
	return is_on_route(w->message, &v->call);
}
