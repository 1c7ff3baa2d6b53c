/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `probe report`: operations, the slowest calls, ranks that arrive last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/probe/rules/report.h"
#include "tools/lib/tool.h"
#include "tools/probe/views/op_lines.h"

/* ---- operations ---- */

static void print_op_line(const struct report *r, struct out_table *t, const struct op_line *l)
{
	const struct op_stat *s = &l->sum;
	char *comm = format_op_line_comm(r, l);
	const struct hist *h = &s->dur;

	out_add_cell(t, *intern_get_name(s->op) ? intern_get_name(s->op) : "(other)");
	out_add_cell(t, intern_get_name(s->api));
	out_add_cell(t, comm);
	out_add_cell(t, out_format_count(s->calls));
	out_add_cell(t, s->bytes ? out_format_bytes((double)s->bytes) : "");
	out_add_cell(t, h->n ? out_format_duration(h->sum) : "");
	out_add_cell(t, h->n ? out_format_duration((double)hist_quantile(h, 0.5)) : "");
	out_add_cell(t, h->n ? out_format_duration((double)hist_quantile(h, 0.99)) : "");
	out_add_cell(t, h->n ? out_format_duration((double)h->max) : "");
	out_add_cell(t, out_format_rate((double)s->bytes, h->sum));
	out_add_cell(t, r->g.life_ns > 0 && ops_blocked_known(s)
				? out_format_percent(s->blocked_ns / r->g.life_ns)
				: "");
	out_add_cell(t, s->waited ? out_format_duration(s->wait_ns) : "");
	free(comm);
}

/* Measured by the device's clock. Bandwidth is defined as by nccl-tests. */
static void print_device_times(const struct report *r, struct op_line *const *list, uint32_t n)
{
	static const char *const head[] = {"operation", "function", "communicator", "calls", "time",
		"mean", "algorithm", "bus"};
	struct out_table t;
	unsigned known = 0;

	for (uint32_t i = 0; i < n; i++)
		known += list[i]->sum.on_device != 0;
	if (!known)
		return;
	out_print_heading(
		"On the device (by its clock, all ranks together; bandwidth as nccl-tests "
		"define it)");
	out_start_table(&t, 8, head, "lllrrrrr");
	for (uint32_t i = 0; i < n && i < r->top; i++) {
		const struct op_stat *s = &list[i]->sum;
		char *comm;

		if (!s->on_device)
			continue;
		comm = format_op_line_comm(r, list[i]);
		out_add_cell(&t, *intern_get_name(s->op) ? intern_get_name(s->op) : "(other)");
		out_add_cell(&t, intern_get_name(s->api));
		out_add_cell(&t, comm);
		out_add_cell(&t, out_format_count(s->on_device));
		out_add_cell(&t, out_format_duration(s->device_ns));
		out_add_cell(&t, out_format_duration(s->device_ns / (double)s->on_device));
		out_add_cell(&t, out_format_rate(s->device_bytes, s->device_ns));
		out_add_cell(&t, out_format_rate(s->bus_bytes, s->device_ns));
		free(comm);
	}
	out_print_table(&t);
}

static void print_operations(const struct report *r)
{
	static const char *const head[] = {"operation", "function", "communicator", "calls",
		"bytes", "time", "median", "p99", "max", "rate", "of the run", "in Wait"};
	struct op_lines lines;
	struct out_table t;

	if (!r->g.calls || !r->top)
		return;
	init_op_lines(&lines, r);
	out_print_heading("Operations (all ranks together, by time)");
	out_start_table(&t, 12, head, "lllrrrrrrrrr");
	for (uint32_t i = 0; i < lines.n && i < r->top; i++)
		print_op_line(r, &t, lines.line[i]);
	out_print_table(&t);
	if (lines.n > r->top)
		printf("  and %u more (--top)\n", lines.n - r->top);
	print_device_times(r, lines.line, lines.n);
	free_op_lines(&lines);
}

/* ---- the slowest ---- */

/* Returns one frame, the program's own. */
static char *format_call_frame(struct report *r, const struct call *c)
{
	char *brief = stack_brief(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), 1);
	char *end = strstr(brief, " <- ");

	/* The other frames are in the complete stacks (--stacks). */
	if (end)
		*end = 0;
	else if ((end = strstr(brief, ", through ")))
		*end = 0;
	return brief;
}

