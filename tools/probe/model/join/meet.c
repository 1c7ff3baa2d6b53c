/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/join/meet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/signature.h"

#define BUCKETS 65536u
#define FEW 32 /* up to this number of arrivals, the search is linear */
#define PLACES_MAX (2u << 20) /* maximum number of arrivals in memory: 192 MiB */

static const char *const mismatch_names[] = {
	[MISMATCH_NOTHING] = "nothing",
	[MISMATCH_OP] = "operation",
	[MISMATCH_REDOP] = "reduction",
	[MISMATCH_ROOT] = "root",
	[MISMATCH_DTYPE] = "dtype",
	[MISMATCH_BYTES] = "size",
	[MISMATCH_LAYOUT] = "memory layout",
};

const char *meet_mismatch_name(enum meet_mismatch u)
{
	return mismatch_names[u];
}

void meet_init(struct meet *m, const struct comms *comms, unsigned nrank, meet_fn *fn, void *arg)
{
	*m = (struct meet){.comms = comms, .nrank = nrank, .fn = fn, .arg = arg};
	m->bucket = tool_alloc(BUCKETS * sizeof(*m->bucket));
}

static struct meeting **bucket_of(const struct meet *m, uint64_t comm, int64_t seq)
{
	return &m->bucket[hash_u64(comm, (uint64_t)seq) % BUCKETS];
}

static void end_meeting(struct meet *m, struct meeting *k, bool complete)
{
	struct meeting **at = bucket_of(m, k->comm, k->seq);

	while (*at != k)
		at = &(*at)->chain;
	*at = k->chain;
	*(k->older ? &k->older->newer : &m->oldest) = k->newer;
	*(k->newer ? &k->newer->older : &m->newest) = k->older;
	m->places -= k->cap;
	m->fn(m->arg, k, complete);
	free(k);
}

static struct meeting *start_meeting(struct meet *m, const struct call *c, unsigned want)
{
	/* One allocation for all. The arrivals need not be zero. */
	size_t bits = want > FEW ? (m->nrank + 63) / 64 * sizeof(uint64_t)
				 : (want + 1) / 2 * sizeof(uint64_t);
	char *p = tool_realloc(NULL, sizeof(struct meeting) + bits + want * sizeof(struct arrival));
	struct meeting *k = (struct meeting *)p, **at = bucket_of(m, c->comm, c->comm_seq);

	*k = (struct meeting){.comm = c->comm,
		.seq = c->comm_seq,
		.step = c->step,
		.want = want,
		.chain = *at,
		.older = m->newest,
		.cap = want};
	if (want > FEW)
		k->seen = memset(p + sizeof(*k), 0, bits);
	else
		k->who = (uint32_t *)(p + sizeof(*k));
	k->a = (struct arrival *)(p + sizeof(*k) + bits);
	*at = k;
	*(m->newest ? &m->newest->newer : &m->oldest) = k;
	m->newest = k;
	m->places += k->cap;
	return k;
}

static struct terms terms_of(const struct call *c, bool inter)
{
	struct part p = compute_part(c, inter);

	return (struct terms){.rank = c->rank,
		.api = c->api,
		.op = c->op,
		.redop = c->redop,
		.dtype = p.dtype,
		.received_dtype = p.received_dtype,
		.paired = p.paired,
		.root = c->root,
		.bytes = p.bytes,
		.received = p.received,
		.stack = c->stack,
		.phase = c->phase,
		.seq = c->seq,
		.tensor = c->dtype != 0 && p.typed,
		.sized = p.sized,
		.permuted = c->bits & CALL_PERMUTED,
		.open = c->bits & CALL_OPEN};
}

/* Returns the number of known parameters. */
static unsigned count_known(const struct terms *t)
{
	return (t->op != 0) + (t->redop != 0) + (t->root != NO_NUMBER) + t->tensor +
	       (t->bytes || !t->open);
}

