/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/top/frame.h"
#include "tools/probe/live/live_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"

#define OPEN_NS UINT64_C(5000000000) /* ns; a call that has blocked a rank for this long is shown */
#define ALERTS_SHOWN 8
#define FAULTS_SHOWN 4
#define HEAD_LINES 7
#define STACK_LINES 12

static void print_job_line(const struct live *l)
{
	unsigned count[RANK_STATES] = {0};
	const char *sep = "";

	for (unsigned i = 0; i < l->folders.n; i++)
		count[l->folders.dir[i].state]++;
	printf("%s%s%s  step %s  %s  ", out_get_style(STYLE_HEAD), l->folders.path, out_get_plain(),
		out_format_count(l->step), out_format_date(l->now));
	for (unsigned i = 0; i < RANK_STATES; i++)
		if (count[i]) {
			printf("%s%s %s", sep, out_format_plural(count[i], "rank", "ranks"),
				rank_state_get_name((enum rank_state)i));
			sep = ", ";
		}
	putchar('\n');
}

/* Prints the first line of the report, what was checked (if `detail`), and the first faults. */
static void print_live_verdict(const struct live_verdict *v, unsigned most, bool detail)
{
	if (!v || !v->known)
		return;
	printf("%s", v->verdict.faults ? out_get_style(STYLE_BAD) : out_get_style(STYLE_HEAD));
	out_print_clean(v->text);
	printf("%s\n", out_get_plain());
	for (unsigned i = 0; i < v->n && i < most; i++) {
		printf("  %s  ", v->fault[i].kind);
		if (*v->fault[i].ranks)
			printf("%s%s %s named%s: ", out_get_style(STYLE_BAD),
				strpbrk(v->fault[i].ranks, ",-") ? "ranks" : "rank",
				v->fault[i].ranks, out_get_plain());
		out_print_clean(v->fault[i].line);
		putchar('\n');
	}
	if (v->n > most)
		printf("  %sand more: probe report%s\n", out_get_style(STYLE_FAINT),
			out_get_plain());
	for (const char *line = v->detail; detail && *line; line += strcspn(line, "\n") + 1) {
		char *one = tool_strndup(line, strcspn(line, "\n"));

		fputs("  ", stdout);
		out_print_wrapped(one, 2, 4);
		free(one);
	}
}

/* Prints scalars of the job in a line: "loss 2.31   grad-norm 0.84". */
static void print_numbers_line(const struct live *l)
{
	static const uint8_t shown[] = {SCALAR_LOSS, SCALAR_GRAD_NORM, SCALAR_LEARNING_RATE,
		SCALAR_LOSS_SCALE, SCALAR_BATCH_SIZE, SCALAR_WEIGHT_NORM, SCALAR_DEVICE_LOCAL_NORM};
	bool any = false;

	for (unsigned i = 0; i < sizeof(shown); i++) {
		const struct live_number *n = live_get_job_number(l, (enum scalar)shown[i]);

		if (!n)
			continue;
		printf("%s%s %s%.6g%s", any ? "   " : "", scalar_names[shown[i]],
			!isfinite(n->value) ? out_get_style(STYLE_BAD) : "", n->value,
			out_get_plain());
		any = true;
	}
	if (any)
		putchar('\n');
}

static double compute_mean_over_ranks(const struct live *l, size_t offset)
{
	double sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < l->folders.n; i++) {
		double v;

		memcpy(&v, (const char *)&l->rank[i] + offset, sizeof(v));
		if (!isnan(v)) {
			sum += v;
			n++;
		}
	}
	return n ? sum / n : (double)NAN;
}

static void print_speed_line(const struct live *l)
{
	double ms = compute_mean_over_ranks(l, offsetof(struct live_rank, mean_ms));
	double exposed = compute_mean_over_ranks(l, offsetof(struct live_rank, exposed));
	const struct live_number *rate = live_get_job_number(l, SCALAR_THROUGHPUT);
	const struct live_number *flops = live_get_job_number(l, SCALAR_MODEL_FLOPS);
	const char *sep = "";

	if (!isnan(ms)) {
		printf("%s a step (mean of the latest)", out_format_duration(ms * 1e6));
		sep = "   ";
	}
	if (!isnan(exposed)) {
		printf("%sexposed communication %s%s%s", sep,
			exposed > 0.3 ? out_get_style(STYLE_WARN) : "", out_format_percent(exposed),
			out_get_plain());
		sep = "   ";
	}
	if (rate) {
		printf("%s%.4g samples/s a card", sep, rate->value);
		sep = "   ";
	}
	if (flops)
		printf("%s%.4g TFLOP/s a card", sep, flops->value);
	if (*sep || rate || flops)
		putchar('\n');
}

