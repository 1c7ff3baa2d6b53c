/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest calls of each rank: duration and bytes of operations, as algorithm and bus bandwidth
 * (defined by nccl-tests), and the ranks that enter collectives late.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/live/live.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/bus_factor.h"

#define CALLS_BYTES ((uint64_t)128 << 10) /* of the calls of a rank */
#define MEETINGS_MAX (1u << 22)
#define OPS_MAX 256 /* maximum number of operations of a rank */
#define MET_LEAST 3 /* minimum number of collectives to judge a rank */

/* A collective, with the ranks whose rows were read. */
struct live_meeting {
	struct table_key key; /* communicator, number on it */
	uint64_t first, last; /* first and last start, ns */
	uint32_t n, last_rank;
	bool held; /* a rank waited for the last rank to arrive */
};

struct live_entry {
	struct live_meeting *meeting;
	uint64_t start, end;
	uint32_t rank;
};

struct live_calls {
	struct table meetings;
	struct live_entry *entry;
	unsigned n, cap;
};

/* Returns the time for which a call blocked its thread, ns. */
static uint64_t get_blocked_ns(const struct call *c)
{
	if (!(c->bits & CALL_ASYNC))
		return c->dur;
	return c->bits & CALL_WAITED && !(c->bits & CALL_WAIT_SHARED) ? c->wait : 0;
}

/* ---- operations ---- */

/* Rounds down to the largest unit: 5.2 MB is 5 MB. */
static uint64_t get_size_bucket(uint64_t bytes)
{
	uint64_t unit = 1;

	while (bytes / unit >= 1024 && unit < UINT64_C(1) << 40)
		unit <<= 10;
	return bytes / unit * unit;
}

const char *live_format_bucket(uint64_t bucket, char buf[LIVE_BUCKET_MAX])
{
	static const char units[][4] = {"B", "KB", "MB", "GB", "TB"};
	unsigned i = 0;

	while (bucket >= 1024 && i < 4) {
		bucket >>= 10;
		i++;
	}
	snprintf(buf, LIVE_BUCKET_MAX, "%llu-%llu%s", (unsigned long long)bucket,
		(unsigned long long)bucket + 1, units[i]);
	return buf;
}

static struct live_op *find_live_op(struct live_rank *r, const struct call *c)
{
	uint64_t bucket = get_size_bucket(call_get_bytes(c));

	for (unsigned i = 0; i < r->nop; i++) {
		struct live_op *o = &r->op[i];

		if (o->op == c->op && o->lib == c->lib && o->comm == c->comm && o->bucket == bucket)
			return o;
	}
	if (r->nop == OPS_MAX)
		return NULL;
	TOOL_GROW(r->op, r->nop, r->cap_op);
	r->op[r->nop] = (struct live_op){.lib = c->lib,
		.op = c->op,
		.comm = c->comm,
		.size = c->size,
		.bucket = bucket,
		.p2p = (c->bits & CALL_P2P) != 0,
		.sends = c->in_bytes != 0};
	return &r->op[r->nop++];
}

static void update_live_op(struct live_rank *r, const struct call *c)
{
	struct live_op *o = find_live_op(r, c);
	double gbs;

	if (!o)
		return;
	o->n++;
	if (!c->dur || !call_get_bytes(c))
		return;
	gbs = (double)call_get_bytes(c) / (double)c->dur;
	o->timed++;
	o->us += (double)c->dur / 1e3;
	o->log_algorithm += log(gbs);
	o->log_bus += log(gbs * call_get_bus_factor(c));
}

/* ---- collectives that ranks have in common ---- */

static void record_meeting(struct live_calls *a, uint32_t rank, const struct call *c)
{
	struct live_meeting *m = table_get(&a->meetings, c->comm, (uint64_t)c->comm_seq);

	if (!m)
		return;
	if (!m->n || c->start < m->first)
		m->first = c->start;
	if (!m->n || c->start > m->last) {
		m->last = c->start;
		m->last_rank = rank;
	}
	m->n++;
	TOOL_GROW(a->entry, a->n, a->cap);
	a->entry[a->n++] = (struct live_entry){m, c->start, c->start + c->dur, rank};
}

