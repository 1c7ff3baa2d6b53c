/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload/stats against the reference of stats_reference.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stats_reference.h"

#define EPS 1e-8
#define LONGEST 10000 /* elements */

static uint64_t seed = 1;

static void measure(unsigned dt, const void *p, uint64_t n, double eps, struct stats *out)
{
	struct stats_fenv env;
	struct stats_acc a;

	stats_fenv_set(&env);
	assert_int_equal(stats_begin(&a, dt, eps), 0);
	stats_add(&a, p, n);
	stats_end(&a, out);
	stats_fenv_reset(&env);
}

static void check(unsigned dt, const void *p, uint64_t n, double eps)
{
	struct reference want;
	struct stats got;
	const char *wrong;

	measure(dt, p, n, eps, &got);
	ref_measure(dt, p, n, eps, &want);
	wrong = ref_compare(dt, &got, &want);
	if (wrong)
		fail_msg("%s (n %llu, eps %g)", wrong, (unsigned long long)n, eps);
}

/* A block that ends where the heap object does, so that the address sanitizer sees any byte read too many. */
static unsigned char *tensor_at(unsigned char **alloc, size_t bytes, size_t offset)
{
	*alloc = malloc(bytes + offset + !(bytes + offset));
	assert_non_null(*alloc);
	return *alloc + offset;
}

/* Each value of the types of a byte by itself; a few as their standards list them. */
static void test_every_byte(void **state)
{
	static const struct {
		uint8_t dt, byte;
		double value; /* NaN: it is one */
	} known[] = {{DT_FLOAT8_E8M0FNU, 0, 0x1p-127}, {DT_FLOAT8_E8M0FNU, 0x7f, 1},
		{DT_FLOAT8_E8M0FNU, 0xfe, 0x1p127}, {DT_FLOAT8_E8M0FNU, 0xff, NAN},
		{DT_FLOAT8_E4M3FNUZ, 0x7f, 240}, {DT_FLOAT8_E4M3FNUZ, 0xff, -240},
		{DT_FLOAT8_E4M3FNUZ, 1, 0x1p-10}, {DT_FLOAT8_E4M3FNUZ, 0x40, 1},
		{DT_FLOAT8_E4M3FNUZ, 0x80, NAN}, {DT_FLOAT8_E5M2FNUZ, 0x7f, 57344},
		{DT_FLOAT8_E5M2FNUZ, 1, 0x1p-17}, {DT_FLOAT8_E5M2FNUZ, 0x40, 1},
		{DT_FLOAT8_E5M2FNUZ, 0x80, NAN}, {DT_FLOAT4_E2M1FN_X2, 0x77, 6},
		{DT_FLOAT4_E2M1FN_X2, 0x99, -0.5}};
	struct stats s;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		measure(known[i].dt, &known[i].byte, 1, EPS, &s);
		assert_true(isnan(known[i].value)
				    ? s.nans == s.n && isnan(s.min.f)
				    : s.min.f == known[i].value && s.max.f == known[i].value);
	}
	for (unsigned dt = 1; dt < DT_COUNT; dt++)
		for (unsigned byte = 0; byte < 256 && get_dtype_info(dt)->size == 1; byte++)
			check(dt, &(unsigned char){(unsigned char)byte}, 1, EPS);
	/* The first number of a pair is in the low half. */
	measure(DT_FLOAT4_E2M1FN_X2, &(unsigned char){0xa7}, 1, EPS, &s);
	assert_true(s.n == 2 && s.min.f == -1 && s.max.f == 6 && s.mean == 2.5);
}

static void test_every_length_and_offset(void **state)
{
	(void)state;
	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (size_t n = 0; n <= 257; n++) {
			for (size_t offset = 0; offset < 16; offset += 1 + n % 3) {
				unsigned char *alloc;
				unsigned char *p =
					tensor_at(&alloc, n * get_dtype_info(dt)->size, offset);

				fill_tensor(dt, p, n, (n + offset) % FILL_PATTERNS, &seed);
				check(dt, p, n, EPS);
				free(alloc);
			}
		}
	}
}

static void test_patterns_across_blocks(void **state)
{
	static const size_t length[] = {
		511, 512, 513, 1000, 2047, 2048, 2049, 4095, 4097, 6145, LONGEST};

	(void)state;
	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (size_t i = 0; i < sizeof(length) / sizeof(*length); i++) {
			for (unsigned pattern = 0; pattern < FILL_PATTERNS; pattern++) {
				unsigned char *alloc;
				unsigned char *p =
					tensor_at(&alloc, length[i] * get_dtype_info(dt)->size, i);

				fill_tensor(dt, p, length[i], pattern, &seed);
				check(dt, p, length[i], EPS);
				free(alloc);
			}
		}
	}
}

