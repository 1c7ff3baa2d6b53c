/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/explain.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/sequence/excused.h"
#include "tools/probe/rules/sequence/mismatch_cause.h"
#include "tools/probe/rules/sequence/turns.h"
#include "tools/probe/rules/sequence/window.h"

/* a call must have been made this often before its successor is taken as usual */
#define SEEN_MIN 2
/* at most this many calls before the same call again; more would be a whole loop iteration, so that the call is one too many */
#define SKIPPED_AGAIN_MAX 4

/* ---- terms ---- */

/* True for a receive from any rank. After its completion it has the tag and peer of the message that arrived. */
static bool is_wildcard_receive(const struct call *c)
{
	return is_receive(c) &&
	       (!(c->bits & CALL_OPEN) || c->peer == NO_NUMBER || c->tag == NO_NUMBER);
}

/* Returns the parameter that differs from what it always was at this call site, or NULL. */
static const char *odd_term(const struct window *w, const struct entry *e)
{
	const struct usual_terms *t = table_find(&w->terms, e->place, 0);
	const struct call *c = &e->call;
	bool open = c->bits & (CALL_OPEN | CALL_ERROR);

	if (!t || !t->any)
		return NULL;
	if (!t->tags && t->tag != c->tag && !(open && c->tag == NO_NUMBER))
		return "tag";
	if (!t->peers && t->peer != relative_peer(c) && !(open && c->peer == NO_NUMBER))
		return "peer";
	if (!t->dtypes && t->dtype != c->dtype && !(open && !c->dtype))
		return "dtype";
	if (!t->redops && t->redop != c->redop && !(open && !c->redop))
		return "redop";
	if (!t->roots && t->root != c->root && !(open && c->root == NO_NUMBER))
		return "root";
	return !t->counts && t->count != c->count && !(open && !c->count) ? "count" : NULL;
}

/* ---- what never followed ---- */

/*
 * Counts the calls from the successor of e[k] up to an earlier call like e[i]: they were skipped. 0: e[i] never followed so
 * soon.
 */
static unsigned count_skipped(const struct rank_window *r, unsigned i, int k)
{
	const struct entry *e = &r->e[i];
	/* In another step it is the first call of that step, and the whole rest of the previous step was skipped. */
	bool again = e->prev >= 0 && r->e[e->prev].token == e->token &&
		     (e->call.bits & CALL_P2P || r->e[e->prev].call.step == e->call.step);
	unsigned most = again ? SKIPPED_AGAIN_MAX : SKIPPED_MAX;
	int at = r->e[k].next;

	for (unsigned n = 1; n <= most && at >= 0; n++) {
		at = r->e[at].next;
		if (at >= 0 && at < (int)i &&
			(r->e[at].token == r->e[i].token ||
				(!r->e[i].known && r->e[at].kin == r->e[i].kin)))
			return n;
	}
	return 0;
}

/*
 * True if e[i] follows its predecessor in the same way among later calls that are not judged: the program does so from here on.
 */
static bool follows_later(const struct window *w, const struct rank_window *r, unsigned i)
{
	uint64_t before = r->e[r->e[i].prev].token;

	for (unsigned k = i + 1; !w->steps && k < r->n; k++)
		if (!is_judged(w, r, k) && r->e[k].token == r->e[i].token && r->e[k].prev >= 0 &&
			r->e[r->e[k].prev].token == before)
			return true;
	return false;
}

/*
 * Counts how often the predecessor of e[i] was made earlier, and how often e[i]'s call followed it. *usual: the earlier
 * predecessor that fits best: with the fewest calls in between, and after a message like the one before.
 */
static unsigned count_followed(
	const struct window *w, const struct rank_window *r, unsigned i, unsigned *same, int *usual)
{
	uint64_t before = r->e[r->e[i].prev].token;
	unsigned n = 0, best = UINT_MAX;
	bool alike = false;

	*same = follows_later(w, r, i);
	*usual = -1;
	for (int k = r->e[i].prev - 1; k >= 0; k--) {
		int next = r->e[k].next;
		bool nearest;
		unsigned left;

		if (r->e[k].token != before || next < 0 || next >= (int)i)
			continue;
		n++;
		if (r->e[next].token == r->e[i].token) {
			++*same;
			continue;
		}
		/*
		 * The best fit is the same call from another line with another parameter; then comes a call that follows
		 * occasionally.
		 */
		nearest = !r->e[i].known && r->e[next].kin == r->e[i].kin &&
			  differing_term(&r->e[next].call, &r->e[i].call);
		left = nearest ? 0 : count_skipped(r, i, k);
		if (*usual < 0 || (left && left < best) || (nearest && best) ||
			(left == best && !alike &&
				is_alike(&r->e[k].call, &r->e[r->e[i].prev].call))) {
			best = left || nearest ? left : best;
			*usual = k;
			alike = is_alike(&r->e[k].call, &r->e[r->e[i].prev].call);
		}
	}
	return n;
}

