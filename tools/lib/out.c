/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/out.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/lib/tool.h"

#define NARROWEST 40 /* minimum number of columns: fewer cannot be read */
#define RANGE_MAX 160 /* maximum number of characters of a list of ranks */
#define RING 16

static bool colored;

bool out_set_color(const char *mode)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (strcmp(mode, "always") == 0)
		colored = true;
	else if (strcmp(mode, "never") == 0)
		colored = false;
	else if (strcmp(mode, "auto") == 0)
		colored = isatty(1) && term && strcmp(term, "dumb") && !(no && *no);
	else
		return false;
	return true;
}

const char *out_get_style(enum style s)
{
	static const char *const code[] = {
		[STYLE_NONE] = "",
		[STYLE_HEAD] = "\033[1m",
		[STYLE_BAD] = "\033[1;31m",
		[STYLE_WARN] = "\033[33m",
		[STYLE_GOOD] = "\033[32m",
		[STYLE_FAINT] = "\033[2m",
	};

	return colored ? code[s] : "";
}

const char *out_get_plain(void)
{
	return colored ? "\033[0m" : "";
}

/* ---- numbers ---- */

static char *get_text_slot(size_t *cap)
{
	static char ring[RING][64];
	static unsigned at;

	*cap = sizeof(ring[0]);
	return ring[at++ % RING];
}

/* Formats a value with three significant digits: 1.23, 12.3, 123. */
static const char *format_scaled(double v, double base, const char *const *unit, unsigned n)
{
	size_t cap;
	char *buf = get_text_slot(&cap);
	unsigned i = 0;

	while (v >= base * 0.9995 && i + 1 < n) {
		v /= base;
		i++;
	}
	snprintf(buf, cap, "%.*f %s",
		v >= 99.95 || v == (double)(int64_t)v ? 0
		: v >= 9.995			      ? 1
						      : 2,
		v, unit[i]);
	return buf;
}

const char *out_format_duration(double ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	size_t cap;
	char *buf;

	if (ns < 99.5e9)
		return format_scaled(ns, 1000, unit, 4);
	buf = get_text_slot(&cap);

	uint64_t s = (uint64_t)(ns * 1e-9 + 0.5);

	if (s < 3600)
		snprintf(buf, cap, "%u min %u s", (unsigned)(s / 60), (unsigned)(s % 60));
	else if (s < 86400)
		snprintf(buf, cap, "%u h %u min", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else
		snprintf(buf, cap, "%llu d %u h", (unsigned long long)(s / 86400),
			(unsigned)(s / 3600 % 24));
	return buf;
}

const char *out_format_bytes(double bytes)
{
	static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};

	return format_scaled(bytes, 1000, unit, 6);
}

