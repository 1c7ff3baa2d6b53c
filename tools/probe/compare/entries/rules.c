/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/entries/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Limits from msprobe's manual. Its code uses 0.1 for THOUSANDTH_OUT, but its message says 0.6. */
#define RELATIVE_IN 0.1
#define RELATIVE_OUT 0.5
#define RELATIVE_TIMES 10
#define RELATIVE_FROM_NOTHING 0.1
#define THOUSANDTH_IN 0.9
#define THOUSANDTH_OUT 0.6
#define COSINE_IN 0.9
#define COSINE_DROP 0.1

const char *const verdict_words[VERDICTS] = {"pass", "warning", "error"};

const char *const rule_texts[RULES] = {
	[RULE_NOT_FINITE] = "error: There is nan/inf/-inf in the maximum or minimum value of NPU.",
	[RULE_RELATIVE] = "error: The NormRelativeErr of output is greater than 0.5.",
	[RULE_THOUSANDTH] = "error: The input/parameters of One Thousandth Err Ratio > 0.9 while "
			    "the output < 0.6.",
	[RULE_GRAD] = "error: The Required_Grad of NPU and Bench are inconsistent",
	[RULE_SCALAR] = "error: The scalar parameters of NPU and Bench are inconsistent.",
	[RULE_DTYPE] = "error: The dtype of NPU and Bench are inconsistent.",
	[RULE_SHAPE] = "error: The shape of NPU and Bench are inconsistent.",
	[RULE_CRC] = "error: The CRC-32 value of NPU differs from that of the bench.",
	[RULE_EXACT] = "error: The values of NPU and Bench are not bit-wise equal.",
	[RULE_UNPAIRED] = "warning: The parameter of NPU does not match the bench.",
	[RULE_TENFOLD] = "warning: The norm relative error of output is 10 times that of input.",
	[RULE_COSINE] = "warning: The input/parameters of Cosine > 0.9, and input/parameters - "
			"output > 0.1",
};

/* ---- differences ---- */

/* float32, torch.float32 and Float32 are three names of one type. */
static bool is_float_dtype(const char *s)
{
	static const char *const names[] = {"float16", "float32", "float64", "bfloat16"};

	if (s && strncmp(s, "torch.", 6) == 0)
		s += 6;
	for (unsigned i = 0; s && i < 4; i++)
		if (strcasecmp(s, names[i]) == 0)
			return true;
	return false;
}

/* Like msprobe, treats int8 ... of one framework and Int8 ... of the other as equal. */
static const char *find_dtype_class(const char *s)
{
	static const struct {
		const char *mindspore, *torch, *class;
	} types[] = {{"Int", "torch.int", "int"}, {"UInt", "torch.uint", "int"},
		{"Float", "torch.float", "float"}, {"BFloat", "torch.bfloat", "float"},
		{"Bool", "torch.bool", "bool"}, {"Complex", "torch.complex", "complex"}};

	for (unsigned i = 0; s && i < sizeof(types) / sizeof(*types); i++)
		if (strncmp(s, types[i].mindspore, strlen(types[i].mindspore)) == 0 ||
			strncmp(s, types[i].torch, strlen(types[i].torch)) == 0)
			return types[i].class;
	return s ? s : "None";
}

bool is_dtype_comparable(const struct item *a, const struct item *b)
{
	const char *x = a->dtype ? a->dtype : "None", *y = b->dtype ? b->dtype : "None";
	bool torch_x = strncmp(x, "torch.", 6) == 0, torch_y = strncmp(y, "torch.", 6) == 0;

	if (strcmp(x, y) == 0 || (is_float_dtype(x) && is_float_dtype(y)))
		return true;
	/* Types of two frameworks are equal if their classes are. */
	return torch_x != torch_y && !a->scalar && !b->scalar &&
	       strcmp(find_dtype_class(x), find_dtype_class(y)) == 0;
}

/*
 * Returns the string for the columns of difference and relative error if one of two statistics is
 * not a number, by the kinds of both. NULL: both are numbers.
 */
static const char *format_cell_difference(enum cell_kind a, enum cell_kind b)
{
	bool number_a = a <= CELL_MINUS_INF, number_b = b <= CELL_MINUS_INF;

	if (a == CELL_NONE || b == CELL_NONE || (a == CELL_DEVICE && b == CELL_DEVICE))
		return "N/A";
	if (!number_a || !number_b)
		return "Diff";
	if (a == CELL_NAN || b == CELL_NAN)
		return "Nan";
	if (a == CELL_INF || (a == CELL_NUMBER && b == CELL_MINUS_INF))
		return "inf";
	if (a == CELL_MINUS_INF || b == CELL_INF)
		return "-inf";
	return NULL;
}