/* One odd element among ordinary ones, wherever it stands: the first, the last, at the edge of a block. */
static void test_one_special_element(void **state)
{
	(void)state;
	for (unsigned dt = DT_FLOAT8_E4M3FN; dt <= DT_FLOAT64; dt++) {
		size_t size = get_dtype_info(dt)->size, n = 4100;
		unsigned char *p = malloc(n * size);

		assert_non_null(p);
		fill_tensor(dt, p, n, FILL_USUAL, &seed);
		for (unsigned i = 0; i < 300; i++) {
			static const size_t edge[] = {0, 255, 256, 2047, 2048, 4095, 4096, 4099};
			size_t at = i < 64 ? edge[i % 8] : random_bits(&seed) % n;
			unsigned char keep[8];

			memcpy(keep, p + at * size, size);
			fill_tensor(dt, p + at * size, 1, i & 1 ? FILL_EXTREME : FILL_HUGE, &seed);
			check(dt, p, n, EPS);
			memcpy(p + at * size, keep, size);
		}
		free(p);
	}
}

/*
 * Ordinary, huge and tiny blocks in one tensor: sums and squares of different ranges meet. Mostly where the ranges do,
 * so that both sides count.
 */
static void test_mixed_ranges(void **state)
{
	static const struct {
		int from, span;
	} exponents[] = {{-1000, 2000}, {476, 8}, {-454, 8}, {508, 8}, {-1074, 8}};
	static double x[LONGEST];

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		size_t n = 1 + random_bits(&seed) % LONGEST,
		       e = round % (sizeof(exponents) / sizeof(*exponents));

		for (size_t at = 0; at < n;) {
			size_t len = 1 + random_bits(&seed) % 3000;
			int shift =
				exponents[e].from + (int)(random_bits(&seed) % exponents[e].span);

			len = len < n - at ? len : n - at;
			fill_tensor(DT_FLOAT64, x + at, len, FILL_USUAL, &seed);
			for (size_t i = 0; i < len; i++)
				x[at + i] = ldexp(x[at + i], shift);
			at += len;
		}
		check(DT_FLOAT64, x, n, EPS);
	}
}

static void test_all_small_floats(void **state)
{
	static const uint8_t types[] = {DT_FLOAT8_E4M3FN, DT_FLOAT8_E5M2, DT_BFLOAT16, DT_FLOAT16};

	(void)state;
	for (unsigned t = 0; t < sizeof(types); t++) {
		uint32_t count = get_dtype_info(types[t])->size == 1 ? 256 : 65536;

		for (uint32_t bits = 0; bits < count; bits++) {
			long double want = decode_float(float_format(types[t]), bits);
			struct stats s;

			measure(types[t], &bits, 1, EPS, &s);
			if (isnan(want) ? s.nans != 1 || !isnan(s.min.f)
					: s.min.f != want || s.max.f != want)
				fail_msg("%s 0x%x is %g instead of %Lg",
					get_dtype_info(types[t])->name, bits, s.min.f, want);
			check(types[t], &bits, 1, EPS);
		}
	}
}

static void test_pieces(void **state)
{
	static unsigned char data[LONGEST * 16];

	(void)state;
	for (unsigned round = 0; round < 40 * DT_COUNT; round++) {
		unsigned dt = 1 + round % (DT_COUNT - 1), size = get_dtype_info(dt)->size;
		size_t n = 1 + random_bits(&seed) % LONGEST,
		       longest = 1 + random_bits(&seed) % 5000;
		struct reference want;
		struct stats_fenv env;
		struct stats_acc a;
		struct stats got;

		fill_tensor(dt, data, n, round % FILL_PATTERNS, &seed);
		ref_measure(dt, data, n, EPS, &want);
		stats_fenv_set(&env);
		stats_begin(&a, dt, EPS);
		for (size_t at = 0; at < n;) {
			size_t len = random_bits(&seed) % (longest + 1);

			len = len < n - at ? len : n - at;
			stats_add(&a, len ? data + at * size : NULL, len);
			at += len;
		}
		stats_end(&a, &got);
		stats_fenv_reset(&env);
		if (ref_compare(dt, &got, &want))
			fail_msg("%s", ref_compare(dt, &got, &want));
	}
}