static void print_slowest_calls(struct report *r)
{
	static const char *const head[] = {"time", "step", "call", "bytes", "waited longest",
		"came last", "after", "called from"};
	struct out_table t;

	if (!r->g.slow.n)
		return;
	out_print_heading("Slowest calls");
	out_start_table(&t, 8, head, "rrlrllrl");
	for (unsigned i = 0; i < r->g.slow.n; i++) {
		const struct slow_call *s = &r->g.slow.top[i];
		char *what = report_call(r, &s->call), step[24];
		char *from = format_call_frame(r, &s->call);

		snprintf(step, sizeof(step), "%llu", (unsigned long long)s->call.step);
		out_add_cell(&t, out_format_duration((double)s->call.dur));
		out_add_cell(&t, step);
		out_add_cell(&t, what);
		out_add_cell(&t, call_get_bytes(&s->call)
					 ? out_format_bytes((double)call_get_bytes(&s->call))
					 : "");
		out_add_cell(&t, report_rank(r, s->call.rank));
		out_add_cell(&t, s->lag ? report_rank(r, s->last_rank) : "");
		out_add_cell(&t, s->lag ? out_format_duration((double)s->lag) : "");
		out_add_cell(&t, from);
		free(what);
		free(from);
	}
	out_print_table(&t);
	if (!r->with_stacks)
		return;
	for (unsigned i = 0; i < r->g.slow.n; i++) {
		const struct call *c = &r->g.slow.top[i].call;
		char *what = report_call(r, c);
		bool again = false;

		for (unsigned k = 0; k < i && !again; k++)
			again = r->g.slow.top[k].call.rank == c->rank &&
				r->g.slow.top[k].call.stack == c->stack;
		if (!again && c->stack) {
			printf("  %s, %s:\n", report_rank(r, c->rank), what);
			report_stack(r, c->rank, c->stack, 4);
		}
		free(what);
	}
}

/* ---- ranks that arrive last ---- */

static int compare_waits(const void *x, const void *y)
{
	const struct late_comm *a = *(const struct late_comm *const *)x,
			       *b = *(const struct late_comm *const *)y;

	if (a->wait_ns != b->wait_ns)
		return a->wait_ns > b->wait_ns ? -1 : 1;
	return a->key.a < b->key.a ? -1 : a->key.a > b->key.a;
}

static void print_late_line(const struct report *r, struct out_table *t, const struct late_comm *c)
{
	struct straggler s = report_straggler(r, c);
	char label[COMM_LABEL_MAX];

	out_add_cell(t, comm_format_label(&r->g.comms, c->key.a, label));
	out_add_cell(t, out_format_count(c->held));
	out_add_cell(t, s.who ? report_rank(r, (uint32_t)s.who->key.b) : "-");
	out_add_cell(t, s.who ? out_format_percent(s.share) : "");
	out_add_cell(t, s.who ? out_format_duration((double)hist_quantile(&s.who->lag, 0.5)) : "");
	out_add_cell(t, s.who ? out_format_duration((double)s.who->lag.max) : "");
	out_add_cell(t, out_format_duration((double)hist_quantile(&c->lag, 0.5)));
	out_add_cell(t, out_format_duration((double)hist_quantile(&c->spread, 0.5)));
	out_add_cell(t, out_format_percent(s.cost));
}

static void print_latest_ranks(const struct report *r)
{
	static const char *const head[] = {"communicator", "operations", "latest", "last in",
		"behind", "at most", "any last rank", "times differ by", "waiting"};
	const struct table *all = &r->g.late.comms;
	const struct late_comm **list = tool_alloc((all->n + 1) * sizeof(*list));
	unsigned n = 0;
	uint64_t incomplete = 0;
	struct out_table t;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct late_comm *c = table_at(all, i);

		incomplete += c->incomplete;
		if (c->held)
			list[n++] = c;
	}
	if (n && r->top) {
		qsort(list, n, sizeof(*list), compare_waits);
		out_print_heading(
			"Latest ranks (medians; behind: after the middle rank; waiting: share of "
			"the run)");
		out_start_table(&t, 9, head, "lrlrrrrrr");
		for (unsigned i = 0; i < n && i < r->top; i++)
			print_late_line(r, &t, list[i]);
		out_print_table(&t);
		if (n > r->top)
			printf("  and %s (--top)\n",
				out_format_plural(
					n - r->top, "more communicator", "more communicators"));
		if (incomplete)
			printf("  %s not seen on all ranks\n",
				out_format_plural(incomplete, "operation was", "operations were"));
	}
	free(list);
}

void print_report_tables(struct report *r)
{
	print_operations(r);
	print_slowest_calls(r);
	print_latest_ranks(r);
}
