/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/sequence/passed.h"

#include "base/hash.h"

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

/*
 * The calls that each rank made: by token and step, by call site and step, by communicator and number
 * on it.
 */
struct found {
	struct table_key key; /* a: hash; b: index of the rank in the window */
	unsigned at, n; /* at: the first such call; n: how many there are */
};

enum found_by { BY_TOKEN = 1, BY_PLACE, BY_NUMBER };

static uint64_t hash_found(enum found_by by, uint64_t what, uint64_t where)
{
	return hash_u64(hash_u64(what, where), by);
}

static bool is_collective(const struct entry *e)
{
	return !(e->call.bits & (CALL_P2P | CALL_LOCAL)) && e->call.comm_seq != NO_NUMBER;
}

static void record_found(struct table *t, uint64_t hash, unsigned rank, unsigned at)
{
	uint32_t n = t->n;
	struct found *f = table_get(t, hash, rank);

	if (!f)
		return;
	if (t->n > n)
		f->at = at;
	f->n++;
}

static void index_window(const struct window *w, struct table *t)
{
	table_init(t, sizeof(struct found), 1u << 20);
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++) {
			const struct entry *e = &w->rank[j].e[i];

			if (!is_judged(w, &w->rank[j], i))
				continue;
			record_found(t, hash_found(BY_TOKEN, e->token, e->call.step), j, i);
			record_found(t, hash_found(BY_PLACE, e->place, e->call.step), j, i);
			if (is_collective(e))
				record_found(t,
					hash_found(BY_NUMBER, e->call.comm,
						(uint64_t)e->call.comm_seq),
					j, i);
		}
}

static const struct entry *find_call_of_rank(
	const struct window *w, const struct table *t, uint64_t hash, unsigned rank)
{
	const struct found *f = table_find(t, hash, rank);

	return f ? &w->rank[rank].e[f->at] : NULL;
}

static bool is_found_again(const struct table *t, uint64_t hash, unsigned rank)
{
	const struct found *f = table_find(t, hash, rank);

	return f && f->n > 1;
}

/*
 * Counts how often the rank came to the call site right after a call like `before` in earlier
 * steps.
 */
static unsigned count_before(const struct rank_window *r, uint64_t before, const struct entry *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->n; i++)
		n += r->e[i].place == e->place && r->e[i].prev >= 0 &&
		     r->e[i].call.step < e->call.step && r->e[r->e[i].prev].token == before;
	return n;
}

/*
 * True if the last such call was as long ago as the time between the last two, or since the
 * beginning.
 */
static bool is_due_by_period(const struct rank_window *r, const struct entry *e)
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
	if (n == 1)
		return e->call.step - step[1] - step[1] <= 1;
	return n >= 2 && e->call.step - step[1] == step[1] - step[0];
}

/* Returns true if the rank made a call at site `next` right after one with token `before` in an earlier step. */
static bool is_former_successor(
	const struct rank_window *r, uint64_t before, uint64_t next, uint64_t step)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->e[i].place == next && r->e[i].call.step < step && r->e[i].prev >= 0 &&
			r->e[r->e[i].prev].token == before)
			return true;
	return false;
}

/* Returns true if the rank came from site `from` to site `to` within one step before `step`. */
static bool has_led_to(const struct rank_window *r, uint64_t from, uint64_t to, uint64_t step)
{
	uint64_t reached = UINT64_MAX; /* the step of the call at `to` that comes next */

	for (unsigned i = r->n; i-- > 0;) {
		const struct entry *e = &r->e[i];

		if (e->call.step >= step)
			continue;
		if (e->place == from && e->call.step == reached)
			return true;
		if (e->place == to)
			reached = e->call.step;
	}
	return false;
}

/* Returns true if the rank waits in its last step for a message, and in no collective. */
static bool is_waiting_for_message(const struct rank_window *r)
{
	bool waits = false;

	for (unsigned i = r->n; i-- > 0 && r->e[i].call.step == r->e[r->n - 1].call.step;) {
		if (is_open_collective(&r->e[i]))
			return false;
		waits |= (r->e[i].call.bits & (CALL_OPEN | CALL_P2P)) == (CALL_OPEN | CALL_P2P);
	}
	return waits;
}

/*
 * True if the rank has gone on with `next` as it did after the same predecessor in earlier steps, and may still come to e: it
 * has made no other call since, or is in a further turn of a loop, where it waits for a message at a site after which it came
 * to e in earlier steps.
 */
static bool may_come_yet(const struct rank_window *r, uint64_t before, const struct entry *next,
	const struct entry *e)
{
	const struct entry *last = next;

	if (!is_former_successor(r, before, next->place, next->call.step))
		return false;
	if (next->next < 0 && !(next->call.bits & CALL_OPEN))
		return true;
	while (last->next >= 0)
		last = &r->e[last->next];
	return is_waiting_for_message(r) && last->call.step == e->call.step &&
	       has_led_to(r, last->place, e->place, e->call.step);
}

/*
 * Returns the call of rank k that corresponds to call e of another rank, or NULL if there is none,
 * or it is ambiguous.
 */
