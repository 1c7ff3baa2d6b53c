/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the page about operations: their table, the slowest calls, and the time in calls by
 * stack.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/views/op_lines.h"
#include "tools/probe/views/page_json.h"

#define LINES_MOST 200u
#define PLACES_READ 4000u /* maximum number of stacks that are read: those with the most time */
#define PLACES_SHOWN 400u

void write_page_operations(struct report *r, struct target *t)
{
	struct op_lines lines;

	init_op_lines(&lines, r);
	write_page_u64(t, "operations_skipped", lines.n > LINES_MOST ? lines.n - LINES_MOST : 0);
	write_page_key(t, "operations");
	target_write_text(t, "[");
	for (uint32_t i = 0; i < lines.n && i < LINES_MOST; i++) {
		const struct op_line *l = lines.line[i];
		const struct op_stat *s = &l->sum;
		char *comm = format_op_line_comm(r, l);

		write_page_separator(t, i);
		target_print(t, "{\"calls\":%llu", (unsigned long long)s->calls);
		write_page_string(
			t, "op", *intern_get_name(s->op) ? intern_get_name(s->op) : "(other)");
		write_page_string(t, "api", intern_get_name(s->api));
		write_page_string(t, "comm", comm);
		write_page_u64(t, "bytes", s->bytes);
		/* The time is known only if a call has completed. */
		if (s->dur.n) {
			write_page_key(t, "ns");
			target_print(t, "%.0f", s->dur.sum);
			write_page_u64(t, "median", hist_quantile(&s->dur, 0.5));
			write_page_u64(t, "p99", hist_quantile(&s->dur, 0.99));
			write_page_u64(t, "max", s->dur.max);
		}
		if (r->g.life_ns > 0 && ops_blocked_known(s)) {
			write_page_key(t, "share");
			target_print(t, "%.5g", s->blocked_ns / r->g.life_ns);
		}
		target_write_text(t, "}");
		free(comm);
	}
	target_write_text(t, "]");
	free_op_lines(&lines);
}

void write_page_slowest(struct report *r, struct target *t)
{
	write_page_key(t, "slowest");
	target_write_text(t, "[");
	for (unsigned i = 0; i < r->g.slow.n; i++) {
		const struct slow_call *s = &r->g.slow.top[i];
		char *what = report_call(r, &s->call);
		char *stack = stack_brief(&r->stacks,
			stacks_get(&r->stacks, s->call.rank, s->call.stack), STACK_PAGE_FRAMES);

		write_page_separator(t, i);
		target_print(t, "{\"ns\":%llu", (unsigned long long)s->call.dur);
		write_page_u64(t, "step", s->call.step);
		write_page_string(t, "call", what);
		write_page_u64(t, "bytes", call_get_bytes(&s->call));
		write_page_string(t, "waited", report_rank(r, s->call.rank));
		write_page_string(t, "last", s->lag ? report_rank(r, s->last_rank) : "");
		write_page_u64(t, "after", s->lag);
		write_page_string(t, "stack", stack);
		target_write_text(t, "}");
		free(what);
		free(stack);
	}
	target_write_text(t, "]");
}

/* ---- time by stack ---- */

/* A call site with one function: ranks that make the call from the same lines share it. */
struct place {
	struct table_key key; /* a: hash of the stack's text; b: function */
	char *text;
	uint32_t api;
	double ns;
	uint64_t calls;
	unsigned ranks;
};

static int compare_stack_times(const void *x, const void *y)
{
	const struct html_stack *a = *(const struct html_stack *const *)x,
				*b = *(const struct html_stack *const *)y;

	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

static int compare_place_times(const void *x, const void *y)
{
	const struct place *a = *(const struct place *const *)x,
			   *b = *(const struct place *const *)y;

	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

static void add_stack_time(struct table *places, struct report *r, const struct html_stack *s)
{
	char *text = stack_brief(
		&r->stacks, stacks_get(&r->stacks, s->rank, s->stack), STACK_PAGE_FRAMES);
	struct place *p = table_get(places, hash_str(0, text), s->api);

	/* The table has space for as many stacks as are read. */
	if (!p) {
		free(text);
		return;
	}
	if (p->text)
		free(text);
	else
		p->text = text;
	p->api = s->api;
	p->ns += s->ns;
	p->calls += s->calls;
	p->ranks++;
}

void write_page_flame(const struct html *h, struct target *t)
{
	const struct html_stack **stack = tool_alloc((h->stacks.n + 1) * sizeof(*stack));
	double skipped = h->stacks_skipped;
	struct table places;
	struct place **place;

	table_init(&places, sizeof(struct place), PLACES_READ);
	for (uint32_t i = 0; i < h->stacks.n; i++)
		stack[i] = table_at(&h->stacks, i);
	qsort(stack, h->stacks.n, sizeof(*stack), compare_stack_times);
	for (uint32_t i = 0; i < h->stacks.n; i++)
		if (i < PLACES_READ)
			add_stack_time(&places, h->r, stack[i]);
		else
			skipped += stack[i]->ns;
	place = tool_alloc((places.n + 1) * sizeof(*place));
	for (uint32_t i = 0; i < places.n; i++)
		place[i] = table_at(&places, i);
	qsort(place, places.n, sizeof(*place), compare_place_times);

	write_page_key(t, "flame");
	target_write_text(t, "[");
	for (uint32_t i = 0; i < places.n; i++) {
		if (i < PLACES_SHOWN) {
			write_page_separator(t, i);
			target_print(t, "{\"ns\":%.0f", place[i]->ns);
			write_page_string(t, "api", intern_get_name(place[i]->api));
			write_page_string(t, "stack", place[i]->text);
			write_page_u64(t, "calls", place[i]->calls);
			write_page_u64(t, "ranks", place[i]->ranks);
			target_write_text(t, "}");
		} else {
			skipped += place[i]->ns;
		}
		free(place[i]->text);
	}
	target_write_text(t, "]");
	write_page_u64(t, "flame_skipped", (uint64_t)skipped);
	table_free(&places);
	free(place);
	free(stack);
}