static void check_meetings(struct live *l, const struct live_calls *a)
{
	double *sum = tool_alloc((l->folders.n + 1) * sizeof(*sum));

	/*
	 * A rank that completed before the last one arrived did not wait for it: a collective
	 * without elements, or the sender of a broadcast.
	 */
	for (unsigned i = 0; i < a->n; i++)
		a->entry[i].meeting->held |= a->entry[i].rank != a->entry[i].meeting->last_rank &&
					     a->entry[i].end > a->entry[i].meeting->last;
	for (unsigned i = 0; i < a->n; i++) {
		const struct live_entry *e = &a->entry[i];
		struct live_rank *r = &l->rank[e->rank];

		if (e->meeting->n < 2 || !e->meeting->held)
			continue;
		r->met++;
		r->last += e->meeting->last_rank == e->rank && e->meeting->last > e->meeting->first;
		sum[e->rank] += (double)(e->start - e->meeting->first) / 1e6;
	}
	for (unsigned i = 0; i < l->folders.n; i++)
		if (l->rank[i].met)
			l->rank[i].late_ms = sum[i] / (double)l->rank[i].met;
	free(sum);
}

/*
 * Finds stragglers: ranks that arrive last in more than half of the collectives and cost the others
 * enough (5 % of a step, or 1 ms if steps are not known).
 */
static void find_late_ranks(struct live *l)
{
	for (unsigned i = 0; i < l->folders.n; i++) {
		struct live_rank *r = &l->rank[i];
		double step = 0;

		for (unsigned k = 0; k < r->nms; k++)
			step += r->ms[k] / r->nms;
		r->straggler = r->met >= MET_LEAST && 2 * r->last > r->met &&
			       r->late_ms > (step > 0 ? step / 20 : 1);
	}
}

/* ---- a rank ---- */

/* Times of steps from the first call in each, for jobs that record no scalars. */
struct step_starts {
	uint64_t step, start;
	bool any;
};

static void record_step_start(struct live_rank *r, struct step_starts *s, const struct call *c)
{
	if (s->any && c->step == s->step)
		return;
	if (s->any && c->step == s->step + 1 && c->start > s->start) {
		if (r->nms == LIVE_TIMES)
			memmove(r->ms, r->ms + 1, --r->nms * sizeof(*r->ms));
		r->ms[r->nms++] = (double)(c->start - s->start) / 1e6;
	}
	*s = (struct step_starts){c->step, c->start, true};
}

static void set_last_call(const struct live *l, struct live_rank *r, const struct call *c)
{
	char label[COMM_LABEL_MAX], number[24] = "";

	if (c->comm_seq != NO_NUMBER)
		snprintf(number, sizeof(number), " #%lld", (long long)c->comm_seq);
	r->last_call = tool_format("%s%s on %s", intern_get_name(c->api), number,
		comm_format_label(&l->comms, c->comm, label));
	r->last_end_ns = c->start + c->dur;
	r->last_step = c->step;
	r->stack = c->stack;
}

static void read_calls_of_rank(struct live *l, struct live_calls *a, uint32_t rank)
{
	struct live_rank *r = &l->rank[rank];
	bool timed = r->nms > 0, first = true;
	struct step_starts starts = {0};
	uint64_t begin = 0, end = 0, blocked = 0;
	struct call c, last = {0};
	struct calls s;

	calls_open_tail(&s, r->dir, rank, CALLS_BYTES);
	for (; calls_read_next(&s, &c); first = false) {
		if ((first && s.cut) || c.bits & (CALL_NESTED | CALL_OPEN))
			continue;
		if (!timed)
			record_step_start(r, &starts, &c);
		if (!c.comm)
			continue;
		if (!(c.bits & CALL_ASYNC) && c.start + c.dur >= last.start + last.dur)
			last = c;
		if (!begin || c.start < begin)
			begin = c.start;
		if (c.start + get_blocked_ns(&c) > end)
			end = c.start + get_blocked_ns(&c);
		blocked += get_blocked_ns(&c);
		update_live_op(r, &c);
		if (!(c.bits & (CALL_P2P | CALL_LOCAL)) && c.comm_seq != NO_NUMBER)
			record_meeting(a, rank, &c);
	}
	if (end > begin)
		r->exposed = (double)blocked / (double)(end - begin);
	if (last.start)
		set_last_call(l, r, &last);
	calls_close(&s);
}

void live_read_calls(struct live *l)
{
	struct live_calls a = {0};

	table_init(&a.meetings, sizeof(struct live_meeting), MEETINGS_MAX);
	for (unsigned i = 0; i < l->folders.n; i++)
		read_calls_of_rank(l, &a, i);
	check_meetings(l, &a);
	find_late_ranks(l);
	table_free(&a.meetings);
	free(a.entry);
}
