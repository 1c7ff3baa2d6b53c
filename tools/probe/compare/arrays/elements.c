/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/arrays/elements.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

#define AT_ONCE 4096u
#define COSINE_ROUND 0.9999 /* above this value msprobe rounds to six digits */

/*
 * Returns the relative error, computed in the arithmetic of the tensors' own type
 * (numpy.result_type of both and float32). If b is 0, the machine epsilon of that type is added to
 * both.
 */
static double compute_relative_error(double a, double b, bool narrow)
{
	double eps = b != 0 ? 0 : narrow ? (double)FLT_EPSILON : DBL_EPSILON;

	if (narrow) {
		float x = (float)a + (float)eps, y = (float)b + (float)eps;

		return fabsf((x - y) / y);
	}
	a += eps;
	b += eps;
	return fabs((a - b) / b);
}

static bool is_narrow_float(enum dtype dt)
{
	return dt == DT_FLOAT32 || dt == DT_FLOAT16 || dt == DT_BFLOAT16 ||
	       dt == DT_FLOAT8_E4M3FN || dt == DT_FLOAT8_E5M2 || dt == DT_FLOAT8_E8M0FNU ||
	       dt == DT_FLOAT8_E4M3FNUZ || dt == DT_FLOAT8_E5M2FNUZ;
}

static void add_elements(
	struct element_sums *s, const double *a, const double *b, unsigned n, bool narrow)
{
	for (unsigned i = 0; i < n; i++) {
		double x = a[i], y = b[i], d, relative;
		bool bad_x = !isfinite(x), bad_y = !isfinite(y);

		if (bad_x || bad_y) {
			s->odd_places |= isnan(x) != isnan(y) || isinf(x) != isinf(y);
			x = y = 0;
		}
		d = fabs(x - y);
		relative = compute_relative_error(x, y, narrow);
		s->dot += x * y;
		s->squares_a += x * x;
		s->squares_b += y * y;
		s->squares_diff += d * d;
		s->max_abs = d > s->max_abs ? d : s->max_abs;
		s->max_relative =
			relative > s->max_relative || isnan(relative) ? relative : s->max_relative;
		s->thousandth += relative < 0.001;
		s->five_thousandths += relative < 0.005;
	}
	s->n += n;
}

const char *compute_element_sums(struct element_sums *s, const struct array_file *fa,
	const struct array *a, const struct array_file *fb, const struct array *b)
{
	struct array_reader *ra = open_array(fa, a), *rb = open_array(fb, b);
	double *x = tool_alloc(2 * AT_ONCE * sizeof(*x)), *y = x + AT_ONCE;
	unsigned size = get_dtype_info(a->dtype)->size;
	unsigned char *bytes = tool_alloc(2 * AT_ONCE * 16), *other = bytes + AT_ONCE * 16;
	bool narrow = is_narrow_float(a->dtype) && is_narrow_float(b->dtype);
	const char *why = NULL;
	unsigned n;

	*s = (struct element_sums){.same_bytes = a->dtype == b->dtype};
	while ((n = read_elements(ra, x, bytes, AT_ONCE))) {
		unsigned m = 0, k;

		while (m < n && (k = read_elements(rb, y + m, other + (size_t)m * size, n - m)))
			m += k;
		if (m < n) {
			why = rb->why ? rb->why : "has fewer elements";
			break;
		}
		s->same_bytes = s->same_bytes && memcmp(bytes, other, (size_t)n * size) == 0;
		add_elements(s, x, y, n, narrow);
	}
	if (!why)
		why = ra->why;
	free(x);
	free(bytes);
	close_array(ra);
	close_array(rb);
	return why;
}

/* ---- a row ---- */

static void set_metric(struct row *r, unsigned m, double v, struct pool *p)
{
	char text[PYTHON_DOUBLE_MAX];

	r->metric_value[m] = v;
	r->metric[m] = isnan(v) ? "Nan" : pool_copy_text(p, format_python_double(text, v));
}

static void set_all_metrics(struct row *r, const char *text)
{
	for (unsigned m = 0; m < METRICS; m++)
		r->metric[m] = text;
}

/* Rounds a metric to the value that '{:.12f}' parses back to. */
static double round_metric(double v)
{
	char text[400];

	if (!isfinite(v))
		return v;
	snprintf(text, sizeof(text), "%.12f", v);
	return strtod(text, NULL);
}

static double compute_cosine(const struct element_sums *s)
{
	double a = sqrt(s->squares_a), b = sqrt(s->squares_b), v;

	if (a <= DBL_EPSILON && b <= DBL_EPSILON)
		return 1;
	if (a <= DBL_EPSILON || b <= DBL_EPSILON)
		return NAN;
	v = round_metric(s->dot / (a * b));
	return v > COSINE_ROUND ? round(v * 1e6) / 1e6 : v;
}