static const struct entry *find_same_call(
	const struct window *w, const struct table *t, const struct entry *e, unsigned k)
{
	uint64_t by_token = hash_found(BY_TOKEN, e->token, e->call.step);
	const struct entry *same;

	if (!is_found_again(t, by_token, k))
		return find_call_of_rank(w, t, by_token, k);
	/*
	 * If a step has more iterations of a loop than another step, the communicator's numbers
	 * identify the call.
	 */
	if (!is_collective(e))
		return NULL;
	same = find_call_of_rank(
		w, t, hash_found(BY_NUMBER, e->call.comm, (uint64_t)e->call.comm_seq), k);
	return same && same->token == e->token ? same : NULL;
}

/*
 * True if rank k went on with a different call when rank q made e, and did not make e in that step:
 * it was in another call while the others were in e, or never entered e. *next: the call that it
 * made instead.
 */
static bool went_past(const struct window *w, const struct table *t, const struct rank_window *q,
	const struct entry *e, unsigned k, const struct entry **next)
{
	const struct entry *before = &q->e[e->prev], *there, *met;
	const struct rank_window *r = &w->rank[k];

	there = find_same_call(w, t, before, k);
	if (!there || there->next < 0)
		return false;
	met = find_call_of_rank(
		w, t, hash_found(BY_NUMBER, e->call.comm, (uint64_t)e->call.comm_seq), k);
	*next = &r->e[there->next];
	if (may_come_yet(r, before->token, *next, e))
		return false;
	return (*next)->place != e->place && (!met || met->place != e->place) &&
	       !find_call_of_rank(w, t, hash_found(BY_PLACE, e->place, e->call.step), k);
}

/* True if the rank is blocked in a collective that no other rank has called at this call site. */
static bool is_made_alone(
	const struct window *w, const struct rank_window *r, const struct entry *e)
{
	if (!(e->call.bits & CALL_OPEN) || !is_collective(e))
		return false;
	for (unsigned k = 0; k < w->n; k++)
		for (unsigned i = 0; i < w->rank[k].n; i++)
			if (&w->rank[k].e[i] != e && w->rank[k].e[i].place == e->place)
				return false;
	return r->rank == e->call.rank;
}

/*
 * Sets the new call as the call of the verdict, and the one that the rank has not entered as the
 * usual call.
 */
static void make_alone(struct verdict *v, const struct entry *made, const struct entry *alone)
{
	v->kind = VERDICT_EXTRA;
	v->alone = true;
	v->call = alone->call;
	v->usual = made->call;
	v->step = alone->call.step;
}

static bool judge_one_passed(const struct window *w, const struct table *t,
	const struct rank_window *q, const struct entry *e, struct verdict *v)
{
	const struct entry *before = &q->e[e->prev], *next, *other = NULL;
	const struct rank_window *missing = NULL;
	unsigned with = 1, without = 0, times;

	for (unsigned k = 0; k < w->n; k++) {
		const struct rank_window *r = &w->rank[k];

		if (r == q || !is_member(w, e, r->rank))
			continue;
		if (find_call_of_rank(w, t, hash_found(BY_PLACE, e->place, e->call.step), k)) {
			with++;
		} else if (went_past(w, t, q, e, k, &next)) {
			without++;
			missing = r;
			other = next;
		}
	}
	if (without != 1)
		return false;
	times = count_before(missing, before->token, e);
	/*
	 * A call that comes every few steps may be new after this predecessor. Then most ranks are
	 * right, if the rank can no longer come to it.
	 */
	if (!times &&
		(with < 2 || other->call.bits & CALL_P2P ||
			(other->call.step <= e->call.step && other->call.comm != e->call.comm)))
		return false;
	/* If there are two ranks: the rank that made the call is right if its calls come in a fixed period and this one was due. */
	if (with == 1 &&
		(!is_due_by_period(q, e) || times >= count_before(missing, before->token, other)))
		return false;
	*v = (struct verdict){.kind = VERDICT_MISSING,
		.rank = missing->rank,
		.step = e->call.step,
		.call = e->call,
		.usual = other->call,
		.before = before->call,
		.times = times,
		.ranks = w->n};
	/* The line of the call, from the earlier calls of the rank that skipped it. */
	for (unsigned i = 0; i < missing->n; i++)
		if (missing->e[i].place == e->place)
			v->call = missing->e[i].call;
	v->call.step = v->step;
	v->call.comm_seq = NO_NUMBER;
	if (with > 1 && other->next < 0 && is_made_alone(w, missing, other))
		make_alone(v, e, other);
	return true;
}

struct verdict judge_passed(const struct window *w)
{
	struct verdict v = {.kind = VERDICT_NONE};
	uint64_t earliest = UINT64_MAX;
	struct table t;

	if (!w->steps)
		return v;
	index_window(w, &t);
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; i < w->rank[j].n; i++) {
			const struct entry *e = &w->rank[j].e[i];
			uint64_t at = clock_set_right(&w->g->skew[w->rank[j].rank], e->call.start);

			if (e->prev >= 0 && at < earliest && is_collective(e) &&
				is_judged(w, &w->rank[j], i) &&
				judge_one_passed(w, &t, &w->rank[j], e, &v))
				earliest = at;
		}
	table_free(&t);
	return v;
}