static void set_cell_difference(struct row *r, unsigned s, struct pool *p)
{
	const struct cell *a = &r->a->stat[s], *b = r->b ? &r->b->stat[s] : NULL;
	const char *word = b ? format_cell_difference(a->kind, b->kind) : "N/A";
	char text[PYTHON_DOUBLE_MAX];
	double d;

	if (b && strcmp(a->text, b->text) == 0) {
		r->diff[s] = r->relative[s] = "0";
		return;
	}
	if (word) {
		r->diff[s] = r->relative[s] = word;
		r->differs = true;
		if (s == STAT_NORM && strstr(word, "inf"))
			r->norm_relative = INFINITY;
		return;
	}
	d = a->v - b->v;
	r->differs |= d != 0;
	r->diff[s] = pool_copy_text(p, format_python_double(text, d));
	if (b->v == 0) {
		r->relative[s] = "inf";
		if (s == STAT_NORM)
			r->norm_relative = INFINITY;
		return;
	}
	d = fabs(d / b->v * 100);
	r->relative[s] = pool_format(p, "%s%%", format_python_double(text, d));
	if (s == STAT_NORM)
		r->norm_relative = d / 100;
}

static bool is_other_text(const char *a, const char *b)
{
	return strcmp(a ? a : "N/A", b ? b : "N/A") != 0;
}

void compute_row_differences(struct row *r, enum compare_mode mode, struct pool *p)
{
	r->norm_relative = NAN;
	for (unsigned m = 0; m < METRICS; m++)
		r->metric_value[m] = NAN;
	r->unrecorded = r->b && r->a->unrecorded != r->b->unrecorded;
	r->differs = !r->b || is_other_text(r->a->dtype, r->b->dtype) ||
		     is_other_text(r->a->shape, r->b->shape);
	if (r->unrecorded) {
		for (unsigned s = 0; mode != COMPARE_CHECKSUM && s < STATS_COUNT; s++)
			r->diff[s] = r->relative[s] = "N/A";
		return;
	}
	r->differs |= r->b && r->a->extra != r->b->extra;
	for (unsigned s = 0; mode != COMPARE_CHECKSUM && s < STATS_COUNT; s++)
		set_cell_difference(r, s, p);
	if (r->b && r->a->crc && r->b->crc && !r->a->scalar && mode == COMPARE_CHECKSUM)
		r->differs |= strcmp(r->a->crc, r->b->crc) != 0;
}

/* ---- rules ---- */

enum ignore { IGNORE_NOTHING, IGNORE_INPUTS, IGNORE_ALL };

/*
 * Functions whose values have no meaning (memory that was not written yet), or whose inputs are
 * receive buffers.
 */
static const struct {
	const char *function;
	enum ignore ignore;
} ignored[] = {
	{"empty", IGNORE_ALL},
	{"empty_like", IGNORE_ALL},
	{"numpy", IGNORE_ALL},
	{"to", IGNORE_ALL},
	{"__setitem__", IGNORE_ALL},
	{"empty_with_format", IGNORE_ALL},
	{"new_empty_strided", IGNORE_ALL},
	{"new_empty", IGNORE_ALL},
	{"empty_strided", IGNORE_ALL},
	{"_reduce_scatter_base", IGNORE_INPUTS},
	{"_all_gather_base", IGNORE_INPUTS},
	{"all_to_all_single", IGNORE_INPUTS},
	{"batch_isend_irecv", IGNORE_INPUTS},
};

static bool is_output_row(const struct row *r)
{
	return strstr(r->a->name, ".output.") != NULL;
}

static enum ignore find_ignored_part(const struct row *row, unsigned n)
{
	const char *word, *end;

	for (unsigned i = 0; i < n; i++) {
		/*
		 * If a function has no recorded inputs (or only numbers, as torch.empty), its name
		 * is taken from the outputs.
		 */
		if (is_output_row(&row[i]) && i + 1 < n)
			continue;
		word = strchr(row[i].a->name, '.');
		if (!word)
			return IGNORE_NOTHING;
		word++;
		end = word + strcspn(word, ".");
		for (unsigned k = 0; k < sizeof(ignored) / sizeof(*ignored); k++)
			if (strlen(ignored[k].function) == (size_t)(end - word) &&
				memcmp(ignored[k].function, word, (size_t)(end - word)) == 0)
				return ignored[k].ignore;
		return IGNORE_NOTHING;
	}
	return IGNORE_NOTHING;
}

static void record_row_rule(struct row *r, enum rule rule)
{
	bool warning = rule == RULE_UNPAIRED || rule == RULE_TENFOLD || rule == RULE_COSINE;

	r->rules |= 1u << rule;
	if (!warning)
		r->verdict = VERDICT_ERROR;
	else if (r->verdict == VERDICT_PASS)
		r->verdict = VERDICT_WARNING;
}

static bool is_cell_finite(const struct cell *c)
{
	return c->kind != CELL_NAN && c->kind != CELL_INF && c->kind != CELL_MINUS_INF;
}

static bool has_finite_limits(const struct item *i)
{
	return is_cell_finite(&i->stat[STAT_MAX]) && is_cell_finite(&i->stat[STAT_MIN]);
}