/* Returns the index of the latest entry before i with this token, or -1. */
static int find_token(const struct rank_window *r, unsigned i, uint64_t token)
{
	for (int k = (int)i - 1; k >= 0; k--)
		if (r->e[k].token == token)
			return k;
	return -1;
}

/* Returns the call of e with the parameters that its call site has had. */
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

/*
 * Returns the verdict that the call after e[k] was skipped, with that call's parameters. If it answers a message of another
 * rank, its peer is the rank that sent the previous message.
 */
static struct verdict make_missing(const struct window *w, const struct rank_window *r, unsigned at,
	int k, unsigned times, uint64_t step)
{
	const struct call *asked = &r->e[k].call, *usual = &r->e[r->e[k].next].call,
			  *before = &r->e[r->e[at].prev].call;
	struct verdict v = make_verdict(w, r, VERDICT_MISSING, at, usual, times);

	v.step = step;
	v.call = *usual;
	if (asked->bits & usual->bits & before->bits & CALL_P2P && asked->comm == usual->comm &&
		asked->comm == before->comm && asked->peer == usual->peer)
		v.call.peer = before->peer;
	v.call.step = step;
	v.call.comm_seq = NO_NUMBER;
	return v;
}

/*
 * Judges a call of a loop whose parameters are not those of this iteration: an iteration was skipped or made twice, or two were
 * swapped.
 */
static bool judge_turn(const struct window *w, const struct rank_window *r, unsigned i,
	const struct entry *due, unsigned times, struct verdict *v)
{
	const struct entry *e = &r->e[i];
	const struct entry *next = find_next_turn(r, i);
	const struct call *usual = &due->call;
	bool goes_on = next;
	/* Nothing else is called in a turn, so that one call is the whole turn. */
	bool alone = due->next >= 0 && r->e[due->next].loop == e->loop;

	if (fits_turn(w, e, 1) && goes_on && fits_turn(w, next, -1)) {
		*v = make_verdict(w, r, VERDICT_ORDER, i, usual, times);
		return true;
	}
	/* The later iterations are one ahead as well. Otherwise only the parameter of this call is wrong. */
	if (fits_turn(w, e, 1) && (goes_on ? fits_turn(w, next, 1) : alone)) {
		struct call skipped = usual_call(w, e);

		*v = make_verdict(w, r, VERDICT_MISSING, i, usual, times);
		v->call = skipped;
		return true;
	}
	if (fits_turn(w, e, -1) && r->e[e->prev].loop == e->loop) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, usual, times);
		return true;
	}
	return false;
}

/* Returns the index at which the call is made a little later, or -1. */
static int find_later(const struct rank_window *r, unsigned i, uint64_t token)
{
	int at = r->e[i].next;

	for (unsigned n = 0; n < 3 && at >= 0; n++, at = r->e[at].next)
		if (r->e[at].token == token)
			return at;
	return -1;
}

static bool comes_later(const struct rank_window *r, unsigned i, uint64_t token)
{
	return find_later(r, i, token) >= 0;
}

/* True if the later call also follows its usual predecessor: it then belongs to the next iteration, and this one lacks it. */
static bool is_later_in_turn(const struct rank_window *r, unsigned i, uint64_t token)
{
	int at = find_later(r, i, token);

	return at >= 0 && r->e[at].prev != (int)i &&
	       r->e[r->e[at].prev].token == r->e[r->e[i].prev].token;
}

static bool goes_the_same_way(const struct call *a, const struct call *b)
{
	return a->tag == b->tag && relative_peer(a) == relative_peer(b);
}

/*
 * e[due] of an earlier step is the call that was expected. True if a message with its token is made a little later with the tag
 * or peer of the next loop iteration, so that the expected one was skipped.
 */
static bool is_next_turn_later(const struct rank_window *r, unsigned i, int due)
{
	const struct call *usual = &r->e[due].call, *later;
	int at = find_later(r, i, r->e[due].token);
	const struct entry *next = find_next_turn(r, (unsigned)due);

	if (at < 0 || !next || !(usual->bits & CALL_P2P))
		return false;
	later = &r->e[at].call;
	return !goes_the_same_way(later, usual) && goes_the_same_way(later, &next->call);
}

