/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/passed.h"

#include <string.h>

static bool is_open_collective(const struct entry *e)
{
	return e->call.bits & CALL_OPEN && !(e->call.bits & (CALL_P2P | CALL_LOCAL)) &&
	       e->call.comm_seq != NO_NUMBER;
}

static bool is_member(const struct window *w, const struct entry *e, uint32_t rank)
{
	const struct comm_info *k = comms_find(&w->g->comms, e->call.comm);

	return k && k->member && comm_has(k, w->g->folders.dir[rank].rank);
}

static bool has_entered(const struct rank_window *r, const struct entry *e)
{
	for (unsigned i = r->n; i-- > 0;) {
		const struct call *c = &r->e[i].call;

		if (c->comm == e->call.comm && c->comm_seq >= e->call.comm_seq &&
			!(c->bits & (CALL_P2P | CALL_LOCAL)))
			return true;
	}
	return false;
}

void mark_missing_ranks(const struct window *w, bool *awaited)
{
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++) {
			const struct entry *e = &w->rank[j].e[i];

			for (unsigned k = 0; is_open_collective(e) && k < w->n; k++)
				if (is_member(w, e, w->rank[k].rank) &&
					!has_entered(&w->rank[k], e))
					awaited[w->rank[k].rank] = true;
		}
}

/* The call that rank made behind the same one in the same step; NULL: it has not come so far, or on another way. */
static const struct entry *find_next_there(const struct rank_window *r, const struct entry *before)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->e[i].token == before->token && r->e[i].call.step == before->call.step)
			return r->e[i].next >= 0 ? &r->e[r->e[i].next] : NULL;
	return NULL;
}

/* How often that rank made the one call behind the other in the steps before. */
static unsigned count_before(const struct rank_window *r, uint64_t before, const struct entry *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++)
		n += r->e[i].place == e->place && r->e[i].prev >= 0 &&
		     r->e[i].call.step < e->call.step && r->e[r->e[i].prev].token == before;
	return n;
}

/* Is as far from the last time as that one was from the one before. */
static bool is_due(const struct rank_window *r, const struct entry *e)
{
	uint64_t step[2] = {0, 0};
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++) {
		if (r->e[i].place != e->place || r->e[i].call.step >= e->call.step)
			continue;
		step[0] = step[1];
		step[1] = r->e[i].call.step;
		n++;
	}
	return n >= 2 && e->call.step - step[1] == step[1] - step[0];
}

struct verdict judge_passed(const struct window *w)
{
	struct verdict v = {.kind = VERDICT_NONE};

	for (unsigned j = 0; w->steps && j < w->n && !v.kind; j++) {
		const struct rank_window *q = &w->rank[j], *missing = NULL;
		const struct entry *e = NULL, *before, *next = NULL;
		unsigned with = 1, without = 0, times = 0;

		for (unsigned i = 0; i < q->n && !e; i++)
			e = is_open_collective(&q->e[i]) && q->e[i].prev >= 0 ? &q->e[i] : NULL;
		if (!e)
			continue;
		before = &q->e[e->prev];
		for (unsigned k = 0; k < w->n; k++) {
			const struct rank_window *r = &w->rank[k];
			const struct entry *o = find_next_there(r, before);

			if (r == q || !is_member(w, e, r->rank))
				continue;
			if (has_entered(r, e)) {
				with++;
			} else if (o && (times = count_before(r, before->token, e)) > 0) {
				without++;
				missing = r;
				next = o;
			}
		}
		if (without != 1 || (with == 1 && !is_due(q, e)))
			continue;
		v = (struct verdict){.kind = VERDICT_MISSING,
			.rank = missing->rank,
			.step = e->call.step,
			.call = e->call,
			.usual = next->call,
			.before = before->call,
			.times = times,
			.ranks = w->n};
		v.call.rank = missing->rank;
		/* Its line by the numbers of the rank that left it out. */
		for (unsigned i = 0; i < missing->n; i++)
			if (missing->e[i].place == e->place)
				v.call.stack = missing->e[i].call.stack;
		v.call.comm_seq = NO_NUMBER;
	}
	return v;
}
