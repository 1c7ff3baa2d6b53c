/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/excused.h"

#include <string.h>

#include "tools/lib/intern.h"
#include "tools/probe/model/messages.h"

/* a rank that made this many calls after a new one was not held up by it */
#define WENT_ON_MIN 3

bool is_receive(const struct call *c)
{
	return strcmp(intern_get_name(c->op), "recv") == 0;
}

static bool goes_to(const struct call *a, const struct call *b)
{
	return a->api == b->api && a->comm == b->comm && a->tag == b->tag &&
	       a->peer == b->comm_rank && b->peer == a->comm_rank;
}

/*
 * Returns true if c belongs to an exchange that both ranks made with each other, with the same
 * number of messages each. Their partners change from time to time. A rank that sends to a wrong
 * rank by mistake would hardly find that very rank waiting for it.
 */
static bool was_exchanged(const struct window *w, const struct call *c)
{
	if (!(c->bits & CALL_P2P) || c->bits & (CALL_OPEN | CALL_ERROR) || c->peer == NO_NUMBER ||
		c->source != c->peer)
		return false;
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = w->rank[j].n; i-- > 0;) {
			const struct call *o = &w->rank[j].e[i].call;

			if (goes_to(c, o) && o->comm_seq == c->comm_seq)
				return !(o->bits & (CALL_OPEN | CALL_ERROR)) &&
				       o->source == o->peer;
		}
	return false;
}

static bool is_first_of_loop(const struct rank_window *r, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (r->e[k].loop == r->e[i].loop)
			return false;
	return true;
}

/*
 * Returns true if all ranks of the communicator made the operation at this call site: a call that
 * comes every few steps is new the first time. If rounds are the steps, some ranks may count it to
 * another round.
 */
static bool was_made_by_all(const struct window *w, const struct rank_window *me, unsigned at)
{
	const struct entry *e = &me->e[at];
	const struct mismatch *u = &w->g->mismatch;
	bool first = is_first_of_loop(me, at);
	int64_t n = 0;

	if (e->call.bits & (CALL_P2P | CALL_LOCAL) || e->call.comm_seq == NO_NUMBER ||
		e->call.size < 2)
		return false;
	/*
	 * After ranks disagree for the first time, calls with one number are no longer one
	 * operation.
	 */
	if (u->any && u->comm == e->call.comm && u->seq <= e->call.comm_seq)
		return false;
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = w->rank[j].n; i-- > 0;) {
			const struct entry *o = &w->rank[j].e[i];

			if (o->call.comm != e->call.comm || o->call.comm_seq != e->call.comm_seq ||
				o->call.bits & (CALL_P2P | CALL_LOCAL))
				continue;
			n += (o->place == e->place && o->call.step == e->call.step) ||
			     (first && o->loop == e->loop && is_first_of_loop(&w->rank[j], i));
			break;
		}
	return n == e->call.size;
}

/* Returns true if the call itself is the fault, so that no other rank takes part in it. */
static bool is_alone_in_it(
	const struct window *w, const struct rank_window *r, unsigned i, const struct verdict *v)
{
	const struct call *c = &r->e[i].call;
	bool message =
		v->kind == VERDICT_TERMS && (*v->what == 't' || *v->what == 'p'); /* tag, peer */

	if (v->kind != VERDICT_EXTRA)
		return !message || !was_exchanged(w, c);
	return !was_exchanged(w, c) && !was_made_by_all(w, r, i);
}

/*
 * Returns true if another rank, after this same place, made sometimes this call and sometimes the one that is usual
 * here: where ranks choose by their data what comes next, a choice that is new for one of them is no fault.
 */
static bool is_choice_of_others(
	const struct window *w, const struct rank_window *me, unsigned i, int k)
{
	uint64_t before = me->e[me->e[i].prev].place, due = me->e[me->e[k].next].place;

	if (me->e[i].place == due)
		return false;
	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];
		bool this_call = false, usual = false;

		for (unsigned n = 0; r != me && n < r->n && !(this_call && usual); n++) {
			if (r->e[n].prev < 0 || r->e[r->e[n].prev].place != before ||
				is_judged(w, r, n))
				continue;
			this_call |= r->e[n].place == me->e[i].place;
			usual |= r->e[n].place == due;
		}
		if (this_call && usual)
			return true;
	}
	return false;
}

