/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/curves.h"

#include <dirent.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/out.h"
#include "tools/lib/table.h"
#include "tools/lib/target.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/entry.h"
#include "tools/probe/model/read/folders.h"

#define CURVES_MAX (1u << 17)
#define POINTS_MAX (4u << 20) /* for all curves; points beyond it are only counted */
/* maximum for one curve; a longer one keeps the minimum and maximum of each part, and the points of its partner */
#define SHOWN_MAX 4000
#define LATE_POINTS 256 /* rows of a step may come up to this many steps late */
#define PLACE "@DATA@" /* in curves.html, replaced by the data */

/* The text of curves.html. compare.mk makes this file depend on it. */
__asm__(".section .rodata\n"
	".globl curves_page\n"
	".globl curves_page_end\n"
	"curves_page:\n"
	".incbin \"tools/probe/compare/curves.html\"\n"
	"curves_page_end:\n"
	".byte 0\n"
	".previous\n");
extern const char curves_page[], curves_page_end[];

struct point {
	uint64_t step;
	double v;
};

struct curve {
	struct table_key key;
	const char *name;
	unsigned side;
	int rank;
	bool squares; /* the points are sums of squares */
	struct point *point;
	unsigned n, cap;
};

struct curves {
	struct table all;
	struct pool names;
	const struct ranges *steps;
	regex_t *wanted; /* NULL: all curves */
	uint64_t points, left;
	/* The folder that is being read: */
	unsigned side;
	int rank;
	const struct meta *meta;
};

static uint64_t compute_curve_hash(const char *name, unsigned run, int rank)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + run * 977 + (uint64_t)(rank + 1) * 7919;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
	return h;
}

static struct curve *get_curve(struct curves *s, const char *name)
{
	struct curve *c =
		table_get(&s->all, compute_curve_hash(name, s->side, s->rank), strlen(name));

	if (c && !c->name) {
		c->name = pool_copy_text(&s->names, name);
		c->side = s->side;
		c->rank = s->rank;
	}
	return c;
}

static bool is_curve_wanted(const struct curves *s, const char *name)
{
	return !s->wanted || regexec(s->wanted, name, 0, NULL, 0) == 0;
}

/* add: add v to the value of the step. Otherwise the last value remains (micro steps). */
static void add_point(struct curves *s, const char *name, uint64_t step, double v, bool add)
{
	struct curve *c;

	if (!ranges_has(s->steps, step) || !is_curve_wanted(s, name))
		return;
	c = get_curve(s, name);
	if (!c) {
		s->left++;
		return;
	}
	c->squares = add;
	for (unsigned i = c->n; i > 0 && c->n - i < LATE_POINTS; i--)
		if (c->point[i - 1].step == step) {
			c->point[i - 1].v = add ? c->point[i - 1].v + v : v;
			return;
		}
	if (s->points == POINTS_MAX) {
		s->left++;
		return;
	}
	TOOL_GROW(c->point, c->n, c->cap);
	c->point[c->n++] = (struct point){step, v};
	s->points++;
}

/* ---- files ---- */

static void read_scalar_file(struct curves *s, struct csv *c)
{
	int step = csv_find_column(c, "step"), name = csv_find_column(c, "name"),
	    value = csv_find_column(c, "value");
	char text[256];
	uint64_t n;
	double v;

	while (step >= 0 && name >= 0 && value >= 0 && csv_read_row(c)) {
		const struct csv_text *t = csv_get_field(c, name);

		if (!csv_parse_u64(csv_get_field(c, step), &n) ||
			!csv_parse_double(csv_get_field(c, value), &v))
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)t->n, t->s);
		add_point(s, text, n, v, false);
	}
}

static void read_kind_file(struct curves *s, struct csv *c, const char *word)
{
	static const char ops[][8] = {
		"norm", "min", "max", "mean", "zeros", "nans", "infs", "value"};
	int step = csv_find_column(c, "step"), name = csv_find_column(c, "name");
	int at[sizeof(ops) / sizeof(*ops)];
	char text[1024];
	uint64_t n;
	double v;

	for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		at[i] = csv_find_column(c, ops[i]);
	while (step >= 0 && name >= 0 && csv_read_row(c)) {
		const struct csv_text *t = csv_get_field(c, name);

		if (!csv_parse_u64(csv_get_field(c, step), &n))
			continue;
		for (unsigned i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
			if (at[i] < 0 || !csv_parse_double(csv_get_field(c, at[i]), &v))
				continue;
			snprintf(text, sizeof(text), "%s/%.*s/%s", word, (int)t->n, t->s, ops[i]);
			add_point(s, text, n, v, false);
		}
	}
}