const char *out_format_rate(double bytes, double ns)
{
	static const char *const unit[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

	return ns > 0 && bytes > 0 ? format_scaled(bytes / ns * 1e9, 1000, unit, 5) : "";
}

const char *out_format_count(uint64_t n)
{
	size_t cap, at;
	char *buf = get_text_slot(&cap);
	unsigned digits = 0;

	at = cap - 1;
	buf[at] = 0;
	do {
		if (digits && digits % 3 == 0)
			buf[--at] = ',';
		buf[--at] = (char)('0' + n % 10);
		digits++;
	} while (n /= 10);
	return buf + at;
}

const char *out_format_percent(double part)
{
	size_t cap;
	char *buf = get_text_slot(&cap);
	double v = part * 100;

	snprintf(buf, cap,
		v > 0 && v < 0.1     ? "%.2g %%"
		: v < 99.95 && v > 0 ? "%.1f %%"
				     : "%.0f %%",
		v);
	return buf;
}

const char *out_format_date(uint64_t ns)
{
	size_t cap;
	char *buf = get_text_slot(&cap);
	time_t t = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (!ns || !gmtime_r(&t, &tm) || !strftime(buf, cap, "%Y-%m-%d %H:%M:%S UTC", &tm))
		return "unknown time";
	return buf;
}

const char *out_format_plural(uint64_t n, const char *singular, const char *plural)
{
	size_t cap;
	char *buf = get_text_slot(&cap);

	snprintf(buf, cap, "%s %s", out_format_count(n), n == 1 ? singular : plural);
	return buf;
}

/* ---- ranks ---- */

static int compare_ints(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;

	return a < b ? -1 : a > b;
}

char *out_format_rank_range(int *rank, unsigned n)
{
	char *buf = tool_alloc(RANGE_MAX + 96), *at = buf;

	if (n)
		qsort(rank, n, sizeof(*rank), compare_ints);
	for (unsigned i = 0, k; i < n; i = k + 1) {
		for (k = i; k + 1 < n && rank[k + 1] == rank[k] + 1; k++)
			;
		if (at - buf > RANGE_MAX - 32) {
			sprintf(at, " ... (%u in all)", n);
			break;
		}
		at += sprintf(at, "%s%d", i ? "," : "", rank[i]);
		if (k > i)
			at += sprintf(at, k > i + 1 ? "-%d" : ",%d", rank[k]);
	}
	return buf;
}

char *out_format_ranks(int *rank, unsigned n)
{
	char *list = out_format_rank_range(rank, n), *all;

	if (!n)
		all = tool_strdup("no rank");
	else if (rank[0] < 0) /* sorted at this point */
		all = n == 1 ? tool_strdup("the process without rank")
			     : tool_format("%u processes, some without rank", n);
	else
		all = tool_format("%s %s", n == 1 ? "rank" : "ranks", list);
	free(list);
	return all;
}

/* ---- tables and text ---- */

void out_print_clean(const char *s)
{
	for (; *s; s++)
		putchar((unsigned char)*s < ' ' || *s == 0x7f ? ' ' : *s);
}

/* Returns the number of columns of a string: continuation bytes of UTF-8 have none. */
static unsigned measure_text_width(const char *s, size_t n)
{
	unsigned w = 0;

	for (size_t i = 0; i < n; i++)
		w += ((unsigned char)s[i] & 0xc0) != 0x80;
	return w;
}

void out_start_table(struct out_table *t, unsigned ncol, const char *const *head, const char *align)
{
	*t = (struct out_table){.ncol = ncol, .head = head, .align = align};
}

void out_add_cell(struct out_table *t, const char *text)
{
	TOOL_GROW(t->cell, t->n, t->cap);
	t->cell[t->n++] = tool_strdup(text);
}

static void print_table_line(const struct out_table *t, const unsigned *w, const char *const *cell)
{
	unsigned last = 0;

	for (unsigned c = 0; c < t->ncol; c++)
		if (w[c] && *cell[c])
			last = c;
	putchar(' ');
	for (unsigned c = 0; c <= last; c++) {
		unsigned pad = w[c] - measure_text_width(cell[c], strlen(cell[c]));

		if (!w[c])
			continue;
		putchar(' ');
		if (t->align[c] == 'r')
			printf("%*s", (int)pad, "");
		out_print_clean(cell[c]);
		if (t->align[c] != 'r' && c < last)
			printf("%*s", (int)pad, "");
		if (c < last)
			putchar(' ');
	}
	putchar('\n');
}

void out_print_table(struct out_table *t)
{
	unsigned *w = tool_alloc(t->ncol * sizeof(*w));

	for (unsigned i = 0; i < t->n; i++) {
		unsigned n = measure_text_width(t->cell[i], strlen(t->cell[i]));

		if (n > w[i % t->ncol])
			w[i % t->ncol] = n;
	}
	for (unsigned c = 0; c < t->ncol; c++) {
		unsigned n = measure_text_width(t->head[c], strlen(t->head[c]));

		if (w[c] && n > w[c])
			w[c] = n;
	}
	fputs(out_get_style(STYLE_FAINT), stdout);
	print_table_line(t, w, t->head);
	fputs(out_get_plain(), stdout);
	for (unsigned i = 0; i + t->ncol <= t->n; i += t->ncol)
		print_table_line(t, w, (const char *const *)&t->cell[i]);
	for (unsigned i = 0; i < t->n; i++)
		free(t->cell[i]);
	free(t->cell);
	free(w);
}

/*
 * Returns the width for wrapping. In a pipe or a file nothing is wrapped, because the reader may
 * wrap the lines itself or search them.
 */
static unsigned get_page_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	long n = 0;

	if (!isatty(1))
		return UINT_MAX;
	if (columns)
		n = strtol(columns, NULL, 10);
	if (n <= 0 && ioctl(1, TIOCGWINSZ, &w) == 0)
		n = w.ws_col;
	if (n <= 0)
		return UINT_MAX;
	return n < NARROWEST ? NARROWEST : n > INT_MAX ? INT_MAX : (unsigned)n;
}

void out_print_wrapped(const char *text, unsigned first, unsigned indent)
{
	const unsigned width = get_page_width();
	unsigned at = first;
	bool space = false;

	while (*text) {
		size_t n = strcspn(text, " \n");
		unsigned w = measure_text_width(text, n);

		if (at > indent && at + space + w > width) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (space) {
			putchar(' ');
			at++;
		}
		for (size_t i = 0; i < n; i++)
			putchar((unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
		at += w;
		text += n;
		space = *text == ' ';
		if (*text == '\n') {
			printf("\n%*s", (int)indent, "");
			at = indent;
		}
		text += *text != 0;
	}
	putchar('\n');
}

void out_print_heading(const char *text)
{
	printf("\n%s%s%s\n", out_get_style(STYLE_HEAD), text, out_get_plain());
}
