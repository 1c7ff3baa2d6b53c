/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/join/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"

#define AHEAD_ALL 131072u /* maximum number of calls read ahead, for all ranks together */
#define AHEAD_MAX 4096u
#define AHEAD_MIN 16u
#define BUFFER_ALL (64u << 20)
#define BUFFER_MOST (1u << 18)
#define BUFFER_LEAST (1u << 14)

struct walk_reader {
	struct calls calls;
	struct walk_call *
		*ahead; /* a heap, the earliest first; unused elements follow its n elements */
	unsigned n, made, cap;
	struct walk_call row; /* data from the rows of the call that is being read */
	struct clock_fix clock;
};

static double number_or_nan(const struct csv_text *t)
{
	double v;

	return csv_parse_double(t, &v) ? v : NAN;
}

static void take_stats(struct walk_stats *s, const struct calls *c)
{
	s->min = number_or_nan(calls_get_column(c, COL_min));
	s->max = number_or_nan(calls_get_column(c, COL_max));
	s->mean = number_or_nan(calls_get_column(c, COL_mean));
	s->norm = number_or_nan(calls_get_column(c, COL_norm));
	if (!csv_parse_u64(calls_get_column(c, COL_nans), &s->nans))
		s->nans = 0;
	if (!csv_parse_u64(calls_get_column(c, COL_infs), &s->infs))
		s->infs = 0;
	s->known = calls_get_column(c, COL_norm)->n || calls_get_column(c, COL_min)->n;
}

static void take_row(void *arg, struct calls *s, const struct call *c)
{
	struct walk_reader *r = arg;
	struct walk_call *w = &r->row;
	const struct csv_text *io = calls_get_column(s, COL_io), *t;
	uint64_t count = 0;
	uint32_t dtype;

	if (c->rows == 1) {
		*w = (struct walk_call){
			.source = NO_NUMBER, .source_seq = NO_NUMBER, .source_tag = NO_NUMBER};
		t = calls_get_column(s, COL_phase);
		w->phase = intern_add_text(t->s, t->n);
		t = calls_get_column(s, COL_shape);
		if (t->n && t->n < sizeof(w->shape)) {
			memcpy(w->shape, t->s, t->n);
			w->has_shape = true;
		}
	}
	if (!io->n)
		return;
	csv_parse_u64(calls_get_column(s, COL_count), &count);
	t = calls_get_column(s, COL_dtype);
	dtype = intern_add_text(t->s, t->n);
	if (io->s[0] == 'i') {
		if (!w->in_rows++) {
			w->in_dtype = dtype;
			take_stats(&w->in, s);
		}
		w->in_count += count;
		return;
	}
	if (!w->out_rows++) {
		int64_t v;

		w->out_dtype = dtype;
		take_stats(&w->out, s);
		/* The `in` row contains the destination. A call that sends nothing has none. */
		if (c->bits & CALL_P2P && strcmp(intern_get_name(c->op), "send_recv") == 0) {
			if (csv_parse_i64(calls_get_column(s, COL_peer), &v))
				w->source = v;
			if (csv_parse_i64(calls_get_column(s, COL_comm_seq), &v))
				w->source_seq = v;
			if (csv_parse_i64(calls_get_column(s, COL_tag), &v))
				w->source_tag = v;
		}
	}
	w->out_count += count;
}

/* ---- calls read ahead of one rank ---- */

/* If calls began at the same time, the call that was entered first comes first. */
static bool begins_before(const struct walk_call *a, const struct walk_call *b)
{
	return a->start != b->start ? a->start < b->start : a->call.seq < b->call.seq;
}

static void push_ahead(struct walk_reader *r, const struct walk_call *c)
{
	struct walk_call *own;
	unsigned i = r->n++;

	if (r->n > r->made) {
		TOOL_GROW(r->ahead, r->made, r->cap);
		r->ahead[r->made++] = tool_realloc(NULL, sizeof(*own));
	}
	own = r->ahead[i];
	*own = *c;
	for (; i && begins_before(c, r->ahead[(i - 1) / 2]); i = (i - 1) / 2)
		r->ahead[i] = r->ahead[(i - 1) / 2];
	r->ahead[i] = own;
}

static void pop_ahead(struct walk_reader *r)
{
	struct walk_call *first = r->ahead[0], *last = r->ahead[--r->n];
	unsigned i = 0;

	for (;;) {
		unsigned k = 2 * i + 1;

		if (k + 1 < r->n && begins_before(r->ahead[k + 1], r->ahead[k]))
			k++;
		if (k >= r->n || !begins_before(r->ahead[k], last))
			break;
		r->ahead[i] = r->ahead[k];
		i = k;
	}
	r->ahead[i] = last;
	r->ahead[r->n] = first;
}

