/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "tools/probe/views/html.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/progress.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/shared_wait.h"

#define COLUMNS_MOST 400u
#define CELLS_MOST 400000u /* ranks times columns; with more ranks a column has more steps */
#define WINDOW_CALLS 12000u /* in one timeline */
#define WINDOW_RANKS 128u
#define SITES_KNOWN 256u
#define STACKS_KNOWN 65536u /* of all ranks together */

struct html_rank {
	bool any;
	uint64_t step, begin, last_end;
	double inside;
	struct shared_waits waits;
};

/* ---- time by rank and step ---- */

static struct html_cell *find_cell(struct html *h, uint32_t rank, uint64_t step)
{
	uint64_t col = step < h->step_lo ? 0 : (step - h->step_lo) / h->per;

	if (col >= h->ncol)
		col = h->ncol - 1;
	return &h->cell[(size_t)rank * h->ncol + col];
}

static void close_html_step(struct html *h, uint32_t rank, uint64_t end)
{
	struct html_rank *k = &h->rank[rank];
	struct html_cell *c;

	if (!k->any)
		return;
	c = find_cell(h, rank, k->step);
	c->dur += end > k->begin ? (float)(end - k->begin) : 0;
	c->inside += (float)k->inside;
	c->n++;
}

static void record_stack_time(struct html *h, const struct call *c, double ns)
{
	struct html_stack *s = table_get(&h->stacks, c->rank, (uint64_t)c->stack << 32 | c->api);

	if (!s) {
		h->stacks_skipped += ns;
		return;
	}
	s->rank = c->rank;
	s->stack = c->stack;
	s->api = c->api;
	s->ns += ns;
	s->calls++;
}

static void record_html_step(struct html *h, const struct walk_call *w)
{
	const struct call *c = &w->call;
	struct html_rank *k = &h->rank[c->rank];

	if (!k->any || c->step != k->step) {
		close_html_step(h, c->rank, w->start);
		k->any = true;
		k->step = c->step;
		k->begin = w->start;
		k->inside = 0;
	}
	if (w->start + c->dur > k->last_end)
		k->last_end = w->start + c->dur;
	if (c->comm && !(c->bits & CALL_NESTED)) {
		double held = (double)add_held_time(&k->waits, c);

		k->inside += held;
		record_stack_time(h, c, held);
	}
}

/* ---- statistics of call sites ---- */

static void record_site(struct html *h, const struct walk_call *w)
{
	const struct call *c = &w->call;
	bool out = w->out.known;
	const struct walk_stats *s = out ? &w->out : &w->in;
	struct html_site *k;
	struct html_point *p;
	uint64_t col;

	if (!s->known || !c->comm)
		return;
	k = table_get(
		&h->sites, c->comm, hash_u64(hash_u64(hash_u64(c->op, c->dtype), c->count), out));
	if (!k)
		return;
	if (!k->calls++) {
		k->api = c->api;
		k->op = c->op;
		k->dtype = c->dtype;
		k->rank = c->rank;
		k->stack = c->stack;
		k->count = c->count;
		k->out = out;
		k->point = tool_alloc(h->ncol * sizeof(*k->point));
	}
	k->bytes += call_get_bytes(c);
	col = (c->step - h->step_lo) / h->per;
	p = &k->point[col < h->ncol ? col : h->ncol - 1];
	if (!p->n) {
		p->min = p->max = NAN;
		p->norm_lo = p->norm_hi = NAN;
	}
	p->n++;
	p->nans += s->nans;
	p->infs += s->infs;
	p->min = fmin(p->min, s->min);
	p->max = fmax(p->max, s->max);
	p->norm_lo = fmin(p->norm_lo, s->norm);
	p->norm_hi = fmax(p->norm_hi, s->norm);
	p->odd |= s->nans || s->infs || !isfinite(s->norm);
	p->norm_sum += s->norm;
	p->mean_sum += s->mean;
}