static bool is_made_later(const struct rank_window *r, unsigned i, const struct call *receive)
{
	for (unsigned k = i + 1; k < r->n; k++) {
		const struct call *c = &r->e[k].call;

		if (c->bits & CALL_P2P && is_receive(c) && c->comm == receive->comm &&
			c->peer == receive->peer && c->tag == receive->tag)
			return true;
	}
	return false;
}

/*
 * Returns true if no message is left for the receive that seems to be missing at call i: its sender was late, or has sent all that
 * it had to send, and the rank has received from others. The sender is known if the receive is made later, or if it was told from
 * other calls of its line by it.
 */
static bool is_without_message(
	const struct window *w, const struct rank_window *r, unsigned i, const struct call *missing)
{
	return missing->bits & CALL_P2P && is_receive(missing) && missing->peer != NO_NUMBER &&
	       (r->e[i].unnumbered || is_made_later(r, i, missing)) &&
	       !is_any_unreceived(&w->g->diagnose.messages, missing);
}

static bool is_collective_of(const struct call *c, uint64_t comm)
{
	return c->comm == comm && c->comm_seq != NO_NUMBER && !(c->bits & (CALL_P2P | CALL_LOCAL));
}

/* Returns the number that the rank's next collective on the communicator has before its call i, or NO_NUMBER. */
static int64_t find_next_number(const struct rank_window *r, unsigned i, uint64_t comm)
{
	for (unsigned k = i; k-- > 0;)
		if (is_collective_of(&r->e[k].call, comm))
			return r->e[k].call.comm_seq + 1;
	return NO_NUMBER;
}

/*
 * Whether other ranks made the collective that the rank seems to have skipped before its call i. By none: their
 * calls with its number on the communicator are other functions', or they have not come to that number, so
 * that all wait for something else.
 */
enum missed { MISSED_UNKNOWN, MISSED_BY_NONE, MISSED_BY_SOME };

static enum missed find_missing_ranks(const struct window *w, const struct rank_window *me,
	unsigned i, const struct call *missing)
{
	int64_t number = find_next_number(me, i, missing->comm);
	unsigned others = 0;

	if (missing->bits & (CALL_P2P | CALL_LOCAL) || missing->size < 2 || number == NO_NUMBER)
		return MISSED_UNKNOWN;
	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned k = r->n; r != me && k-- > 0;) {
			const struct call *c = &r->e[k].call;

			if (!is_collective_of(c, missing->comm) || c->comm_seq > number)
				continue;
			if (c->comm_seq == number && c->api == missing->api)
				return MISSED_BY_SOME;
			others++;
			break;
		}
	}
	return others ? MISSED_BY_NONE : MISSED_UNKNOWN;
}

bool is_left_to_others(const struct window *w, const struct rank_window *r, unsigned i, int k)
{
	const struct call *usual = &r->e[r->e[k].next].call;
	unsigned after = 0;

	for (unsigned n = i; n < r->n; n++, after++)
		if (r->e[n].call.comm == usual->comm && !(r->e[n].call.bits & CALL_P2P))
			return false;
	return after >= WENT_ON_MIN && find_missing_ranks(w, r, i, usual) == MISSED_BY_SOME;
}

bool is_excused(const struct window *w, const struct rank_window *r, unsigned i, int k,
	const struct verdict *v)
{
	return !is_alone_in_it(w, r, i, v) ||
	       (v->kind == VERDICT_MISSING &&
		       find_missing_ranks(w, r, i, &v->call) == MISSED_BY_NONE) ||
	       (v->kind == VERDICT_MISSING && is_without_message(w, r, i, &v->call)) ||
	       ((v->kind == VERDICT_MISSING || v->kind == VERDICT_EXTRA) &&
		       is_choice_of_others(w, r, i, k));
}
