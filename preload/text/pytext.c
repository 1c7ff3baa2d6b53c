/* SPDX-License-Identifier: Apache-2.0 */
#include "text/pytext.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 400 /* a double has at most 309 digits before its point */

/* The C locale object is static in glibc: no allocation, and only this thread sees the change. */
static locale_t set_c_locale(void)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	return c ? uselocale(c) : (locale_t)0;
}

static void reset_locale(locale_t was)
{
	if (was)
		uselocale(was);
}

static bool write_odd_number(struct text *t, double v)
{
	if (isfinite(v))
		return false;
	text_add_string(t, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
	return true;
}

void text_fixed(struct text *t, double v, int width, int decimals)
{
	char tmp[NUMBER_MAX];
	locale_t was;
	int n;

	if (write_odd_number(t, v))
		return;
	was = set_c_locale();
	n = snprintf(tmp, sizeof(tmp), "%*.*f", width, decimals, v);
	reset_locale(was);
	if (n > 0 && (size_t)n < sizeof(tmp))
		text_add_bytes(t, tmp, (size_t)n);
}

/* The digits of a number without the point, and the position of the point: 0.0123 is 123 and -1. */
struct digits {
	char text[24];
	int n, point;
};

/*
 * Finds `most` digits, or the fewest that restore the number, as a float (single) or as a double.
 */
static void find_shortest_digits(struct digits *d, double v, bool single, int most)
{
	locale_t was = set_c_locale();
	char tmp[40];

	for (d->n = 1; d->n <= most; d->n++) {
		double back;

		snprintf(tmp, sizeof(tmp), "%.*e", d->n - 1, fabs(v));
		back = strtod(tmp, NULL);
		if (d->n == most || (single ? (float)back == (float)fabs(v) : back == fabs(v)))
			break;
	}
	reset_locale(was);
	d->text[0] = tmp[0];
	memcpy(d->text + 1, tmp + 2, (size_t)d->n - 1);
	d->point = atoi(strchr(tmp, 'e') + 1) + 1;
	while (d->n > 1 && d->text[d->n - 1] == '0')
		d->n--;
}

static void write_python_positional(struct text *t, const struct digits *d)
{
	if (d->point <= 0)
		text_add_char(t, '0');
	for (int i = 0; i < d->point; i++)
		text_add_char(t, i < d->n ? d->text[i] : '0');
	text_add_char(t, '.');
	for (int i = d->point; i < 0; i++)
		text_add_char(t, '0');
	if (d->n > d->point)
		text_add_bytes(t, d->text + (d->point > 0 ? d->point : 0),
			(size_t)(d->n - (d->point > 0 ? d->point : 0)));
}

/* point: write a point even if no digit follows it. */
static void write_python_exponent(struct text *t, const struct digits *d, bool point)
{
	int e = d->point - 1;

	text_add_char(t, d->text[0]);
	if (d->n > 1 || point)
		text_add_char(t, '.');
	text_add_bytes(t, d->text + 1, (size_t)d->n - 1);
	text_add_string(t, e < 0 ? "e-" : "e+");
	if (abs(e) < 10)
		text_add_char(t, '0');
	text_add_u64(t, (uint64_t)abs(e));
}

static void write_shortest(struct text *t, double v, bool single, int most)
{
	struct digits d;

	if (write_odd_number(t, v))
		return;
	find_shortest_digits(&d, v, single, most);
	if (signbit(v))
		text_add_char(t, '-');
	if (d.point <= -4 || d.point > 16) {
		write_python_exponent(t, &d, false);
		return;
	}
	write_python_positional(t, &d);
	if (d.n <= d.point)
		text_add_char(t, '0');
}

void text_add_python_float(struct text *t, double v)
{
	write_shortest(t, v, false, 17);
}

void text_add_python_single(struct text *t, float v)
{
	write_shortest(t, (double)v, true, 9);
}

/* NumPy's printing precision: number of digits after the point. */
#define NUMPY_DECIMALS 8

void text_add_numpy_single(struct text *t, float v)
{
	struct digits d;
	double size = fabs((double)v);

	text_add_char(t, '[');
	if (!write_odd_number(t, (double)v)) {
		bool exponent = size >= 1e8 || (size > 0 && size < 1e-4);

		find_shortest_digits(&d, (double)v, true, 9);
		if (!exponent && d.n - d.point > NUMPY_DECIMALS) {
			int most = NUMPY_DECIMALS + d.point;

			find_shortest_digits(&d, (double)v, true, most > 0 ? most : 1);
		}
		if (signbit((double)v))
			text_add_char(t, '-');
		if (exponent)
			write_python_exponent(t, &d, true);
		else
			write_python_positional(t, &d);
	}
	text_add_char(t, ']');
}

void text_add_timedelta(struct text *t, uint64_t seconds)
{
	uint64_t days = seconds / 86400, rest = seconds % 86400;

	if (days) {
		text_add_u64(t, days);
		text_add_string(t, days == 1 ? " day, " : " days, ");
	}
	text_add_u64(t, rest / 3600);
	text_add_char(t, ':');
	text_add_u64(t, rest / 600 % 6);
	text_add_u64(t, rest / 60 % 10);
	text_add_char(t, ':');
	text_add_u64(t, rest / 10 % 6);
	text_add_u64(t, rest % 10);
}