/* Applies the rules that concern a single row. */
static void check_single_row(struct row *r, enum ignore ignore)
{
	const struct item *a = r->a, *b = r->b;

	if (!r->unrecorded && !has_finite_limits(a) && (!b || has_finite_limits(b)))
		record_row_rule(r, RULE_NOT_FINITE);
	if (!b)
		return;
	if (is_other_text(a->grad, b->grad))
		record_row_rule(r, RULE_GRAD);
	if (!is_output_row(r) && ignore == IGNORE_NOTHING && a->dtype && b->dtype &&
		strstr(a->dtype, "class") && strstr(b->dtype, "class") &&
		strcmp(a->shape, "[]") == 0) {
		const struct cell *x = &a->stat[STAT_MAX], *y = &b->stat[STAT_MAX];

		if (x->kind == CELL_NUMBER && y->kind == CELL_NUMBER
				? x->v != y->v
				: strcmp(x->text, y->text) != 0)
			record_row_rule(r, RULE_SCALAR);
	}
	if (a->dtype && b->dtype && strcmp(a->dtype, b->dtype) != 0 && !strstr(b->name, "qkv") &&
		!strstr(b->name, "gate_up"))
		record_row_rule(r, RULE_DTYPE);
	if (strcmp(a->shape ? a->shape : "", b->shape ? b->shape : "") != 0)
		record_row_rule(r, RULE_SHAPE);
}

static struct row *find_first_output(struct row *row, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (is_output_row(&row[i]))
			return &row[i];
	return NULL;
}

/* Returns the largest finite relative error of the norm on one side, or 0. */
static double find_norm_error(const struct row *row, unsigned n, bool outputs)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		if (is_output_row(&row[i]) == outputs && isfinite(row[i].norm_relative) &&
			row[i].norm_relative > most)
			most = row[i].norm_relative;
	return most;
}

static double find_min_metric(const struct row *row, unsigned n, bool outputs, unsigned metric)
{
	double least = 1;

	for (unsigned i = 0; i < n; i++)
		if (is_output_row(&row[i]) == outputs && row[i].metric_value[metric] < least)
			least = row[i].metric_value[metric];
	return least;
}

static void check_statistics_rules(struct row *row, unsigned n)
{
	double in = find_norm_error(row, n, false), out = find_norm_error(row, n, true);
	struct row *first = find_first_output(row, n);

	for (unsigned i = 0; in < RELATIVE_IN && i < n; i++)
		if (is_output_row(&row[i]) && row[i].norm_relative > RELATIVE_OUT)
			record_row_rule(&row[i], RULE_RELATIVE);
	if (first && (in == 0 ? out > RELATIVE_FROM_NOTHING : out / in > RELATIVE_TIMES))
		record_row_rule(first, RULE_TENFOLD);
}

static void check_tensor_rules(struct row *row, unsigned n)
{
	struct row *first = find_first_output(row, n);
	double in, out;

	if (!first)
		return;
	in = find_min_metric(row, n, false, METRIC_THOUSANDTH);
	out = find_min_metric(row, n, true, METRIC_THOUSANDTH);
	if (in > THOUSANDTH_IN && out < THOUSANDTH_OUT)
		record_row_rule(first, RULE_THOUSANDTH);
	in = find_min_metric(row, n, false, METRIC_COSINE);
	out = find_min_metric(row, n, true, METRIC_COSINE);
	if (in > COSINE_IN && in - out > COSINE_DROP)
		record_row_rule(first, RULE_COSINE);
}

static void check_checksum_rule(struct row *r)
{
	const char *a = r->a->crc, *b = r->b ? r->b->crc : NULL;

	if ((!a && !b && r->b) || r->unrecorded)
		return;
	if (!a || !b || !*a || !*b)
		record_row_rule(r, RULE_UNPAIRED);
	else if (strcmp(a, b) != 0)
		record_row_rule(r, RULE_CRC);
}

void check_call_rows(struct row *row, unsigned n, enum compare_mode mode, bool exact)
{
	enum ignore ignore = find_ignored_part(row, n);

	for (unsigned i = 0; i < n; i++) {
		bool counts = ignore == IGNORE_NOTHING ||
			      (ignore == IGNORE_INPUTS && is_output_row(&row[i]));

		row[i].verdict = VERDICT_PASS;
		row[i].rules = 0;
		if (!counts)
			continue;
		if (mode == COMPARE_CHECKSUM)
			check_checksum_rule(&row[i]);
		else
			check_single_row(&row[i], ignore);
		if (exact && mode != COMPARE_CHECKSUM && row[i].b && row[i].differs &&
			!row[i].rules)
			record_row_rule(&row[i], RULE_EXACT);
	}
	if (ignore != IGNORE_NOTHING || mode == COMPARE_CHECKSUM)
		return;
	if (mode == COMPARE_TENSOR)
		check_tensor_rules(row, n);
	else
		check_statistics_rules(row, n);
}
