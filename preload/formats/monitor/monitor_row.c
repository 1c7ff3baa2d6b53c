/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/monitor/monitor_row.h"

#include <math.h>
#include <string.h>

#include "terms/dtype.h"
#include "sink/column.h"
#include "text/pytext.h"

void monitor_write_header(
	struct text *t, uint32_t ops, bool micro, const struct monitor_style *style)
{
	enum train_op op;

	text_add_string(t, style->v2 ? "vpp_stage,step,module_name,scope" : "vpp_stage,name,step");
	text_add_string(t, micro ? ",micro_step" : "");
	for (unsigned i = 0; (op = get_train_op(ops, i)) && op < TRAIN_OPS_END; i++) {
		write_comma(t);
		text_add_string(t, train_op_words[op]);
	}
	text_add_string(t, style->v2 ? "\n" : ",shape,dtype\n");
}

void monitor_start_row(
	struct text *t, const struct monitor_row *r, const struct monitor_style *style)
{
	text_add_u64(t, r->vpp_stage);
	write_comma(t);
	if (style->v2) {
		text_add_u64(t, r->step);
		write_comma(t);
		csv_add_field_max(t, r->name, ROW_STRING_MAX);
		write_comma(t);
		text_add_string(t, r->scope);
	} else {
		csv_add_field_max(t, r->name, ROW_STRING_MAX);
		write_comma(t);
		text_add_u64(t, r->step);
	}
	write_comma(t);
	if (r->micro_step != UINT32_MAX) {
		text_add_u64(t, r->micro_step);
		write_comma(t);
	}
}

/*
 * Returns the nearest integer, ties to even, like rint(): the C library's version would need
 * libm, and compilers differ in whether they inline it.
 */
static double find_nearest_integer(double v)
{
	double no_fraction = copysign(4503599627370496.0, v); /* 2^52 */

	return fabs(v) < 4503599627370496.0 ? copysign(v + no_fraction - no_fraction, v) : v;
}

/*
 * Writes a number as pandas rounds and writes a float64: numpy's round(), then the shortest text
 * of the result.
 */
static void format_rounded(struct text *t, double v, int ndigits)
{
	double factor = 1, scaled;

	for (int i = 0; i < ndigits; i++)
		factor *= 10;
	scaled = v * factor;
	text_add_python_float(t, isfinite(scaled) ? find_nearest_integer(scaled) / factor : v);
}

/*
 * Writes at most `ndigits` decimals, without zeros at the end except the first: 0.25, 3.0. Does
 * not round beyond an integer's range.
 */
static void write_decimals(struct text *t, double v, int ndigits)
{
	static const uint64_t ten[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
	uint64_t scaled, whole, part;
	int digits = ndigits;

	if (ndigits > 9) {
		format_rounded(t, v, ndigits);
		return;
	}
	if (!(fabs(v) * (double)ten[ndigits] < 4e15)) {
		text_add_double(t, v, 17);
		return;
	}
	scaled = (uint64_t)(fabs(v) * (double)ten[ndigits] + 0.5);
	whole = scaled / ten[ndigits];
	part = scaled % ten[ndigits];
	if (v < 0 && scaled)
		text_add_char(t, '-');
	text_add_u64(t, whole);
	text_add_char(t, '.');
	while (digits > 1 && part % 10 == 0) {
		part /= 10;
		digits--;
	}
	for (int i = digits - 1; i > 0 && part < ten[i]; i--)
		text_add_char(t, '0');
	text_add_u64(t, part);
}

static void write_monitor_number(
	struct text *t, double v, const struct dtype_info *d, const struct monitor_style *style)
{
	if (isnan(v))
		text_add_string(t, "nan");
	else if (isinf(v))
		text_add_string(t, v < 0 ? "-inf" : "inf");
	else if (style->ndigits >= 0)
		write_decimals(t, v, style->ndigits);
	else
		text_add_double(t, v == 0 ? 0 : v, d->wide ? 17 : 9);
}

static void write_monitor_extreme(struct text *t, const struct dtype_info *d, union stats_value v,
	const struct monitor_style *style)
{
	if (d->cls == DTC_SIGNED)
		text_add_i64(t, v.i);
	else if (d->cls == DTC_UNSIGNED)
		text_add_u64(t, v.u);
	else
		write_monitor_number(t, v.f, d, style);
}

void monitor_write_statistics(struct text *t, uint32_t ops, const struct stats *s, uint64_t count,
	uint8_t dtype, const struct monitor_style *style)
{
	const struct dtype_info *d = get_dtype_info(dtype);
	bool bad = !s->n || s->nans;
	enum train_op op;

	for (unsigned i = 0; (op = get_train_op(ops, i)) && op < TRAIN_OPS_END; i++) {
		if (op == TO_NANS && s->n)
			text_add_u64(t, s->nans);
		else if (op == TO_INFS && s->n)
			text_add_u64(t, s->infs);
		else if (op == TO_ZEROS && s->n)
			write_monitor_number(t, (double)s->zeros / (double)s->n, d, style);
		else if (bad || (op == TO_ID && count != 1))
			text_add_string(t, "nan");
		else if (op == TO_MIN || op == TO_ID)
			write_monitor_extreme(t, d, s->min, style);
		else if (op == TO_MAX)
			write_monitor_extreme(t, d, s->max, style);
		else
			write_monitor_number(t, op == TO_MEAN ? s->mean : s->norm, d, style);
		write_comma(t);
	}
}

void monitor_close_row(struct text *t, const uint64_t *dim, unsigned ndim, const char *prefix,
	const char *dtype, const struct monitor_style *style)
{
	if (style->v2) {
		csv_close_row(t);
		return;
	}
	if (ndim == 255) {
		text_add_string(t, "nan");
	} else {
		text_add_string(t, ndim > 1 ? "\"[" : "[");
		for (unsigned i = 0; i < ndim; i++) {
			text_add_string(t, i ? ", " : "");
			text_add_u64(t, dim[i]);
		}
		text_add_string(t, ndim > 1 ? "]\"" : "]");
	}
	write_comma(t);
	csv_add_field_max(t, prefix, ROW_STRING_MAX);
	text_add_string(t, dtype);
	text_add_char(t, '\n');
}
