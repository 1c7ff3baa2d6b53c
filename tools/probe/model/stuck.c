/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/stuck.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

/* ns after which an asynchronous operation counts as blocked */
#define ASYNC_STANDS_NS UINT64_C(1000000000)
#define GROUPS_MAX 4096u /* maximum number of groups; calls beyond it are only counted */

static bool is_joined(const struct open_call *c)
{
	return c->call.comm && c->call.comm_seq != NO_NUMBER &&
	       !(c->call.bits & (CALL_P2P | CALL_LOCAL));
}

bool is_only_enqueued(const struct call *c)
{
	static const char *const libs[] = {"nccl", "rccl", "hccl"};

	for (unsigned i = 0; i < sizeof(libs) / sizeof(*libs); i++)
		if (strcmp(intern_get_name(c->lib), libs[i]) == 0)
			return !c->device;
	return false;
}

/* Returns true for calls of the same operation, or at least of the same kind. */
bool stuck_alike(const struct open_call *a, const struct open_call *b)
{
	const struct call *x = &a->call, *y = &b->call;

	if (a->waiting != b->waiting || (x->bits ^ y->bits) & CALL_ASYNC || x->api != y->api ||
		x->comm != y->comm || is_joined(a) != is_joined(b) || a->ended_ok != b->ended_ok)
		return false;
	return !is_joined(a) || x->comm_seq == y->comm_seq;
}

/* Index entry of a group. */
struct group_place {
	struct table_key key;
	uint32_t at; /* index in stuck[] */
};

/*
 * Returns the second part of a group's key, after the communicator. It is equal for calls that are
 * alike (stuck_alike()).
 */
static uint64_t hash_stuck_kind(const struct open_call *c)
{
	bool joined = is_joined(c);
	uint64_t kind = (uint64_t)c->waiting << 3 | (uint64_t)joined << 2 |
			(uint64_t)c->ended_ok << 1 | ((c->call.bits & CALL_ASYNC) != 0);

	return hash_u64(
		hash_u64(hash_u64(0, c->call.api), kind), joined ? (uint64_t)c->call.comm_seq : 0);
}

/* Calls are sorted by rank, so a rank that was already added is the last one. */
static void add_rank(int **rank, unsigned *n, unsigned *cap, int r)
{
	if (*n && (*rank)[*n - 1] == r)
		return;
	TOOL_GROW(*rank, *n, *cap);
	(*rank)[(*n)++] = r;
}

/* ns. A call that a timeout ended is open for the ranks that waited for it, but it did not last longer than it took. */
static uint64_t compute_took(const struct open_call *c)
{
	return c->call.bits & CALL_ERROR ? c->call.dur : c->age;
}

static void write_stuck_call(
	struct stuck_list *l, const struct gather *g, const struct open_call *c)
{
	const struct rank_dir *d = &g->folders.dir[c->call.rank];
	uint32_t known = l->places.n;
	struct group_place *place = table_get(&l->places, c->call.comm, hash_stuck_kind(c));
	struct stuck *s;
	uint64_t took = compute_took(c);

	if (!place) {
		l->more++;
		return;
	}
	if (l->places.n > known) {
		TOOL_GROW(l->stuck, l->n, l->cap);
		place->at = l->n;
		l->stuck[l->n++] = (struct stuck){.sample = c,
			.age_min = c->age,
			.age_max = c->age,
			.took_min = took,
			.took_max = took,
			.joined = is_joined(c),
			.async = (c->call.bits & CALL_ASYNC) != 0};
	}
	s = &l->stuck[place->at];
	/* A thread is blocked in the asynchronous operation nevertheless. */
	if (l->blocked_in[c->call.rank] == c)
		s->async = false;
	if (took < s->took_min)
		s->took_min = took;
	if (took > s->took_max)
		s->took_max = took;
	if (c->age < s->age_min)
		s->age_min = c->age;
	if (c->age > s->age_max) {
		s->age_max = c->age;
		s->sample = c;
	}
	add_rank(&s->rank, &s->n, &s->cap, d->rank >= 0 ? d->rank : -1 - (int)c->call.rank);
}

/* ---- missing ranks ---- */

static bool same_reason(const struct absent *a, const struct absent *b)
{
	if (a->why != b->why)
		return false;
	if (a->why == ABSENT_OTHER)
		return stuck_alike(a->in, b->in);
	if (a->why == ABSENT_NEVER || a->why == ABSENT_ENDED)
		return (!a->last && !b->last) ||
		       (a->last && b->last && a->last->api == b->last->api &&
			       a->last->comm == b->last->comm &&
			       a->last->comm_seq == b->last->comm_seq);
	return true;
}