/* ---- times of steps ---- */

static bool is_terminal_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *v = NULL;

	for (unsigned i = 0; i < 3 && (!v || !*v); i++)
		v = getenv(names[i]);
	return v && (strcasestr(v, "utf-8") || strcasestr(v, "utf8"));
}

/*
 * Prints the times of the latest steps (means over the ranks), each as a bar. The scale begins at
 * half of the longest time.
 */
static void print_step_times(const struct live *l)
{
	static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char letters[] = "_.-=+*%#";
	double mean[LIVE_TIMES] = {0}, most = 0, least = INFINITY;
	unsigned ranks[LIVE_TIMES] = {0}, n = 0;
	bool utf8 = is_terminal_utf8();

	for (unsigned i = 0; i < l->folders.n; i++)
		for (unsigned k = 0; k < l->rank[i].nms; k++) {
			/* Index: distance from the latest step. */
			unsigned at = l->rank[i].nms - 1 - k;

			mean[at] += l->rank[i].ms[k];
			ranks[at]++;
			n = at + 1 > n ? at + 1 : n;
		}
	if (n < 2)
		return;
	for (unsigned i = 0; i < n; i++) {
		mean[i] /= ranks[i];
		most = fmax(most, mean[i]);
		least = fmin(least, mean[i]);
	}
	least = fmin(least, most / 2);
	fputs("steps ", stdout);
	for (unsigned i = n; i-- > 0;) {
		double part = most > least ? (mean[i] - least) / (most - least) : 0;
		unsigned bar = (unsigned)(part * 7 + 0.5);

		if (utf8)
			fputs(bars[bar], stdout);
		else
			putchar(letters[bar]);
	}
	printf(" %s%s to", out_get_style(STYLE_FAINT), out_format_duration(least * 1e6));
	printf(" %s%s\n", out_format_duration(most * 1e6), out_get_plain());
}

/* ---- ranks ---- */

static bool is_trouble(const struct live_rank *r)
{
	return r->straggler || r->open_ns >= OPEN_NS || r->dir->state == RANK_KILLED;
}

static bool is_rank_named(const struct live *l, const struct live_rank *r)
{
	const struct live_verdict *v = l->verdict;

	for (unsigned i = 0; v && i < v->n; i++)
		for (unsigned k = 0; k < v->fault[i].nrank; k++)
			if (v->fault[i].rank[k] == r->rank)
				return true;
	return false;
}

static bool is_any_blocked(const struct live *l)
{
	for (unsigned i = 0; i < l->folders.n; i++)
		if (l->rank[i].open_ns >= OPEN_NS)
			return true;
	return false;
}

static double get_nonfinite_number(const struct live *l, const struct live_rank *r)
{
	uint64_t n = get_nonfinite_of_rank(l->verdict, r->rank);

	return n == UINT64_MAX ? 0 : (double)n;
}

/* Ranks with larger results come first. */
static double compute_order_number(
	const struct live *l, const struct live_rank *r, enum frame_order order)
{
	switch (order) {
	case ORDER_STEP:
		return -(double)r->step;
	case ORDER_TIME:
		return isnan(r->mean_ms) ? -INFINITY : r->mean_ms;
	case ORDER_LATE:
		return isnan(r->late_ms) ? -INFINITY : r->late_ms;
	case ORDER_NONFINITE:
		return get_nonfinite_number(l, r);
	case ORDER_TROUBLE:
		return is_rank_named(l, r) ? 2 : is_trouble(r);
	default:
		return 0;
	}
}

struct ordered_rank {
	const struct live_rank *rank;
	double number;
};