/*
 * For each operation in a step: computes the norm over all inputs of its calls, and over all outputs.
 * The files contain norms over the finite elements only. If an element is NaN or Inf, the step gets no
 * norm: a norm without these elements would look healthy. A step that was not recorded completely
 * (max_overhead) gets no norm either: a norm over some of its calls is a different number.
 */
static void read_call_file(struct curves *s, struct csv *c)
{
	int step = csv_find_column(c, "step"), op = csv_find_column(c, "op"),
	    io = csv_find_column(c, "io"), norm = csv_find_column(c, "norm"),
	    nans = csv_find_column(c, "nans"), infs = csv_find_column(c, "infs");
	char text[256];
	uint64_t n, odd;
	double v;

	while (step >= 0 && op >= 0 && io >= 0 && norm >= 0 && csv_read_row(c)) {
		const struct csv_text *o = csv_get_field(c, op), *side = csv_get_field(c, io);

		if (!csv_parse_u64(csv_get_field(c, step), &n) ||
			!csv_parse_double_fast(csv_get_field(c, norm), &v) ||
			meta_step_is_thinned(s->meta, n, true, true))
			continue;
		if ((nans >= 0 && csv_parse_u64(csv_get_field(c, nans), &odd) && odd) ||
			(infs >= 0 && csv_parse_u64(csv_get_field(c, infs), &odd) && odd))
			v = (double)NAN;
		snprintf(text, sizeof(text), "calls/%.*s/%.*s/norm", (int)o->n, o->s, (int)side->n,
			side->s);
		add_point(s, text, n, v * v, true);
	}
}

/* Parses "grad_reduced_0-99.csv": the word and the first step. */
static bool read_curve_file_name(
	const char *name, char *word, size_t cap, unsigned long long *first)
{
	const char *at = strrchr(name, '_');
	unsigned long long last;
	int n = 0, part = 0;

	if (!at || at == name || (size_t)(at - name) >= cap ||
		sscanf(at, "_%llu-%llu%n", first, &last, &n) < 2)
		return false;
	at += n;
	if (sscanf(at, ".%*u%n", &part) == 0 && part)
		at += part;
	if (strcmp(at, ".csv") && strcmp(at, ".csv.gz"))
		return false;
	at = strrchr(name, '_');
	snprintf(word, cap, "%.*s", (int)(at - name), name);
	return true;
}

static void read_curve_file(struct curves *s, const char *folder, const char *name)
{
	char *path = tool_format("%s/%s", folder, name), word[64];
	unsigned long long first;
	struct csv c;

	if (read_curve_file_name(name, word, sizeof(word), &first) &&
		csv_open(&c, path, UINT64_MAX, false, 1u << 18) == 0) {
		if (strcmp(word, "calls") == 0)
			read_call_file(s, &c);
		else if (strcmp(word, "scalars") == 0)
			read_scalar_file(s, &c);
		else
			read_kind_file(s, &c, word);
		csv_close(&c);
	}
	free(path);
}

static int compare_curve_files(const void *x, const void *y)
{
	return strverscmp(*(char *const *)x, *(char *const *)y);
}

/*
 * A process that was killed while compressing leaves both files. The plain one is used; it is sorted
 * before the compressed one.
 */
static bool is_compressed_copy(const char *name, const char *previous)
{
	size_t n = strlen(previous);

	return strncmp(name, previous, n) == 0 && strcmp(name + n, ".gz") == 0;
}

static void read_curve_folder(struct curves *s, const char *folder)
{
	DIR *d = opendir(folder);
	char **name = NULL;
	unsigned n = 0, cap = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		TOOL_GROW(name, n, cap);
		name[n++] = tool_strdup(e->d_name);
	}
	if (d)
		closedir(d);
	if (n)
		qsort(name, n, sizeof(*name), compare_curve_files);
	for (unsigned i = 0; i < n; i++)
		if (!i || !is_compressed_copy(name[i], name[i - 1]))
			read_curve_file(s, folder, name[i]);
	for (unsigned i = 0; i < n; i++)
		free(name[i]);
	free(name);
}