static void add_absent(struct stuck *s, const struct absent *now, int rank)
{
	struct absent *a = NULL;

	/* The reason is usually that of the previous rank. */
	for (unsigned i = s->nabsent; i-- > 0 && !a;)
		if (same_reason(&s->absent[i], now))
			a = &s->absent[i];
	if (!a) {
		TOOL_GROW(s->absent, s->nabsent, s->cap_absent);
		a = &s->absent[s->nabsent++];
		*a = *now;
	}
	if (now->since > a->since)
		a->since = now->since;
	add_rank(&a->rank, &a->n, &a->cap, rank);
}

static void look_for_rank(struct stuck_list *l, const struct gather *g, struct stuck *s, int rank)
{
	int i = gather_index(g, rank);
	const struct call *op = &s->sample->call;
	struct absent now = {.why = ABSENT_NO_DATA};
	const struct rank_dir *d;
	uint64_t until;
	int64_t latest;

	if (i >= 0 && l->in_group[i] == (uint32_t)(s - l->stuck) + 1)
		return;
	if (i < 0) {
		if (gather_has_folder(g, rank))
			now.why = ABSENT_UNREAD;
		add_absent(s, &now, rank);
		return;
	}
	d = &g->folders.dir[i];
	latest = gather_latest_collective(g, (unsigned)i, op->comm);
	if (latest != NO_NUMBER && latest >= op->comm_seq &&
		!(l->blocked_in[i] && l->blocked_in[i]->call.comm == op->comm &&
			l->blocked_in[i]->call.comm_seq == op->comm_seq)) {
		now.why = ABSENT_PAST;
		now.enqueued = is_only_enqueued(op);
	} else if (l->blocked_in[i]) {
		now.why = ABSENT_OTHER;
		now.in = l->blocked_in[i];
	} else if (d->meta.thinned) {
		now.why = ABSENT_THINNED;
	} else {
		const struct rank_info *r = &g->rank[i];

		now.why = d->state == RANK_FINISHED || d->state == RANK_UNWRITTEN ? ABSENT_ENDED
										  : ABSENT_NEVER;
		now.last = r->last.rows ? &r->last : NULL;
		until = d->state == RANK_RUNNING ? g->opens.now : g->until_ns;
		/* What it only started has no row yet. */
		if (l->blocked[i]) {
			now.last = &l->blocked[i]->call;
			now.since = l->blocked[i]->age;
		} else if (now.last && until > now.last->start + now.last->dur)
			now.since = until - now.last->start - now.last->dur;
	}
	add_absent(s, &now, rank);
}

static void find_absent(struct stuck_list *l, const struct gather *g, struct stuck *s)
{
	const struct comm_info *c = comms_find(&g->comms, s->sample->call.comm);

	for (unsigned i = 0; i < s->n; i++) {
		int at = gather_index(g, s->rank[i]);

		if (at >= 0)
			l->in_group[at] = (uint32_t)(s - l->stuck) + 1;
	}
	if (c && c->member)
		for (unsigned i = 0; i < c->nmember; i++)
			look_for_rank(l, g, s, c->member[i]);
	for (unsigned i = 0; i < s->nabsent; i++)
		s->knows |= s->absent[i].why != ABSENT_UNREAD && s->absent[i].why != ABSENT_THINNED;
}

/*
 * Returns true if the rank is blocked in the wait for a message that it started: the other side has
 * not begun, no call followed, and no wait is recorded (PyTorch's Work.wait leaves no record).
 */
static bool is_blocked_in_message(const struct gather *g, const struct open_call *c)
{
	const struct rank_info *r = &g->rank[c->call.rank];

	return c->call.bits & CALL_ASYNC && c->call.bits & CALL_P2P && !r->waits_seen &&
	       c->age >= ASYNC_STANDS_NS && c->call.start >= r->last.start &&
	       c->call.comm_seq != NO_NUMBER && c->call.tag != NO_NUMBER &&
	       is_message_alone(&g->diagnose.messages, &c->call);
}

/* Finds the last asynchronous operation of each rank, if no call followed it. */
static void find_blocked(struct stuck_list *l, const struct gather *g)
{
	l->blocked = tool_alloc(g->folders.n * sizeof(*l->blocked));
	for (unsigned i = 0; i < g->opens.n; i++) {
		const struct open_call *c = &g->opens.call[i], **at = &l->blocked[c->call.rank];
		const struct rank_info *r = &g->rank[c->call.rank];

		if (c->ended_ok || !(c->call.bits & CALL_ASYNC) || r->waits_seen ||
			c->age < ASYNC_STANDS_NS || c->call.start < r->last.start)
			continue;
		if (!*at || c->call.start >= (*at)->call.start)
			*at = c;
	}
	for (unsigned i = 0; i < g->folders.n; i++)
		if (l->blocked_in[i])
			l->blocked[i] = NULL;
}

/*
 * Finds for each rank the open call in which its thread is blocked: the one that was entered last.
 * Open calls of a process that ended normally do not count.
 */