/* Counts the other ranks that made the usual call in this step. */
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

/* Returns the parameter in which e differs from the call that it replaces (of a message: the tag), or NULL. */
static const char *other_term_there(const struct entry *e, const struct entry *usual)
{
	bool message = e->call.bits & usual->call.bits & CALL_P2P;

	return message && e->call.tag != usual->call.tag && !is_wildcard_receive(&e->call)
		       ? "tag"
		       : differing_term(&e->call, &usual->call);
}

/* True if e is the usual operation made from another line: the next call is the one that follows the usual one. */
static bool takes_place_of(const struct rank_window *r, unsigned i, int k)
{
	const struct entry *e = &r->e[i], *usual = &r->e[r->e[k].next];
	bool message = e->call.bits & usual->call.bits & CALL_P2P;
	const char *term;

	/* A message may be sent by another function than the messages of a loop (a persistent one). */
	if ((message ? e->call.op != usual->call.op : e->call.api != usual->call.api) ||
		e->call.comm != usual->call.comm)
		return false;
	/* A message must be equal except for type, size or tag; messages have no root. */
	if ((e->call.bits | usual->call.bits) & CALL_P2P &&
		(e->call.peer != usual->call.peer || !other_term_there(e, usual)))
		return false;
	if (e->next < 0)
		return true;
	if (usual->next < 0)
		return false;
	if (r->e[e->next].token == r->e[usual->next].token)
		return true;
	/* Calls of a loop are compared by kind, because each has the number that the previous one had. */
	term = other_term_there(e, usual);
	return term && strcmp(term, "count") != 0 &&
	       is_alike(&r->e[e->next].call, &r->e[usual->next].call);
}

/* True if the new line made the call that comes after the usual one, with all its parameters: that call was made first. */
static bool is_next_made_first(const struct rank_window *r, unsigned i, int k)
{
	const struct entry *e = &r->e[i], *usual = &r->e[r->e[k].next], *after;

	if (usual->next < 0 || usual->next >= (int)i)
		return false;
	after = &r->e[usual->next];
	return after->kin == e->kin && differing_term(&e->call, &usual->call) &&
	       !differing_term(&e->call, &after->call);
}

/* True if a call with this token ever came directly after the predecessor of e[i]. */
static bool has_followed(const struct rank_window *r, unsigned i, uint64_t token)
{
	uint64_t before = r->e[r->e[i].prev].token;

	for (int k = r->e[i].prev - 1; k >= 0; k--)
		if (r->e[k].token == before && r->e[k].next >= 0 && r->e[k].next < (int)i &&
			r->e[r->e[k].next].token == token)
			return true;
	return false;
}

/* True if the step has more calls of this kind, up to e[i], than any earlier step. */
static bool is_one_more(const struct window *w, const struct rank_window *r, unsigned i)
{
	unsigned now = 0, most = 0, n = 0;
	uint64_t step = r->e[i].call.step, at = UINT64_MAX;

	if (!w->steps)
		return false;
	for (unsigned k = 0; k <= i; k++) {
		const struct call *c = &r->e[k].call;

		if (c->step > step || !is_alike(c, &r->e[i].call))
			continue;
		if (c->step == step) {
			now++;
			continue;
		}
		n = c->step == at ? n + 1 : 1;
		at = c->step;
		most = n > most ? n : most;
	}
	return most && now > most;
}

/* True if the next call has followed this one before. */
static bool goes_on_as_ever(const struct rank_window *r, unsigned i)
{
	const struct entry *e = &r->e[i];

	for (unsigned k = 0; e->next >= 0 && k < i; k++)
		if (r->e[k].token == e->token && r->e[k].next >= 0 && r->e[k].next < (int)i &&
			r->e[r->e[k].next].token == r->e[e->next].token)
			return true;
	return false;
}

/*
 * True if other ranks are in a different operation with the same number on the communicator, and one of them went on after the
 * predecessor as this rank did in earlier steps: this rank's call is then the odd one.
 */