/* Rounding must not carry the mean of equal elements away from them, nor beyond the largest double. */
static void test_equal_elements(void **state)
{
	static double x[LONGEST];

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		size_t n = 1 + random_bits(&seed) % LONGEST;
		struct stats s;

		fill_tensor(DT_FLOAT64, x, 1, round % 4 ? FILL_USUAL : FILL_MAX, &seed);
		x[0] *= round & 1 ? -1 : 1;
		for (size_t i = 1; i < n; i++)
			x[i] = x[0];
		check(DT_FLOAT64, x, n, EPS);
		measure(DT_FLOAT64, x, n, EPS, &s);
		assert_true(s.mean == x[0]);
	}
}

/* The error must not grow with the length: 2^26 elements that a plain double sum would lose beside the first. */
static void test_long_tensor(void **state)
{
	enum { PIECE = 2048, PIECES = 1 << 15 };
	static double x[PIECE];
	struct stats_fenv env;
	struct stats_acc a;
	struct stats s;
	long double small = 100.0L * PIECES, n = 1 + (long double)PIECE * PIECES;
	double first = 0x1p60, root = 0x1p30;

	(void)state;
	for (unsigned i = 0; i < PIECE; i++)
		x[i] = i < 100;
	for (unsigned squares = 0; squares < 2; squares++) {
		stats_fenv_set(&env);
		stats_begin(&a, DT_FLOAT64, EPS);
		stats_add(&a, squares ? &root : &first, 1);
		for (unsigned i = 0; i < PIECES; i++)
			stats_add(&a, x, PIECE);
		stats_end(&a, &s);
		stats_fenv_reset(&env);
		if (!squares)
			assert_true(fabsl(s.mean * n / (first + small) - 1) < 1e-15L);
		else
			assert_true(fabsl(s.norm / sqrtl(first + small) - 1) < 1e-15L);
		assert_true(s.n == n && s.zeros == (PIECE - 100ull) * PIECES);
	}
}

/* Squares that are small enough for a block, but 2^26 of them are not. */
static void test_long_and_large(void **state)
{
	enum { PIECE = 2048, PIECES = 1 << 15 };
	static double x[PIECE];
	struct stats_fenv env;
	struct stats_acc a;
	struct stats s;

	(void)state;
	for (unsigned i = 0; i < PIECE; i++)
		x[i] = 0x1p500;
	stats_fenv_set(&env);
	stats_begin(&a, DT_FLOAT64, EPS);
	for (unsigned i = 0; i < PIECES; i++)
		stats_add(&a, x, PIECE);
	stats_end(&a, &s);
	stats_fenv_reset(&env);
	assert_true(s.mean == 0x1p500 && s.norm == 0x1p513);
}