static int read_run_curves(struct curves *s, const char *path, const struct ranges *ranks)
{
	struct folders f = {0};

	if (folders_open(&f, path))
		return STATUS_USAGE;
	for (unsigned i = 0; i < f.n; i++) {
		s->rank = f.dir[i].rank;
		s->meta = &f.dir[i].meta;
		if (s->rank < 0 || ranges_has(ranks, (uint64_t)s->rank))
			read_curve_folder(s, f.dir[i].path);
	}
	folders_close(&f);
	return STATUS_DONE;
}

/* ---- the page ---- */

/* Text inside a script element must not contain the start of a tag. */
static void write_page_text(struct target *t, const char *text)
{
	size_t cap = 6 * strlen(text) + 16;
	char *json = tool_alloc(cap);
	struct text out = text_init(json, cap);

	text_add_json(&out, text);
	for (const char *p = json; *p; p++)
		if (*p == '<')
			target_write_text(t, "\\u003c");
		else
			target_write(t, p, 1);
	free(json);
}

static int compare_point_steps(const void *x, const void *y)
{
	const struct point *a = x, *b = y;

	return a->step < b->step ? -1 : a->step > b->step;
}

static double get_page_value(const struct curve *c, unsigned i)
{
	return c->squares ? sqrt(c->point[i].v) : c->point[i].v;
}

/* Keeps the minimum and the maximum of each part of a long curve. */
static void set_extreme_points(const struct curve *c, bool *keep)
{
	unsigned part = c->n <= SHOWN_MAX ? 1 : c->n / (SHOWN_MAX / 2) + 1;

	for (unsigned from = 0; from < c->n; from += part) {
		unsigned to = from + part < c->n ? from + part : c->n, least = from, most = from;

		for (unsigned i = from; i < to; i++) {
			/* Keeps values that are not finite. */
			if (!isfinite(c->point[i].v) || c->point[i].v < c->point[least].v)
				least = i;
			if (c->point[i].v > c->point[most].v)
				most = i;
		}
		keep[least] = keep[most] = true;
	}
}

/*
 * Returns the relative distance of two values, as the page computes it; 1 if one of them is not
 * finite.
 */
static double compute_relative_distance(double a, double b)
{
	double most = fabs(a) > fabs(b) ? fabs(a) : fabs(b);

	if (!isfinite(a) || !isfinite(b))
		return isfinite(a) != isfinite(b);
	return a == b ? 0 : fabs(a - b) / most;
}

/* Compares values rounded to nine digits, as the page does. */
static bool is_equal_on_page(double a, double b)
{
	char x[32], y[32];

	if (a == b || (!isfinite(a) && !isfinite(b)))
		return true;
	snprintf(x, sizeof(x), "%.9g", a);
	snprintf(y, sizeof(y), "%.9g", b);
	return strcmp(x, y) == 0;
}

/*
 * Marks points of a curve and of the same curve in the other run. Both get the same steps, because the
 * page compares points of one step. The first point that differs and the point that differs most are
 * included. Both curves are sorted by step, each step at most once.
 */
static void set_different_points(
	const struct curve *a, bool *keep_a, const struct curve *b, bool *keep_b)
{
	unsigned first[2] = {0, 0}, most[2] = {0, 0};
	double far = -1;

	for (unsigned i = 0, k = 0; i < a->n && k < b->n;) {
		if (a->point[i].step != b->point[k].step) {
			*(a->point[i].step < b->point[k].step ? &i : &k) += 1;
			continue;
		}

		double v = get_page_value(a, i), w = get_page_value(b, k),
		       d = compute_relative_distance(v, w);

		if (!is_equal_on_page(v, w)) {
			if (far < 0)
				first[0] = i, first[1] = k;
			if (d > far)
				far = d, most[0] = i, most[1] = k;
		}
		keep_a[i] = keep_b[k] = keep_a[i] || keep_b[k];
		i++;
		k++;
	}
	if (far < 0)
		return;
	keep_a[first[0]] = keep_b[first[1]] = keep_a[most[0]] = keep_b[most[1]] = true;
}

