/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decimal_format() against printf, byte for byte: random bits, sums of few powers of two (ties), decimal numbers and
 * their neighbours, each round decimal of three digits. DECIMAL_VALUES in the environment: how many of each (500000).
 */
/* long: 500,000 values of each kind, 10^7 of nine digits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/decimal.h"
#include "text/text.h"
#include "long_form.h"

static uint64_t seed = UINT64_C(88172645463325252);
static long values, asked, undecided;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void check(double v, int digits)
{
	char have[DECIMAL_TEXT_MAX + 1], want[64];
	int n;

	if (!isfinite(v))
		return;
	n = decimal_format(have, v, digits);
	asked++;
	if (!n) {
		undecided++;
		return;
	}
	have[n] = 0;
	snprintf(want, sizeof(want), "%.*g", digits, v);
	if (strcmp(have, want) != 0)
		fail_msg("%a with %d digits: %s instead of %s", v, digits, have, want);
}

static void check_all(double v)
{
	check(v, 9);
	check(v, 17);
	check(v, 1 + (int)(next() % 17));
}

static void test_random(void **state)
{
	(void)state;
	for (long i = 0; i < values; i++) {
		union {
			uint64_t u;
			double d;
		} x = {.u = next()};

		check_all(x.d);
	}
}

static void test_ties(void **state)
{
	(void)state;
	for (long i = 0; i < values; i++) {
		int64_t m = (int64_t)(next() >> next() % 64);
		double v = (double)m / (double)(UINT64_C(1) << next() % 60);

		check_all(v);
		check((float)v, 9);
	}
	for (int e = -60; e < 60; e++)
		for (int k = 1; k < 2000; k++)
			for (int d = 1; d <= 17; d++)
				check(ldexp(k, e), d);
}

static void test_decimal(void **state)
{
	char text[64];

	(void)state;
	for (long i = 0; i < values; i++) {
		snprintf(text, sizeof(text), "%.*ge%d", 1 + (int)(next() % 17),
			(double)next() / 1.8e19, (int)(next() % 640) - 330);

		double v = strtod(text, NULL);

		check_all(v);
		check_all(nextafter(v, 0));
		check_all(nextafter(v, INFINITY));
	}
	for (int e = -330; e < 309; e++)
		for (int k = 1; k < 1000; k += e % 10 ? 7 : 1) {
			snprintf(text, sizeof(text), "%de%d", k, e - 2);
			for (int d = 1; d <= 17; d++)
				check(strtod(text, NULL), d);
		}
}

static void check_with_neighbours(double v)
{
	check(v, 9);
	check(nextafter(v, 0), 9);
	check(nextafter(v, INFINITY), 9);
	check(-v, 9);
}

/* Nine digits are made by one multiplication where that is certain: of every exponent as many, 10^7 values in all. */
static void nine_digits_are_those_of_printf_at_every_exponent(void **state)
{
	const long each = long_or_short(10000000, 240000) / (2047 * 3);
	char text[16];

	(void)state;
	for (uint64_t e = 0; e < 2047; e++)
		for (long i = 0; i <= each; i++) {
			union {
				uint64_t u;
				double d;
			} x = {.u = e << 52 | (i == each ? 0 : next() >> 12)};

			check_with_neighbours(x.d);
		}
	for (int e = -323; e <= 308; e++) {
		snprintf(text, sizeof(text), "1e%d", e);
		check_with_neighbours(strtod(text, NULL));
	}
	for (int i = 0; i < each * 600; i++) {
		float value = (float)ldexp((double)(next() >> 40), (int)(next() % 60) - 50);

		check_with_neighbours((double)value);
	}
}

static void test_edges(void **state)
{
	static const double edge[] = {0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308,
		2.2250738585072009e-308, 1.7976931348623157e308, 0.1, 0.5, 1.0, 1.5, 2.5, 0.125,
		9.5, 99.5, 999999999.5, 9999999995.0, 99999999.95, 1e22, 1e23, 123456789.0,
		1234567890.0, 0.0001, 0.00001, 0.00009999999995};

	(void)state;
	for (size_t i = 0; i < sizeof(edge) / sizeof(*edge); i++)
		for (int d = 1; d <= 17; d++) {
			check(edge[i], d);
			check(-edge[i], d);
			check(nextafter(edge[i], 0), d);
			check(nextafter(edge[i], INFINITY), d);
		}
}

/* Only few numbers are left to printf, otherwise it would not be faster. Must be the last test. */
static void test_decided(void **state)
{
	(void)state;
	assert_true(asked > values);
	assert_true((double)undecided < 5e-4 * (double)asked);
}

/* ... and there text_add_double() asks it. */
static void test_text(void **state)
{
	static const double tie[] = {1000000000000000065024.0, 72057594037927945.0, 0.3, -1e-5};
	char buf[64], want[64];

	(void)state;
	for (size_t i = 0; i < sizeof(tie) / sizeof(*tie); i++)
		for (int d = 1; d <= 20; d++) {
			struct text t = text_init(buf, sizeof(buf));

			text_add_double(&t, tie[i], d);
			snprintf(want, sizeof(want), "%.*g", d, tie[i]);
			assert_string_equal(buf, want);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(nine_digits_are_those_of_printf_at_every_exponent),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_decided),
	};

	values = long_or_short(500000, 120000);
	if (getenv("DECIMAL_VALUES"))
		values = atol(getenv("DECIMAL_VALUES"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