/* The amount that one rank receives must be the amount that the other one sends. */
static bool is_mismatched_in_size(const struct terms *a, const struct terms *b)
{
	if (!a->sized || !b->sized)
		return false;
	if (a->bytes != b->bytes && (a->bytes || !a->open) && (b->bytes || !b->open))
		return true;
	return (a->received && b->bytes && a->received != b->bytes) ||
	       (b->received && a->bytes && b->received != a->bytes);
}

static bool are_other_types(uint32_t op, uint32_t x, uint32_t y)
{
	return x && y && x != y && !is_dtype_other(x) && !is_dtype_other(y) &&
	       !is_copied_alike(op, x, y);
}

/* True if what a sends has neither the type that b sends nor the one that b receives: no rank can expect it. */
static bool has_other_type_than_both(const struct terms *a, const struct terms *b)
{
	return are_other_types(a->op, a->dtype, b->dtype) &&
	       are_other_types(a->op, a->dtype, b->received_dtype);
}

static bool is_mismatched_in_type(const struct terms *a, const struct terms *b)
{
	/* Without elements any type is right, if the parts have sizes of their own. */
	if (!a->sized && (!a->bytes || !b->bytes))
		return false;
	if (a->paired)
		return has_other_type_than_both(a, b) || has_other_type_than_both(b, a);
	return are_other_types(a->op, a->dtype, b->dtype) ||
	       are_other_types(a->op, a->received_dtype, b->dtype) ||
	       are_other_types(a->op, a->dtype, b->received_dtype);
}

/* Compares only what both sides have. Derived types may differ and still match: they are compared by size only. */
static enum meet_mismatch compare_terms(const struct terms *a, const struct terms *b)
{
	if (a->op != b->op && a->op && b->op)
		return MISMATCH_OP;
	if (a->redop != b->redop && a->redop && b->redop)
		return MISMATCH_REDOP;
	if (a->root != b->root && a->root != NO_NUMBER && b->root != NO_NUMBER)
		return MISMATCH_ROOT;
	if (!a->tensor || !b->tensor)
		return MISMATCH_NOTHING;
	if (is_mismatched_in_size(a, b))
		return MISMATCH_BYTES;
	if (is_mismatched_in_type(a, b))
		return MISMATCH_DTYPE;
	return a->permuted != b->permuted && is_combined_by_element(a->op) ? MISMATCH_LAYOUT
									   : MISMATCH_NOTHING;
}

static unsigned wanted_ranks(struct meet *m, const struct call *c)
{
	if (c->comm != m->cached_comm || !m->cached_comm) {
		const struct comm_info *k = comms_find(m->comms, c->comm);
		uint64_t size = c->size > 0 ? (uint64_t)c->size : 0;

		m->cached_comm = c->comm;
		m->cached_inter = k && k->nfirst;
		m->cached_want = k ? k->present : size < m->nrank ? (unsigned)size : m->nrank;
	}
	return m->cached_want;
}

static void add_sides(struct meeting *k, const struct call *c)
{
	k->bad |= c->in.bad || c->out.bad;
	if (c->in.digest) {
		k->in_least = k->nin && k->in_least < c->in.least ? k->in_least : c->in.least;
		k->in_most = k->nin && k->in_most > c->in.most ? k->in_most : c->in.most;
		k->nin++;
		k->in_count += c->in.count;
		k->in_sum += c->in.sum;
		k->in_abs += sqrt(c->in.squares * (double)c->in.count);
	}
	if (c->out.digest) {
		if (!k->nout++)
			k->one_out = c->out;
		k->out_count += c->out.count;
		k->out_sum += c->out.sum;
	}
}

/* Returns true if the rank has already arrived. Otherwise records its arrival. */
static bool has_come(struct meeting *k, uint32_t rank)
{
	uint64_t bit = UINT64_C(1) << (rank % 64);

	if (k->seen) {
		if (k->seen[rank / 64] & bit)
			return true;
		k->seen[rank / 64] |= bit;
		return false;
	}
	for (unsigned i = 0; k->some & bit && i < k->n; i++)
		if (k->who[i] == rank)
			return true;
	k->some |= bit;
	k->who[k->n] = rank;
	return false;
}