/* Returns which points of a curve go into the page. The caller frees it. */
static bool *find_shown_points(const struct curves *s, const struct curve *c)
{
	const struct curve *other = table_find(
		&s->all, compute_curve_hash(c->name, !c->side, c->rank), strlen(c->name));
	bool *keep = tool_alloc(c->n + 1), *keep_other;

	memset(keep, 0, c->n + 1);
	set_extreme_points(c, keep);
	if (!other || (c->n <= SHOWN_MAX && other->n <= SHOWN_MAX))
		return keep;
	keep_other = tool_alloc(other->n + 1);
	memset(keep_other, 0, other->n + 1);
	set_extreme_points(other, keep_other);
	set_different_points(c, keep, other, keep_other);
	free(keep_other);
	return keep;
}

static void write_curve(struct target *t, const struct curves *s, const struct curve *c)
{
	bool *keep = find_shown_points(s, c);
	const char *before = "";

	target_write_text(t, "{\"n\":");
	write_page_text(t, c->name);
	target_print(t, ",\"s\":%u,\"r\":%d,\"x\":[", c->side, c->rank);
	for (unsigned i = 0; i < c->n; i++)
		if (keep[i]) {
			target_print(t, "%s%llu", before, (unsigned long long)c->point[i].step);
			before = ",";
		}
	target_write_text(t, "],\"y\":[");
	before = "";
	for (unsigned i = 0; i < c->n; i++) {
		double v = get_page_value(c, i);

		if (!keep[i])
			continue;
		target_write_text(t, before);
		before = ",";
		if (isfinite(v))
			target_print(t, "%.9g", v);
		else
			target_write_text(t, "null");
	}
	target_write_text(t, "]}");
	free(keep);
}

static int write_curve_page(
	struct curves *s, const char *path_a, const char *path_b, const char *file)
{
	const char *place =
		memmem(curves_page, (size_t)(curves_page_end - curves_page), PLACE, strlen(PLACE));
	struct target t;
	int status = target_open_file(&t, file);

	if (status)
		return status;
	target_write(&t, curves_page, (size_t)(place - curves_page));
	target_write_text(&t, "{\"a\":");
	write_page_text(&t, path_a);
	target_write_text(&t, ",\"b\":");
	write_page_text(&t, path_b);
	target_print(&t, ",\"left\":%llu,\"curves\":[", (unsigned long long)s->left);
	for (uint32_t i = 0; i < s->all.n; i++) {
		struct curve *c = table_at(&s->all, i);

		qsort(c->point, c->n, sizeof(*c->point), compare_point_steps);
	}
	for (uint32_t i = 0; i < s->all.n; i++) {
		target_write_text(&t, i ? ",\n" : "\n");
		write_curve(&t, s, table_at(&s->all, i));
	}
	target_write_text(&t, "]}");
	place += strlen(PLACE);
	target_write(&t, place, (size_t)(curves_page_end - place));

	uint64_t bytes = t.bytes;

	status = target_close(&t, true);
	if (!status && strcmp(file, "-"))
		printf("%s: %s of both runs, %s, in one file for any browser\n", file,
			out_format_plural(s->all.n, "curve", "curves"),
			out_format_bytes((double)bytes));
	if (s->left)
		tool_warn("compare: %llu points did not fit: select fewer by --series and --rank",
			(unsigned long long)s->left);
	return status;
}

int compare_curves(const char *path_a, const char *path_b, const char *file, const char *series,
	const struct ranges *ranks, const struct ranges *steps)
{
	struct curves s = {.steps = steps};
	regex_t wanted;
	char why[128];
	int status, err = series ? regcomp(&wanted, series, REG_EXTENDED | REG_NOSUB) : 0;

	if (err) {
		regerror(err, &wanted, why, sizeof(why));
		tool_error("compare: --series %s: %s; accepted: an extended regular expression",
			series, why);
		return STATUS_USAGE;
	}
	s.wanted = series ? &wanted : NULL;
	table_init(&s.all, sizeof(struct curve), CURVES_MAX);
	status = read_run_curves(&s, path_a, ranks);
	s.side = 1;
	if (!status)
		status = read_run_curves(&s, path_b, ranks);
	if (!status && !s.all.n) {
		tool_error("compare: %s and %s: no scalars, parameter statistics or statistics of "
			   "calls%s",
			path_a, path_b, series ? " of that name" : "");
		status = STATUS_USAGE;
	}
	if (!status)
		status = write_curve_page(&s, path_a, path_b, file);
	for (uint32_t i = 0; i < s.all.n; i++)
		free(((struct curve *)table_at(&s.all, i))->point);
	table_free(&s.all);
	pool_free(&s.names);
	if (series)
		regfree(&wanted);
	return status;
}