static bool meets_others_astray(const struct window *w, const struct rank_window *me, unsigned i)
{
	const struct entry *e = &me->e[i], *before = &me->e[e->prev];
	bool mismatch = false, usual = false;

	if (e->call.bits & (CALL_P2P | CALL_LOCAL) || e->call.comm_seq == NO_NUMBER)
		return false;
	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned k = 0; r != me && k < r->n; k++) {
			const struct entry *o = &r->e[k];

			if (o->call.comm == e->call.comm && o->call.comm_seq == e->call.comm_seq &&
				!(o->call.bits & (CALL_P2P | CALL_LOCAL))) {
				if (o->call.api == e->call.api)
					return false;
				mismatch = true;
			}
			usual |= o->token == before->token && o->call.step == before->call.step &&
				 o->next >= 0 && has_followed(me, i, r->e[o->next].token);
		}
	}
	return mismatch && usual;
}

static unsigned count_in_step(const struct rank_window *r, uint64_t loop, uint64_t step)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++)
		n += r->e[i].loop == loop && r->e[i].call.step == step;
	return n;
}

/*
 * True if the step of e[i] is over, and the loop of the expected call made fewer calls in it than in the step of e[k]: one is
 * missing.
 */
static bool is_one_fewer(const struct window *w, const struct rank_window *r, unsigned i, int k)
{
	const struct entry *due = &r->e[r->e[k].next];
	uint64_t step = r->e[i].call.step;
	bool over = false;

	for (unsigned n = i; w->steps && n < r->n && !over; n++)
		over = r->e[n].call.step > step;
	return over && due->call.step < step &&
	       count_in_step(r, due->loop, step) < count_in_step(r, due->loop, due->call.step);
}

/*
 * True if the rank never made a call at this call site. If rounds count as steps, the number in a round has no meaning: the
 * skipped call may have been the last one of a round, which then continues.
 */
static bool is_from_new_place(const struct window *w, const struct rank_window *r, unsigned i)
{
	if (!w->g->by_rounds)
		return !r->e[i].known;
	for (unsigned k = 0; k < i; k++)
		if (r->e[k].loop == r->e[i].loop)
			return false;
	return true;
}

/*
 * True if the expected call comes next and this one used to follow it directly: the two were swapped, and no round lacks a
 * call.
 */
static bool is_swapped_in_rounds(
	const struct window *w, const struct rank_window *r, unsigned i, int k, uint64_t due)
{
	const struct entry *e = &r->e[i], *next = e->next >= 0 ? &r->e[e->next] : NULL;

	return w->g->by_rounds && next && next->token == due && e->token != r->e[e->prev].token &&
	       count_skipped(r, i, k) == 1 &&
	       (next->next < 0 || r->e[next->next].token != e->token);
}

/*
 * Two calls alternate, A B A B, and the first came twice, which it never did. If its inputs differ from turn to turn, they show
 * whether the second A is a repetition, or that of the next turn, so that a B was skipped: A A B A. VERDICT_NONE: not known, or
 * the two were swapped. k: the earlier A.
 */
static enum verdict_kind judge_double_turn(const struct rank_window *r, unsigned i, int k)
{
	const struct entry *e = &r->e[i], *before = &r->e[e->prev], *usual = &r->e[r->e[k].next],
			   *next = e->next >= 0 ? &r->e[e->next] : NULL;

	if (e->loop != before->loop || !e->call.in.digest || !before->call.in.digest ||
		!e->call.in.telling)
		return VERDICT_NONE;
	if (e->call.in.digest == before->call.in.digest)
		return r->e[k].call.in.digest != e->call.in.digest ? VERDICT_EXTRA : VERDICT_NONE;
	return next && next->loop == usual->loop &&
			       (next->next < 0 || r->e[next->next].loop == e->loop)
		       ? VERDICT_MISSING
		       : VERDICT_NONE;
}

/* True if the rank is blocked in the call. An asynchronous call that other calls followed does not block it. */
static bool is_blocked_in(const struct entry *e)
{
	return e->call.bits & CALL_OPEN && !(e->call.bits & CALL_ASYNC && e->next >= 0);
}