static int compare_site_calls(const void *x, const void *y)
{
	const struct html_site *a = *(struct html_site *const *)x,
			       *b = *(struct html_site *const *)y;

	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

/* Chooses call sites: those on the findings' communicators, then those with most calls. */
static void find_shown_sites(struct html *h)
{
	struct html_site **all = tool_alloc((h->sites.n + 1) * sizeof(*all));
	unsigned n = 0;

	for (uint32_t i = 0; i < h->sites.n; i++)
		all[i] = table_at(&h->sites, i);
	if (h->sites.n)
		qsort(all, h->sites.n, sizeof(*all), compare_site_calls);
	for (unsigned i = 0; i < h->nwindow; i++)
		for (uint32_t k = 0, of = 0; k < h->sites.n && of < 4 && n < HTML_SITES; k++)
			if (!all[k]->wanted && all[k]->key.a == h->window[i].focus.comm) {
				all[k]->wanted = true;
				n++;
				of++;
			}
	for (uint32_t k = 0; k < h->sites.n && n < HTML_SITES; k++)
		if (!all[k]->wanted) {
			all[k]->wanted = true;
			n++;
		}
	free(all);
}

/* ---- timelines ---- */

static void add_window_row(struct html_window *w, int index)
{
	if (index >= 0 && w->row[index] < 0 && w->nrow < WINDOW_RANKS) {
		w->row[index] = 0;
		w->nrow++;
	}
}

static void set_window_rows(const struct html *h, struct html_window *w)
{
	const struct gather *g = &h->r->g;
	const struct comm_info *c = comms_find(&g->comms, w->focus.comm);
	int n = (int)g->folders.n, at = 0, row = 0;

	w->row = tool_alloc(g->folders.n * sizeof(*w->row));
	for (int i = 0; i < n; i++)
		w->row[i] = -1;
	for (unsigned i = 0; i < w->focus.n; i++)
		add_window_row(w, gather_index(g, w->focus.rank[i]));
	for (int i = n - 1; i >= 0; i--)
		if (!w->row[i])
			at = i;
	for (int peers = 1; peers >= 0; peers--)
		for (int d = 0; d < n && w->nrow < WINDOW_RANKS; d++)
			for (int side = -1; side <= 1; side += 2) {
				int i = at + side * d;

				if (i >= 0 && i < n &&
					(!peers || (c && comm_has(c, g->folders.dir[i].rank))))
					add_window_row(w, i);
			}
	for (int i = 0; i < n; i++)
		if (!w->row[i])
			w->row[i] = row++;
}

static void open_window(struct html *h, unsigned finding, const struct focus *f)
{
	struct html_window *w = &h->window[h->nwindow++];

	*w = (struct html_window){.finding = finding, .focus = *f};
	w->step_lo = f->step ? f->step - 1 : 0;
	w->step_hi = f->step + 1;
	set_window_rows(h, w);
}

static void add_windows(struct html *h)
{
	const struct report *r = h->r;
	struct focus f;

	for (unsigned i = 0; i < r->nfinding && h->nwindow < HTML_WINDOWS; i++) {
		report_get_focus(r, &r->finding[i], &f);
		if (f.known)
			open_window(h, i, &f);
	}
	if (h->nwindow || !r->g.any)
		return;
	f = (struct focus){.step = report_get_last_step(r)};
	f.step -= f.step > 0;
	open_window(h, UINT_MAX, &f);
}

static void record_window(struct html_window *w, const struct walk_call *c)
{
	struct html_call *k;

	if (c->call.step < w->step_lo || c->call.step > w->step_hi || w->row[c->call.rank] < 0)
		return;
	if (w->n == WINDOW_CALLS) {
		w->skipped++;
		/* Until `at_ns` is reached, later calls replace calls far before it. */
		if (!w->focus.at_ns ||
			c->start > w->focus.at_ns + (w->focus.at_ns - w->call[w->head].start))
			return;
		k = &w->call[w->head];
		w->head = (w->head + 1) % WINDOW_CALLS;
	} else {
		TOOL_GROW(w->call, w->n, w->cap);
		k = &w->call[w->n++];
	}
	*k = (struct html_call){c->start, c->call.dur, c->call.rank, c->call.api, c->call.op,
		c->call.stack, c->call.bits, c->call.comm, c->call.step, c->call.seq,
		call_get_bytes(&c->call), c->call.comm_seq, c->call.peer};
}

/* The open calls of a running process are not in its files. */
static void record_open_calls(struct html *h)
{
	const struct opens *o = &h->r->g.opens;

	for (unsigned i = 0; i < o->n; i++) {
		struct walk_call c = {.call = o->call[i].call,
			.start = clock_set_right(
				&h->r->g.skew[o->call[i].call.rank], o->call[i].call.start)};

		if (o->call[i].call.rows)
			continue;
		c.call.bits |= CALL_OPEN;
		c.call.dur = o->call[i].age;
		for (unsigned k = 0; k < h->nwindow; k++)
			record_window(&h->window[k], &c);
	}
}

/* ---- everything ---- */

static void init_columns(struct html *h)
{
	const struct gather *g = &h->r->g;
	uint64_t steps = g->any ? g->last_step - g->first_step + 1 : 1;
	unsigned most = g->folders.n ? CELLS_MOST / g->folders.n : COLUMNS_MOST;

	most = most > COLUMNS_MOST ? COLUMNS_MOST : most < 16 ? 16 : most;
	h->step_lo = g->first_step;
	h->step_hi = g->last_step;
	h->per = (steps + most - 1) / most;
	h->ncol = (unsigned)((steps + h->per - 1) / h->per);
	h->cell = tool_alloc((size_t)(g->folders.n + 1) * h->ncol * sizeof(*h->cell));
	h->rank = tool_alloc((g->folders.n + 1) * sizeof(*h->rank));
	table_init(&h->sites, sizeof(struct html_site), SITES_KNOWN);
	table_init(&h->stacks, sizeof(struct html_stack), STACKS_KNOWN);
}

static void read_step_numbers(struct html *h)
{
	const struct gather *g = &h->r->g;

	step_numbers_begin(&h->numbers, STEP_NUMBERS_MAX);
	for (unsigned i = 0; i < g->folders.n && !gather_stop_signal(); i++)
		step_numbers_add(&h->numbers, g->folders.dir[i].path, &g->rank[i].overlay, i,
			h->step_lo, h->step_hi, h->per);
	step_numbers_list(&h->numbers);
}

void read_html_rows(struct html *h, struct report *r, const struct gather_options *o)
{
	const struct gather *g = &r->g;
	const struct overlay **overlay = tool_alloc((g->folders.n + 1) * sizeof(struct overlay *));
	const struct walk_call *c;
	struct progress bar;
	struct walk w;

	*h = (struct html){.r = r};
	init_columns(h);
	read_step_numbers(h);
	add_windows(h);
	for (unsigned i = 0; i < g->folders.n; i++)
		overlay[i] = &g->rank[i].overlay;
	walk_open(&w, &g->folders, NULL, overlay, g->skew, o->step_lo, o->step_hi);
	progress_start(&bar, o->progress, w.bytes);
	for (uint64_t i = 0; !gather_stop_signal() && (c = walk_next(&w)); i++) {
		struct walk_call open;

		if (c->call.bits & CALL_OPEN) {
			open = *c;
			open.call.dur =
				g->until_ns > c->call.start ? g->until_ns - c->call.start : 0;
			c = &open;
		}
		record_html_step(h, c);
		record_site(h, c);
		for (unsigned k = 0; k < h->nwindow; k++)
			record_window(&h->window[k], c);
		if (i % 4096 == 0 && progress_is_due(&bar))
			progress_print(&bar, walk_done(&w));
	}
	progress_stop(&bar);
	walk_close(&w);
	free(overlay);
	record_open_calls(h);
	for (unsigned i = 0; i < g->folders.n; i++)
		close_html_step(h, i, h->rank[i].last_end);
	find_shown_sites(h);
}

void html_free(struct html *h)
{
	for (unsigned i = 0; i < h->nwindow; i++) {
		free(h->window[i].focus.rank);
		free(h->window[i].row);
		free(h->window[i].call);
	}
	for (uint32_t i = 0; i < h->sites.n; i++)
		free(((struct html_site *)table_at(&h->sites, i))->point);
	table_free(&h->sites);
	table_free(&h->stacks);
	step_numbers_free(&h->numbers);
	free(h->cell);
	free(h->rank);
}