static void test_known_values(void **state)
{
	double inf = INFINITY, big = DBL_MAX, least = 0x1p-1074;
	double infs[] = {inf, 1, -inf}, max3[] = {big, big, big}, cancel[] = {big, -big, 3};
	double tiny[] = {3 * least, -4 * least}, nans[] = {NAN, -NAN}, zero[] = {-0.0, 0.0, -0.0};
	int64_t wide[] = {INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX, -1};
	uint64_t most[] = {UINT64_MAX, UINT64_MAX};
	float complex_parts[] = {1, -2, 3, 4};
	unsigned char bools[] = {0, 1, 2, 255, 0, 0, 128, 0};
	struct stats s;

	(void)state;
	measure(DT_FLOAT64, infs, 2, EPS, &s);
	assert_true(
		s.mean == inf && s.norm == inf && s.min.f == 1 && s.max.f == inf && s.infs == 1);
	measure(DT_FLOAT64, infs + 1, 2, EPS, &s);
	assert_true(s.mean == -inf && s.norm == inf && s.min.f == -inf && s.max.f == 1);
	measure(DT_FLOAT64, infs, 3, EPS, &s);
	assert_true(isnan(s.mean) && !signbit(s.mean) && s.norm == inf && s.infs == 2);
	measure(DT_FLOAT64, nans, 2, EPS, &s);
	assert_true(
		isnan(s.min.f) && isnan(s.max.f) && isnan(s.mean) && isnan(s.norm) && s.nans == 2);
	assert_false(signbit(s.min.f) || signbit(s.max.f) || signbit(s.mean) || signbit(s.norm));
	measure(DT_FLOAT64, max3, 3, EPS, &s);
	assert_true(s.mean == big && s.norm == inf);
	measure(DT_FLOAT64, max3, 1, EPS, &s);
	assert_true(s.mean == big && s.norm == big);
	measure(DT_FLOAT64, cancel, 3, EPS, &s);
	assert_true(s.min.f == -big && s.max.f == big && fabs(s.mean) <= 1e-12 * (big / 3 * 2));
	measure(DT_FLOAT64, tiny, 2, 0, &s);
	assert_true(s.norm == 5 * least && s.min.f == -4 * least && s.max.f == 3 * least &&
		    s.zeros == 0);
	for (unsigned from = 0; from < 2; from++) {
		measure(DT_FLOAT64, zero + from, 2, EPS, &s);
		assert_false(
			signbit(s.min.f) || signbit(s.max.f) || signbit(s.mean) || signbit(s.norm));
		assert_true(s.min.f == 0 && s.max.f == 0 && s.zeros == 2);
	}
	measure(DT_INT64, wide, 5, EPS, &s);
	assert_true(s.min.i == INT64_MIN && s.max.i == INT64_MAX && s.mean == -3.0 / 5);
	measure(DT_UINT64, most, 2, EPS, &s);
	assert_true(s.min.u == UINT64_MAX && s.max.u == UINT64_MAX && s.mean == 0x1p64);
	measure(DT_COMPLEX64, complex_parts, 2, EPS, &s);
	assert_true(
		s.n == 4 && s.min.f == -2 && s.max.f == 4 && s.mean == 1.5 && s.norm == sqrt(30));
	measure(DT_BOOL, bools, 8, EPS, &s);
	assert_true(s.min.u == 0 && s.max.u == 1 && s.mean == 0.5 && s.norm == 2 && s.zeros == 4);
}

static void test_eps(void **state)
{
	static const double eps[] = {0, 0x1p-1074, 1e-45, 1e-8, 0.5, 1, 1.5, 2, 3, 127, 128, 255,
		256, 65536, 0x1p31, 0x1p32, 0x1p63, 0x1.8p63, 0x1p64, DBL_MAX, INFINITY};
	unsigned char data[600 * 16];
	double at = 1e-8, below = nextafter(1e-8, 0);
	uint64_t most = UINT64_MAX;
	struct stats s;

	(void)state;
	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		for (size_t i = 0; i < sizeof(eps) / sizeof(*eps); i++) {
			for (unsigned pattern = 0; pattern < FILL_PATTERNS; pattern++) {
				fill_tensor(dt, data, 600, pattern, &seed);
				check(dt, data, 600, eps[i]);
			}
		}
	}
	measure(DT_FLOAT64, &at, 1, 1e-8, &s);
	assert_int_equal(s.zeros, 0);
	measure(DT_FLOAT64, &below, 1, 1e-8, &s);
	assert_int_equal(s.zeros, 1);
	measure(DT_UINT64, &most, 1, nextafter(0x1p64, 0), &s);
	assert_int_equal(s.zeros, 0);
	measure(DT_UINT64, &most, 1, 0x1p64, &s);
	assert_int_equal(s.zeros, 1);
}

static void test_nothing_to_measure(void **state)
{
	struct stats_acc a;
	struct stats s;
	double x = 1;

	(void)state;
	assert_int_equal(stats_begin(&a, DT_OTHER, EPS), -ENOTSUP);
	stats_add(&a, &x, 1);
	stats_end(&a, &s);
	assert_int_equal(s.n, 0);
	assert_int_equal(stats_begin(&a, (enum dtype)DT_COUNT, EPS), -ENOTSUP);
	measure(DT_FLOAT32, NULL, 0, EPS, &s);
	assert_int_equal(s.n, 0);
}

static void test_errno(void **state)
{
	double x[] = {-1, NAN, INFINITY, 0x1p-1074, DBL_MAX};

	(void)state;
	errno = 4711;
	check(DT_FLOAT64, x, 5, EPS);
	assert_int_equal(errno, 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_every_length_and_offset),
		cmocka_unit_test(test_patterns_across_blocks),
		cmocka_unit_test(test_one_special_element),
		cmocka_unit_test(test_mixed_ranges),
		cmocka_unit_test(test_all_small_floats),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_equal_elements),
		cmocka_unit_test(test_long_tensor),
		cmocka_unit_test(test_long_and_large),
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_eps),
		cmocka_unit_test(test_nothing_to_measure),
		cmocka_unit_test(test_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