static bool judge_call(
	const struct window *w, const struct rank_window *r, unsigned i, struct verdict *v)
{
	const struct entry *e = &r->e[i];
	const struct entry *usual;
	unsigned same, left, times;
	enum verdict_kind kind;
	const char *term;
	uint64_t due;
	int k;

	if (e->prev < 0)
		return false;
	times = count_followed(w, r, i, &same, &k);
	if (same || k < 0)
		return false;
	usual = &r->e[r->e[k].next];
	if (times < SEEN_MIN && count_others(w, r, i, usual->token) < 1)
		return false;
	term = odd_term(w, e);
	if (term && judge_turn(w, r, i, usual, times, v))
		return true;
	if (term && (*term == 't' || *term == 'p') && is_wildcard_receive(&e->call))
		return false;
	if (term && (usual->place == e->place || e->known)) {
		struct call as_usual = usual_call(w, e);

		*v = make_verdict(w, r, VERDICT_TERMS, i, &as_usual, times);
		v->what = term;
		return true;
	}
	/* The tag or peer differs from what this loop iteration always had. */
	if (!w->steps && !e->known && e->loop == usual->loop && e->call.bits & CALL_P2P &&
		!is_wildcard_receive(&e->call)) {
		term = e->call.tag != usual->call.tag				? "tag"
		       : relative_peer(&e->call) != relative_peer(&usual->call) ? "peer"
										: NULL;
		if (term) {
			*v = make_verdict(w, r, VERDICT_TERMS, i, &usual->call, times);
			v->what = term;
			return true;
		}
	}
	/* The line of the predecessor made one call more than ever in a step. */
	if (w->steps && !e->known && e->loop == r->e[e->prev].loop &&
		e->call.step == r->e[e->prev].call.step) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	/*
	 * The same call as its predecessor, from a new line, with no call after it yet. It may come after the end of a round.
	 */
	if ((!e->known || e->moved) && e->next < 0 && is_alike(&e->call, &r->e[e->prev].call) &&
		!is_alike(&e->call, &usual->call)) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		v->step = w->g->by_rounds ? r->e[e->prev].call.step : v->step;
		return true;
	}
	if (!e->known && takes_place_of(r, i, k)) {
		if (is_next_made_first(r, i, k)) {
			*v = make_verdict(w, r, VERDICT_ORDER, i, &usual->call, times);
			return true;
		}
		term = other_term_there(e, usual);
		if (!term)
			return false;
		*v = make_verdict(w, r, VERDICT_TERMS, i, &usual->call, times);
		v->what = term;
		return true;
	}
	/* An inserted call: from a line that never made a call, and the calls after it are the usual ones. */
	if (!e->known && e->next >= 0 && has_followed(r, i, r->e[e->next].token) &&
		(!(e->call.bits & CALL_P2P) ||
			is_message_alone(&w->g->diagnose.messages, &e->call))) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	if (is_next_turn_later(r, i, r->e[k].next)) {
		*v = make_missing(w, r, i, k, times, e->call.step);
		return true;
	}
	kind = judge_double_turn(r, i, k);
	if (kind) {
		*v = kind == VERDICT_MISSING ? make_missing(w, r, i, k, times, e->call.step)
					     : make_verdict(w, r, kind, i, &usual->call, times);
		return true;
	}
	if (is_later_in_turn(r, i, usual->token) && count_skipped(r, i, k)) {
		*v = make_missing(w, r, i, k, times, e->call.step);
		return true;
	}
	if (comes_later(r, i, usual->token) && is_one_fewer(w, r, i, k) &&
		!is_swapped_in_rounds(w, r, i, k, usual->token)) {
		*v = make_missing(w, r, i, k, times, e->call.step);
		return true;
	}
	/* Another rank sent or received this message, so it is not one too many. */
	if (!w->steps && e->call.bits & usual->call.bits & CALL_P2P &&
		is_turn_skipped(r, i, usual->token) &&
		!is_message_alone(&w->g->diagnose.messages, &e->call)) {
		*v = make_missing(w, r, i, k, times, e->call.step);
		return true;
	}
	if (comes_later(r, i, usual->token)) {
		/* The usual call came after it: the two were swapped, or this one was inserted. */
		bool swapped = find_token(r, i, e->token) >= 0 && count_skipped(r, i, k) == 1;

		if (swapped && r->e[e->next].token == usual->token) {
			int after = r->e[e->next].next;

			/* If the call comes once more, it was inserted. */
			if (after >= 0 && r->e[after].loop == e->loop &&
				r->e[after].call.nth == e->call.nth + 1)
				swapped = false;
		}
		*v = make_verdict(
			w, r, swapped ? VERDICT_ORDER : VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	if (is_left_to_others(w, r, i, k)) {
		*v = make_missing(w, r, i, k, times, e->call.step);
		return true;
	}
	if (!e->known && !(w->g->by_rounds && count_skipped(r, i, k)) && is_one_more(w, r, i)) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	/* The rank is blocked in a call from a new line, and others continued as usual with another communicator. */
	if (!e->known && e->next < 0 && e->call.bits & CALL_OPEN && !(e->call.bits & CALL_P2P) &&
		e->call.comm != usual->call.comm && count_others(w, r, i, usual->token) > 0) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	left = count_skipped(r, i, k);
	if (e->loop == r->e[e->prev].loop && !left) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	/* The rank is blocked in a message. The usual call may still follow in the step in which it is due. */
	due = r->e[e->prev].call.step + (usual->call.step - r->e[k].call.step);
	if (left && is_blocked_in(e) && e->call.bits & usual->call.bits & CALL_P2P &&
		!(w->steps && e->call.step > due)) {
		*v = make_verdict(w, r, VERDICT_ORDER, i, &usual->call, times);
		v->may_follow = true;
		return true;
	}
	/* From a new line, while a rank that only skipped a call continues from the lines that it always used. */
	if (left && w->steps &&
		(is_from_new_place(w, r, i) || (e->moved && !goes_on_as_ever(r, i)))) {
		*v = make_verdict(w, r, VERDICT_ORDER, i, &usual->call, times);
		return true;
	}
	if (left) {
		*v = make_missing(w, r, i, k, times, due);
		return true;
	}
	if (meets_others_astray(w, r, i)) {
		*v = make_verdict(w, r, VERDICT_EXTRA, i, &usual->call, times);
		return true;
	}
	return false;
}

/* Counts the ranks that did the same new thing in this step. */
static unsigned count_alike(
	const struct window *w, const struct verdict *v, uint64_t before, uint64_t token)
{
	unsigned n = 0;

	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned i = 0; i < r->n; i++) {
			unsigned same;
			int k;

			if (r->e[i].token != token || r->e[i].prev < 0 ||
				r->e[r->e[i].prev].token != before ||
				r->e[i].call.step + 1 < v->step || r->e[i].call.step > v->step + 1)
				continue;
			count_followed(w, r, i, &same, &k);
			if (!same) {
				n++;
				break;
			}
		}
	}
	return n;
}