static int compare_ordered_ranks(const void *x, const void *y)
{
	const struct ordered_rank *a = x, *b = y;

	if (a->number != b->number)
		return a->number > b->number ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* malloc'd */
static struct ordered_rank *get_ordered_ranks(const struct live *l, enum frame_order order)
{
	struct ordered_rank *sorted = tool_alloc((l->folders.n + 1) * sizeof(*sorted));

	for (unsigned i = 0; i < l->folders.n; i++)
		sorted[i] = (struct ordered_rank){
			&l->rank[i], compute_order_number(l, &l->rank[i], order)};
	if (l->folders.n)
		qsort(sorted, l->folders.n, sizeof(*sorted), compare_ordered_ranks);
	return sorted;
}

int find_frame_neighbour(const struct live *l, const struct frame_view *view, int distance)
{
	struct ordered_rank *sorted = get_ordered_ranks(l, view->order);
	int n = (int)l->folders.n, at = -1, rank = view->rank;

	for (int i = 0; i < n && view->selects; i++)
		if (sorted[i].rank->rank == view->rank)
			at = i;
	at = at < 0 ? 0 : at + distance < 0 ? 0 : at + distance >= n ? n - 1 : at + distance;
	if (n)
		rank = sorted[at].rank->rank;
	free(sorted);
	return rank;
}

static void add_number_cell(struct out_table *t, const struct live_number *n)
{
	char text[32] = "";

	if (n)
		snprintf(text, sizeof(text), "%.5g", n->value);
	out_add_cell(t, text);
}

static void add_rank_cells(struct out_table *t, const struct live *l, const struct live_rank *r,
	const struct frame_view *view, bool blocked)
{
	static const uint8_t numbers[] = {
		SCALAR_LOSS, SCALAR_GRAD_NORM, SCALAR_DATA_TIME, SCALAR_COMM_TIME};
	char text[256], number[24] = "?";

	if (r->rank >= 0)
		snprintf(number, sizeof(number), "%s%d",
			view->selects && view->rank == r->rank ? "> " : "", r->rank);
	out_add_cell(t, number);
	out_add_cell(t, r->dir->meta.owner.host);
	out_add_cell(t, rank_state_get_key(r->dir->state));
	out_add_cell(t, out_format_count(r->step));
	out_add_cell(t, isnan(r->mean_ms) ? "" : out_format_duration(r->mean_ms * 1e6));
	out_add_cell(t, isnan(r->exposed) ? "" : out_format_percent(r->exposed));
	for (unsigned i = 0; i < sizeof(numbers); i++) {
		const struct live_number *n = live_get_number(r, (enum scalar)numbers[i]);

		if (i < 2)
			add_number_cell(t, n);
		else
			out_add_cell(t, n ? out_format_duration(n->value * 1e6) : "");
	}
	out_add_cell(t, isnan(r->late_ms) ? "" : out_format_duration(r->late_ms * 1e6));
	text[0] = 0;
	if (get_nonfinite_number(l, r) > 0)
		snprintf(text, sizeof(text), "%s",
			out_format_count((uint64_t)get_nonfinite_number(l, r)));
	out_add_cell(t, text);
	text[0] = 0;
	if (r->alerts)
		snprintf(text, sizeof(text), "%s", out_format_count(r->alerts));
	out_add_cell(t, text);
	text[0] = 0;
	if (r->open_ns >= OPEN_NS)
		snprintf(text, sizeof(text), "in %.180s for %s", r->open,
			out_format_duration((double)r->open_ns));
	else if (r->straggler)
		snprintf(text, sizeof(text),
			"the others wait for it: it arrived last in %llu of %llu collectives",
			(unsigned long long)r->last, (unsigned long long)r->met);
	else if (r->dir->state == RANK_UNSEEN && r->dir->alive_ns &&
		 r->dir->alive_ns + 60000000000u < l->now)
		snprintf(text, sizeof(text), "silent for %s",
			out_format_duration((double)(l->now - r->dir->alive_ns)));
	else if (blocked && r->last_call && r->last_end_ns < l->now)
		snprintf(text, sizeof(text), "%s: last call %.160s, %s ago",
			is_rank_named(l, r) ? "in no call, and the others wait for it"
					    : "in no call",
			r->last_call, out_format_duration((double)(l->now - r->last_end_ns)));
	out_add_cell(t, text);
}

/* Prints at most `most` lines (0: all): those around the selected rank, or else the first ones. */
static void print_ranks(const struct live *l, unsigned most, const struct frame_view *view)
{
	static const char *const head[] = {"rank", "host", "state", "step", "time", "exposed",
		"loss", "grad-norm", "data", "comm", "late", "NaN, Inf", "alerts", ""};
	unsigned n = l->folders.n, first = 0;
	bool part = most && n > most, blocked = is_any_blocked(l);
	struct ordered_rank *sorted = get_ordered_ranks(
		l, view->order == ORDER_TROUBLE && !part ? ORDER_RANK : view->order);
	struct out_table t;

	if (part) {
		for (unsigned i = 0; i < n && view->selects; i++)
			if (sorted[i].rank->rank == view->rank && i >= most)
				first = i - most / 2 + most > n ? n - most : i - most / 2;
		n = most;
	}
	out_start_table(&t, 14, head, "rllrrrrrrrrrrl");
	for (unsigned i = 0; i < n; i++)
		add_rank_cells(&t, l, sorted[first + i].rank, view, blocked);
	out_print_table(&t);
	if (part)
		printf("  %sand %s more%s%s\n", out_get_style(STYLE_FAINT),
			out_format_plural(l->folders.n - n, "rank", "ranks"),
			view->order == ORDER_TROUBLE && !first ? "; the worst are shown" : "",
			out_get_plain());
	free(sorted);
}

static void print_selected_stack(const struct live *l, const struct frame_view *view)
{
	const struct live_rank *r = NULL;
	const char *call;
	char *frames, *f, *end;
	unsigned lines = 0;

	for (unsigned i = 0; i < l->folders.n && !r; i++)
		if (l->rank[i].rank == view->rank)
			r = &l->rank[i];
	if (!r)
		return;
	call = r->open ? r->open : r->last_call;
	frames = read_live_stack(r);
	printf("%srank %d, %s%s%s\n", out_get_style(STYLE_HEAD), r->rank,
		r->open ? "in " : "last call ", call ? call : "is not known", out_get_plain());
	for (f = frames; *f && lines < STACK_LINES; f = end + (*end == '\n'), lines++) {
		end = f + strcspn(f, "\n");
		printf("    %.*s\n", (int)(end - f), f);
	}
	if (!lines)
		printf("    %sno stack was recorded, or it has not been written yet%s\n",
			out_get_style(STYLE_FAINT), out_get_plain());
	free(frames);
}

static void print_keys(const struct frame_view *view)
{
	static const char *const order[FRAME_ORDERS] = {
		"trouble", "rank", "step", "time", "late", "NaN, Inf"};

	printf("%ss: order (%s)   j, k: rank   t: stack   q: end%s\n", out_get_style(STYLE_FAINT),
		order[view->order], out_get_plain());
}

static void print_alert_lines(const struct live *l, unsigned most)
{
	unsigned n = l->nalert < most ? l->nalert : most;

	if (!l->nalert)
		return;
	printf("%salerts%s\n", out_get_style(STYLE_HEAD), out_get_plain());
	for (unsigned i = 0; i < n; i++) {
		const struct live_alert *a = &l->alert[i];

		printf("  %srank %d%s  ", out_get_style(STYLE_WARN), a->rank, out_get_plain());
		out_print_clean(a->text);
		if (a->count > 1)
			printf("  %s times, last in step %s", out_format_count(a->count),
				out_format_count(a->last_step));
		putchar('\n');
	}
	if (n < l->nalert)
		printf("  %sand %u more in alerts.jsonl%s\n", out_get_style(STYLE_FAINT),
			l->nalert - n, out_get_plain());
}

void frame_print(const struct live *l, unsigned lines, const struct frame_view *view)
{
	unsigned alerts = l->nalert < ALERTS_SHOWN ? l->nalert : ALERTS_SHOWN, ranks = 0;
	unsigned faults = l->verdict && l->verdict->n < FAULTS_SHOWN ? l->verdict->n : FAULTS_SHOWN;
	bool stack = view->selects && view->stack;

	if (lines) {
		unsigned used;

		lines -= lines > faults + 1 ? faults + 1 : 0;
		lines -= stack && lines > STACK_LINES + 6 ? STACK_LINES + 1 : 0;
		used = HEAD_LINES + 1 + (alerts ? alerts + 2 : 0);

		if (used + 4 > lines)
			alerts = alerts > 2 ? 2 : alerts;
		used = HEAD_LINES + 1 + (alerts ? alerts + 2 : 0) + view->keys;
		ranks = lines > used + 3 ? lines - used : 3;
	}
	print_job_line(l);
	print_numbers_line(l);
	print_speed_line(l);
	print_step_times(l);
	print_live_verdict(l->verdict, faults, !lines);
	print_ranks(l, ranks, view);
	if (stack)
		print_selected_stack(l, view);
	print_alert_lines(l, alerts);
	if (view->keys)
		print_keys(view);
}
