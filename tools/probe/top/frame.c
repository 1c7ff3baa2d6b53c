/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/top/frame.h"
#include "tools/probe/live/live_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"

#define OPEN_NS UINT64_C(5000000000) /* a call that blocks a rank for this long is shown */
#define ALERTS_SHOWN 8
#define FAULTS_SHOWN 4
#define HEAD_LINES 7

static void print_job_line(const struct live *l)
{
	unsigned count[RANK_STATES] = {0};
	const char *sep = "";

	for (unsigned i = 0; i < l->folders.n; i++)
		count[l->folders.dir[i].state]++;
	printf("%s%s%s  step %s  %s  ", out_style(STYLE_HEAD), l->folders.path, out_plain(),
		out_count(l->step), out_date(l->now));
	for (unsigned i = 0; i < RANK_STATES; i++)
		if (count[i]) {
			printf("%s%s %s", sep, out_plural(count[i], "rank", "ranks"),
				rank_state_name((enum rank_state)i));
			sep = ", ";
		}
	putchar('\n');
}

/* The first line of the report, and those of its first faults. */
static void print_live_verdict(const struct live_verdict *v, unsigned most)
{
	if (!v || !v->known)
		return;
	printf("%s", v->verdict.faults ? out_style(STYLE_BAD) : out_style(STYLE_HEAD));
	out_clean(v->text);
	printf("%s\n", out_plain());
	for (unsigned i = 0; i < v->n && i < most; i++) {
		printf("  %s  ", v->fault[i].kind);
		out_clean(v->fault[i].line);
		putchar('\n');
	}
	if (v->n > most)
		printf("  %sand more: probe report%s\n", out_style(STYLE_FAINT), out_plain());
}

/* "loss 2.31   grad-norm 0.84": numbers of the job, in a line. */
static void print_numbers_line(const struct live *l)
{
	static const uint8_t shown[] = {SCALAR_LOSS, SCALAR_GRAD_NORM, SCALAR_LEARNING_RATE,
		SCALAR_LOSS_SCALE, SCALAR_BATCH_SIZE, SCALAR_WEIGHT_NORM, SCALAR_DEVICE_LOCAL_NORM};
	bool any = false;

	for (unsigned i = 0; i < sizeof(shown); i++) {
		const struct live_number *n = live_number_of_job(l, (enum scalar)shown[i]);

		if (!n)
			continue;
		printf("%s%s %s%.6g%s", any ? "   " : "", scalar_names[shown[i]],
			!isfinite(n->value) ? out_style(STYLE_BAD) : "", n->value, out_plain());
		any = true;
	}
	if (any)
		putchar('\n');
}