static bool is_of_received_length(const struct verdict *v)
{
	return v->kind == VERDICT_TERMS && strcmp(v->what, "count") == 0 &&
	       strcmp(intern_get_name(v->call.op), "recv") == 0;
}

/* Returns the first verdict of any rank. causes: only calls that can have caused the disagreement. */
static struct verdict judge_ranks(const struct window *w, const bool *may, bool causes)
{
	struct verdict best = {.kind = VERDICT_NONE}, v;
	uint64_t earliest = UINT64_MAX;
	unsigned same;
	int k;

	for (unsigned j = 0; j < w->n; j++) {
		const struct rank_window *r = &w->rank[j];

		for (unsigned i = 0; (!may || may[r->rank]) && i < r->n; i++) {
			const struct entry *e = &r->e[i];
			uint64_t at = clock_set_right(&w->g->skew[r->rank], e->call.start);

			if (!is_judged(w, r, i))
				continue;
			if (at >= earliest)
				break;
			if (!judge_call(w, r, i, &v))
				continue;
			count_followed(w, r, i, &same, &k);
			if (is_excused(w, r, i, k, &v))
				continue;
			if (!can_be_cause(w, r, i, k, causes, &v))
				continue;
			if (2 * count_alike(w, &v, r->e[e->prev].token, e->token) > w->n)
				continue;
			best = v;
			/* Only its end shows how long a received message is. */
			best.event = is_of_received_length(&v)
					     ? at + (v.call.bits & CALL_OPEN ? 0 : v.call.dur)
					     : at;
			earliest = at;
			break;
		}
	}
	return best;
}

struct verdict judge_sequences(const struct window *w, const bool *may)
{
	const struct mismatch *u = &w->g->mismatch;
	struct verdict v = {.kind = VERDICT_NONE};
	struct call call, others;
	uint32_t lone;

	/* One rank is in another operation than all others: its numbers are shifted, and theirs are not. */
	if (u->any && u->what == MISMATCH_OP &&
		judge_terms(w, u->comm, u->seq, u->what, &lone, 1, &call, &others) == 1 &&
		(!may || may[lone])) {
		bool *only = tool_alloc(w->g->folders.n * sizeof(*only));

		only[lone] = true;
		v = judge_ranks(w, only, true);
		free(only);
	}
	if (v.kind)
		return v;
	v = judge_ranks(w, may, u->any);

	/*
	 * If a whole part of the program shifts the numbers, the difference may begin with a message; with other parameters of
	 * one call it does not.
	 */
	if (!v.kind && u->any && (u->what == MISMATCH_OP || u->what == MISMATCH_BYTES))
		v = judge_ranks(w, may, false);
	return v;
}