static void read_ahead(struct walk_reader *r, unsigned ahead)
{
	struct call c;

	while (r->n < ahead && calls_read_next(&r->calls, &c)) {
		r->row.call = c;
		r->row.start = clock_set_right(&r->clock, c.start);
		push_ahead(r, &r->row);
	}
}

/* ---- all ranks ---- */

static void sift_walk(struct walk *w, unsigned i)
{
	for (;;) {
		unsigned least = i;

		for (unsigned k = 2 * i + 1; k <= 2 * i + 2; k++)
			if (k < w->nheap &&
				w->heap[k]->ahead[0]->start < w->heap[least]->ahead[0]->start)
				least = k;
		if (least == i)
			return;

		struct walk_reader *t = w->heap[i];

		w->heap[i] = w->heap[least];
		w->heap[least] = t;
		i = least;
	}
}

/* row: a function that gets the rows, or NULL. */
static void open_walk(struct walk *w, const struct folders *f, const bool *want,
	const struct overlay *const *overlay, const struct clock_fix *skew, uint64_t step_lo,
	uint64_t step_hi, calls_row_fn *row)
{
	unsigned n = 0;
	bool keep_open;
	size_t buffer;

	*w = (struct walk){0};
	for (unsigned i = 0; i < f->n; i++)
		n += !want || want[i];
	buffer = BUFFER_ALL / (n ? n : 1);
	buffer = buffer > BUFFER_MOST ? BUFFER_MOST : buffer < BUFFER_LEAST ? BUFFER_LEAST : buffer;
	keep_open = n <= source_get_open_limit();
	w->ahead = AHEAD_ALL / (n ? n : 1);
	w->ahead = w->ahead > AHEAD_MAX ? AHEAD_MAX : w->ahead < AHEAD_MIN ? AHEAD_MIN : w->ahead;
	w->reader = tool_alloc((n + 1) * sizeof(*w->reader));
	w->heap = tool_alloc((n + 1) * sizeof(struct walk_reader *));
	for (unsigned i = 0; i < f->n; i++) {
		struct walk_reader *r = &w->reader[w->nreader];

		if (want && !want[i])
			continue;
		w->nreader++;
		calls_open(&r->calls, &f->dir[i], i, overlay ? overlay[i] : NULL);
		r->calls.step_lo = step_lo;
		r->calls.step_hi = step_hi;
		r->calls.keep_open = keep_open;
		r->calls.buffer = buffer;
		r->calls.row = row;
		r->calls.row_arg = r;
		if (skew)
			r->clock = skew[i];
		w->bytes += calls_get_bytes(&r->calls);
		read_ahead(r, w->ahead);
		if (r->n)
			w->heap[w->nheap++] = r;
	}
	for (unsigned i = w->nheap; i-- > 0;)
		sift_walk(w, i);
}

void walk_open(struct walk *w, const struct folders *f, const bool *want,
	const struct overlay *const *overlay, const struct clock_fix *skew, uint64_t step_lo,
	uint64_t step_hi)
{
	open_walk(w, f, want, overlay, skew, step_lo, step_hi, take_row);
}

void walk_calls_of_rank(struct walk *w, const struct rank_dir *d, const struct overlay *o)
{
	struct folders one = {.dir = (struct rank_dir *)d, .n = 1};

	open_walk(w, &one, NULL, o ? &o : NULL, NULL, 0, UINT64_MAX, NULL);
}

void walk_close(struct walk *w)
{
	for (unsigned i = 0; i < w->nreader; i++) {
		calls_close(&w->reader[i].calls);
		for (unsigned k = 0; k < w->reader[i].made; k++)
			free(w->reader[i].ahead[k]);
		free(w->reader[i].ahead);
	}
	free(w->reader);
	free(w->heap);
	*w = (struct walk){0};
}

const struct walk_call *walk_next(struct walk *w)
{
	struct walk_reader *r;

	if (!w->nheap)
		return NULL;
	r = w->heap[0];
	w->now = *r->ahead[0];
	pop_ahead(r);
	read_ahead(r, w->ahead);
	if (!r->n)
		w->heap[0] = w->heap[--w->nheap];
	sift_walk(w, 0);
	return &w->now;
}

uint64_t walk_done(const struct walk *w)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < w->nreader; i++)
		sum += calls_get_bytes_read(&w->reader[i].calls);
	return sum;
}