static void find_blocking_calls(struct stuck_list *l, const struct gather *g)
{
	l->blocked_in = tool_alloc(g->folders.n * sizeof(*l->blocked_in));
	for (unsigned i = 0; i < g->opens.n; i++) {
		const struct open_call *c = &g->opens.call[i], **at = &l->blocked_in[c->call.rank];

		if (c->ended_ok || (c->call.bits & CALL_ASYNC && !is_blocked_in_message(g, c)))
			continue;
		if (!*at || c->call.start >= (*at)->call.start)
			*at = c;
	}
}

/* Sorts operations with a missing rank first, then the oldest first. */
static int by_weight(const void *x, const void *y)
{
	const struct stuck *a = x, *b = y;

	if (a->sample->ended_ok != b->sample->ended_ok)
		return a->sample->ended_ok ? 1 : -1;
	if (a->async != b->async)
		return a->async ? 1 : -1;
	if (a->joined != b->joined)
		return a->joined ? -1 : 1;
	if (a->age_max != b->age_max)
		return a->age_max > b->age_max ? -1 : 1;
	return a->sample->call.rank < b->sample->call.rank
		       ? -1
		       : a->sample->call.rank > b->sample->call.rank;
}

void stuck_find(struct stuck_list *l, const struct gather *g)
{
	*l = (struct stuck_list){0};
	table_init(&l->places, sizeof(struct group_place), GROUPS_MAX);
	find_blocking_calls(l, g);
	find_blocked(l, g);
	l->in_group = tool_alloc(g->folders.n * sizeof(*l->in_group));
	for (unsigned i = 0; i < g->opens.n; i++)
		write_stuck_call(l, g, &g->opens.call[i]);
	for (unsigned i = 0; i < l->n; i++)
		if (l->stuck[i].joined)
			find_absent(l, g, &l->stuck[i]);
	if (l->n)
		qsort(l->stuck, l->n, sizeof(*l->stuck), by_weight);
	for (unsigned i = 0; i < l->n; i++) {
		const struct open_call *c = l->stuck[i].sample;
		struct group_place *place =
			table_find(&l->places, c->call.comm, hash_stuck_kind(c));

		place->at = i;
	}
}

int stuck_group_of(const struct stuck_list *l, const struct open_call *c)
{
	const struct group_place *place = table_find(&l->places, c->call.comm, hash_stuck_kind(c));

	return place ? (int)place->at : -1;
}

void stuck_free(struct stuck_list *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		struct stuck *s = &l->stuck[i];

		for (unsigned k = 0; k < s->nabsent; k++)
			free(s->absent[k].rank);
		free(s->absent);
		free(s->rank);
	}
	free(l->stuck);
	free(l->blocked_in);
	free(l->blocked);
	free(l->in_group);
	table_free(&l->places);
}

/* Returns true if a rank is missing that is not itself blocked. */
static bool has_missing_rank(const struct stuck *s)
{
	for (unsigned k = 0; k < s->nabsent; k++)
		if (s->absent[k].why == ABSENT_NEVER || s->absent[k].why == ABSENT_ENDED ||
			s->absent[k].why == ABSENT_NO_DATA)
			return true;
	return false;
}

static bool has_blocked_rank(const struct stuck_list *l, const struct gather *g)
{
	for (unsigned i = 0; i < g->folders.n; i++)
		if (l->blocked_in[i])
			return true;
	return false;
}

/*
 * Returns the first operation of the communicator that lacks a rank: a rank that is still in an
 * earlier operation does not cause the later ones to wait. Waiting times do not decide, because a
 * rank that enters the first one late may find the next one already begun by others.
 */
static const struct stuck *first_on_comm(const struct stuck_list *l, const struct stuck *s)
{
	const struct stuck *first = s;

	for (unsigned i = 0; i < l->n; i++) {
		const struct stuck *e = &l->stuck[i];

		if (s->joined && e->joined && !e->sample->ended_ok &&
			e->sample->call.comm == first->sample->call.comm &&
			e->sample->call.comm_seq < first->sample->call.comm_seq &&
			has_missing_rank(e))
			first = e;
	}
	return first;
}

const struct stuck *stuck_cause(const struct stuck_list *l, const struct gather *g)
{
	const struct stuck *async = NULL, *other = NULL;

	bool blocked_in = has_blocked_rank(l, g);

	for (unsigned i = 0; i < l->n; i++) {
		const struct stuck *s = &l->stuck[i];

		if (s->sample->ended_ok)
			continue;
		if (!s->async && blocked_in && has_missing_rank(s))
			return first_on_comm(l, s);
		/*
		 * A framework may wait without a record (autograd for its buckets). Then the time
		 * decides.
		 */
		if (s->async && !async && has_missing_rank(s) &&
			(blocked_in || s->age_max >= ASYNC_STANDS_NS))
			async = s;
		if (!s->async && !other && blocked_in)
			other = s;
	}
	return async ? first_on_comm(l, async) : other;
}