/* Returns the meeting to which call c belongs, or NULL if it has not begun. */
static struct meeting *find_meeting(const struct meet *m, const struct call *c)
{
	struct meeting *k = *bucket_of(m, c->comm, c->comm_seq);

	while (k && (k->comm != c->comm || k->seq != c->comm_seq))
		k = k->chain;
	return k;
}

void meet_fetch(const struct meet *m, const struct call *c, unsigned n)
{
	const struct meeting *k;

	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(bucket_of(m, c[i].comm, c[i].comm_seq));
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(*bucket_of(m, c[i].comm, c[i].comm_seq));
	for (unsigned i = 0; i < n; i++) {
		if (!(k = find_meeting(m, &c[i])) || k->n == k->want)
			continue;
		__builtin_prefetch(k->seen ? (void *)&k->seen[c[i].rank / 64] : k->who, 1);
		__builtin_prefetch(&k->first);
		__builtin_prefetch(&k->first.bytes);
		__builtin_prefetch(&k->longest.dur);
		__builtin_prefetch(&k->nin, 1);
		__builtin_prefetch(&k->in_most, 1);
		__builtin_prefetch(&k->a[k->n], 1);
		__builtin_prefetch(&k->a[k->n].step, 1);
	}
}

void meet_add(struct meet *m, const struct call *c)
{
	unsigned want;

	if (!c->comm || c->comm_seq == NO_NUMBER || c->bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED))
		return;
	want = wanted_ranks(m, c);
	if (want < 2)
		return;

	struct meeting *k = find_meeting(m, c);

	if (!k)
		k = start_meeting(m, c, want);
	if (has_come(k, c->rank))
		return; /* the rank has made two calls with this number: they cannot be joined */

	struct terms t = terms_of(c, m->cached_inter);
	bool open = c->bits & CALL_OPEN;

	if (!k->n)
		k->first = t;
	else if (!k->mismatch && (k->mismatch = compare_terms(&k->first, &t)))
		k->other = t;
	/* The other ranks are compared with the call that has the most parameters. */
	else if (!k->mismatch && count_known(&t) > count_known(&k->first))
		k->first = t;
	if (!k->n || c->dur > k->longest.dur)
		k->longest = *c;
	k->open += open;
	k->async |= (c->bits & CALL_ASYNC) != 0;
	k->a[k->n++] = (struct arrival){.rank = c->rank,
		.nth = c->nth,
		.start = c->start,
		.dur = open ? UINT64_MAX : c->dur,
		.site = c->site,
		.in = c->in.blind ? 0 : c->in.digest,
		.out = c->out.blind ? 0 : c->out.digest,
		.in_sum = c->in.sum,
		.out_sum = c->out.sum,
		.out_bad = c->out.bad,
		.failed = c->bits & CALL_ERROR,
		.in_place = c->bits & CALL_IN_PLACE,
		.seq = c->seq,
		.stack = c->stack,
		.step = (uint32_t)c->step,
		.in_bytes = (uint32_t)c->in_bytes,
		.out_bytes = (uint32_t)c->out_bytes,
		.in_reach = (float)side_get_largest_absolute(&c->in),
		.telling = c->in.telling && !(c->bits & CALL_LATE)};
	add_sides(k, c);
	if (k->n == k->want)
		end_meeting(m, k, true);
	while (m->places > PLACES_MAX && m->oldest) {
		m->given_up++;
		end_meeting(m, m->oldest, false);
	}
}

struct call call_of_arrival(const struct meeting *m, const struct arrival *a)
{
	struct call c = m->longest;

	c.rank = a->rank;
	c.start = a->start;
	c.site = a->site;
	c.nth = a->nth;
	c.seq = a->seq;
	c.stack = a->stack;
	return c;
}

void meet_end(struct meet *m)
{
	while (m->oldest)
		end_meeting(m, m->oldest, false);
	free(m->bucket);
	m->bucket = NULL;
}