static double mean_over_ranks(const struct live *l, size_t offset)
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
	double ms = mean_over_ranks(l, offsetof(struct live_rank, mean_ms));
	double exposed = mean_over_ranks(l, offsetof(struct live_rank, exposed));
	const struct live_number *rate = live_number_of_job(l, SCALAR_THROUGHPUT);
	const struct live_number *flops = live_number_of_job(l, SCALAR_MODEL_FLOPS);
	const char *sep = "";

	if (!isnan(ms)) {
		printf("%s a step (mean of the latest)", out_time(ms * 1e6));
		sep = "   ";
	}
	if (!isnan(exposed)) {
		printf("%sexposed communication %s%s%s", sep,
			exposed > 0.3 ? out_style(STYLE_WARN) : "", out_percent(exposed),
			out_plain());
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

/* ---- ranks ---- */

static bool is_trouble(const struct live_rank *r)
{
	return r->straggler || r->open_ns >= OPEN_NS || r->dir->state == RANK_KILLED;
}

/* Ranks with problems first, then by number. */
static int by_trouble(const void *x, const void *y)
{
	const struct live_rank *a = *(const struct live_rank *const *)x;
	const struct live_rank *b = *(const struct live_rank *const *)y;

	if (is_trouble(a) != is_trouble(b))
		return is_trouble(a) ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void cell_of_number(struct out_table *t, const struct live_number *n)
{
	char text[32] = "";

	if (n)
		snprintf(text, sizeof(text), "%.5g", n->value);
	out_cell(t, text);
}

static void add_rank_cells(struct out_table *t, const struct live *l, const struct live_rank *r)
{
	static const uint8_t numbers[] = {
		SCALAR_LOSS, SCALAR_GRAD_NORM, SCALAR_DATA_TIME, SCALAR_COMM_TIME};
	char text[256], number[24] = "?";

	if (r->rank >= 0)
		snprintf(number, sizeof(number), "%d", r->rank);
	out_cell(t, number);
	out_cell(t, r->dir->meta.owner.host);
	out_cell(t, rank_state_key(r->dir->state));
	out_cell(t, out_count(r->step));
	out_cell(t, isnan(r->mean_ms) ? "" : out_time(r->mean_ms * 1e6));
	out_cell(t, isnan(r->exposed) ? "" : out_percent(r->exposed));
	for (unsigned i = 0; i < sizeof(numbers); i++) {
		const struct live_number *n = live_number_of(r, (enum scalar)numbers[i]);

		if (i < 2)
			cell_of_number(t, n);
		else
			out_cell(t, n ? out_time(n->value * 1e6) : "");
	}
	out_cell(t, isnan(r->late_ms) ? "" : out_time(r->late_ms * 1e6));
	text[0] = 0;
	if (r->alerts)
		snprintf(text, sizeof(text), "%s", out_count(r->alerts));
	out_cell(t, text);
	text[0] = 0;
	if (r->open_ns >= OPEN_NS)
		snprintf(text, sizeof(text), "in %.180s for %s", r->open,
			out_time((double)r->open_ns));
	else if (r->straggler)
		snprintf(text, sizeof(text),
			"the others wait for it: last in %llu of %llu collectives",
			(unsigned long long)r->last, (unsigned long long)r->met);
	else if (r->dir->state == RANK_UNSEEN && r->dir->alive_ns &&
		 r->dir->alive_ns + 60000000000u < l->now)
		snprintf(text, sizeof(text), "silent for %s",
			out_time((double)(l->now - r->dir->alive_ns)));
	out_cell(t, text);
}

static void print_ranks(const struct live *l, unsigned most)
{
	static const char *const head[] = {"rank", "host", "state", "step", "time", "exposed",
		"loss", "grad-norm", "data", "comm", "late", "alerts", ""};
	const struct live_rank **sorted = tool_alloc((l->folders.n + 1) * sizeof(*sorted));
	unsigned n = l->folders.n;
	struct out_table t;

	for (unsigned i = 0; i < n; i++)
		sorted[i] = &l->rank[i];
	if (most && n > most) {
		qsort(sorted, n, sizeof(*sorted), by_trouble);
		n = most;
	}
	out_table_begin(&t, 13, head, "rllrrrrrrrrrl");
	for (unsigned i = 0; i < n; i++)
		add_rank_cells(&t, l, sorted[i]);
	out_table_end(&t);
	if (n < l->folders.n)
		printf("  %sand %s more; the worst are shown%s\n", out_style(STYLE_FAINT),
			out_plural(l->folders.n - n, "rank", "ranks"), out_plain());
	free(sorted);
}

static void print_alert_lines(const struct live *l, unsigned most)
{
	unsigned n = l->nalert < most ? l->nalert : most;

	if (!l->nalert)
		return;
	printf("%salerts%s\n", out_style(STYLE_HEAD), out_plain());
	for (unsigned i = 0; i < n; i++) {
		const struct live_alert *a = &l->alert[i];

		printf("  %srank %d%s  ", out_style(STYLE_WARN), a->rank, out_plain());
		out_clean(a->text);
		if (a->count > 1)
			printf("  %s times, last in step %s", out_count(a->count),
				out_count(a->last_step));
		putchar('\n');
	}
	if (n < l->nalert)
		printf("  %sand %u more in alerts.jsonl%s\n", out_style(STYLE_FAINT), l->nalert - n,
			out_plain());
}

void frame_print(const struct live *l, unsigned lines)
{
	unsigned alerts = l->nalert < ALERTS_SHOWN ? l->nalert : ALERTS_SHOWN, ranks = 0;
	unsigned faults = l->verdict && l->verdict->n < FAULTS_SHOWN ? l->verdict->n : FAULTS_SHOWN;

	if (lines) {
		unsigned used;

		lines -= lines > faults + 1 ? faults + 1 : 0;
		used = HEAD_LINES + (alerts ? alerts + 2 : 0);

		if (used + 4 > lines)
			alerts = alerts > 2 ? 2 : alerts;
		used = HEAD_LINES + (alerts ? alerts + 2 : 0);
		ranks = lines > used + 3 ? lines - used : 3;
	}
	print_job_line(l);
	print_numbers_line(l);
	print_speed_line(l);
	print_live_verdict(l->verdict, faults);
	print_ranks(l, ranks);
	print_alert_lines(l, alerts);
}