/* Returns the shape without dimensions of size one, as msprobe compares it. */
static unsigned copy_squeezed_shape(const struct array *a, uint64_t out[ARRAY_DIMS_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->ndim; i++)
		if (a->shape[i] != 1)
			out[n++] = a->shape[i];
	return n;
}

static void set_element_metrics(struct row *r, const struct element_sums *s, struct pool *p)
{
	if (s->odd_places) {
		set_all_metrics(r, "N/A");
		r->note = "NaN or Inf at different positions";
		return;
	}
	set_metric(r, METRIC_MAX_ABS, round_metric(s->max_abs), p);
	set_metric(r, METRIC_MAX_RELATIVE, round_metric(s->max_relative), p);
	set_metric(r, METRIC_COSINE, compute_cosine(s), p);
	set_metric(r, METRIC_DISTANCE, sqrt(s->squares_diff), p);
	set_metric(r, METRIC_THOUSANDTH, round_metric((double)s->thousandth / (double)s->n), p);
	set_metric(r, METRIC_FIVE_THOUSANDTHS,
		round_metric((double)s->five_thousandths / (double)s->n), p);
}

/* Rounds as numpy does in arithmetic on one-element tensors of these types. */
static double round_to_type(double v, enum dtype a, enum dtype b)
{
	int exponent;

	if (!isfinite(v) || !is_narrow_float(a) || !is_narrow_float(b))
		return v;
	if (a != DT_FLOAT16 || b != DT_FLOAT16)
		return (double)(float)v;
	frexp(v, &exponent);
	exponent = exponent - 11 > -24 ? exponent - 11 : -24;
	return ldexp(nearbyint(ldexp(v, -exponent)), exponent);
}

/*
 * Compares two tensors with one element. NaN and Inf are kept, and only two metrics have a meaning.
 */
static const char *compute_scalar_row(
	struct row *r, const struct array_file *fa, const struct array_file *fb, struct pool *p)
{
	const struct array *a = &fa->array[0], *b = &fb->array[0];
	struct array_reader *ra = open_array(fa, a), *rb = open_array(fb, b);
	const char *why = NULL;
	double x, y, relative;

	if (read_elements(ra, &x, NULL, 1) != 1 || read_elements(rb, &y, NULL, 1) != 1) {
		why = ra->why ? ra->why : rb->why;
	} else {
		relative = compute_relative_error(
			x, y, is_narrow_float(a->dtype) && is_narrow_float(b->dtype));
		set_metric(r, METRIC_MAX_ABS,
			round_metric(fabs(round_to_type(x - y, a->dtype, b->dtype))), p);
		set_metric(r, METRIC_MAX_RELATIVE, round_metric(relative), p);
		r->differs |= x != y && !(isnan(x) && isnan(y));
	}
	close_array(ra);
	close_array(rb);
	return why;
}

static void compute_array_row(struct row *r, const struct array_file *fa,
	const struct array_file *fb, bool exact, struct pool *p)
{
	const struct array *a = &fa->array[0], *b = &fb->array[0];
	uint64_t x[ARRAY_DIMS_MAX], y[ARRAY_DIMS_MAX];
	unsigned n = copy_squeezed_shape(a, x), m = copy_squeezed_shape(b, y);
	struct element_sums s;
	const char *why;

	if (!a->count) {
		set_all_metrics(r, "unsupported");
		return;
	}
	if (n != m || memcmp(x, y, n * sizeof(*x)) != 0) {
		set_all_metrics(r, "shape unmatched");
		r->differs = true;
		return;
	}
	why = compute_element_sums(&s, fa, a, fb, b);
	if (!why && n == 0)
		why = compute_scalar_row(r, fa, fb, p);
	if (why) {
		set_all_metrics(r, "unsupported");
		r->note = why;
		r->differs = true;
		return;
	}
	r->differs |= exact ? !s.same_bytes : s.odd_places || s.max_abs > 0;
	if (n)
		set_element_metrics(r, &s, p);
}

void compute_row_metrics(
	struct row *r, const char *dir_a, const char *dir_b, bool exact, struct pool *p)
{
	struct array_file fa = {.fd = -1}, fb = {.fd = -1};
	char *a, *b;

	set_all_metrics(r, "unsupported");
	if (!r->b || !r->a->data || !r->b->data)
		return;
	a = tool_format("%s/%s", dir_a, r->a->data);
	b = tool_format("%s/%s", dir_b, r->b->data);
	if (open_array_file(&fa, a) || open_array_file(&fb, b) || fa.n != 1 || fb.n != 1) {
		r->note = pool_copy_text(p, fa.why   ? fa.why
					    : fb.why ? fb.why
						     : "does not contain exactly one tensor");
		r->differs = true;
	} else {
		compute_array_row(r, &fa, &fb, exact, p);
	}
	close_array_file(&fa);
	close_array_file(&fb);
	free(a);
	free(b);
}
