/* SPDX-License-Identifier: Apache-2.0 */
/* text/write.h against printf, and that it keeps to WRITE_SLACK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "text/write.h"

#define CANARY '#'

static char buf[256];

static void fill_canary(void)
{
	memset(buf, CANARY, sizeof(buf));
}

static void check_text(char *end, const char *want)
{
	size_t n = strlen(want);

	assert_ptr_equal(end, buf + n);
	assert_memory_equal(buf, want, n);
	for (size_t i = n + WRITE_SLACK; i < sizeof(buf); i++)
		assert_int_equal(buf[i], CANARY);
}

static void check_integer(uint64_t v)
{
	char want[64];

	fill_canary();
	snprintf(want, sizeof(want), "%" PRIu64, v);
	check_text(write_u64(buf, v), want);
	fill_canary();
	snprintf(want, sizeof(want), "%" PRId64, (int64_t)v);
	check_text(write_i64(buf, (int64_t)v), want);
	fill_canary();
	snprintf(want, sizeof(want), "%016" PRIx64, v);
	check_text(write_hex_16(buf, v), want);
}

static void test_integers(void **state)
{
	uint64_t ten = 1, x = 42;

	(void)state;
	for (int i = 0; i < 20; i++, ten *= 10)
		for (uint64_t d = 1; d <= 9; d++)
			for (uint64_t near = 0; near < 3; near++)
				check_integer(ten * d + near - 1);
	for (int i = 0; i < 200000; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		check_integer((x ^ x >> 29) >> (i & 63));
	}
	for (uint64_t i = 0; i < 110000; i++)
		check_integer(i);
	check_integer(0);
	check_integer(UINT64_MAX);
	check_integer((uint64_t)INT64_MIN);
}

/* Each lane of digits_of_8() has each value once. */
static void test_all_fours(void **state)
{
	char want[16];

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t v = i * 10000 + (9999 - i);

		fill_canary();
		snprintf(want, sizeof(want), "%08u", v);
		check_text(write_digits_8(buf, v), want);
	}
}

static void test_reals(void **state)
{
	static const double some[] = {0, -0.0, 1, -1, 0.1, -1.0 / 3, 1e-5, 123456789, 1e9,
		-1.7976931348623157e308, 5e-324, -2.2250738585072014e-308, 1000000000000000065024.0,
		72057594037927945.0};
	char want[64];

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		for (int digits = 1; digits <= 17; digits++) {
			fill_canary();
			snprintf(want, sizeof(want), "%.*g", digits, some[i]);
			check_text(write_double(buf, some[i], digits), want);
		}
	fill_canary();
	check_text(write_double(buf, -(double)NAN, 9), "nan");
	fill_canary();
	check_text(write_double(buf, -INFINITY, 9), "-inf");
	fill_canary();
	check_text(write_double(buf, INFINITY, 17), "inf");
}

static void test_words(void **state)
{
	(void)state;
	fill_canary();
	check_text(write_char(write_word(write_bytes(buf, "float", 5), "32"), ','), "float32,");
	fill_canary();
	check_text(write_hex_8(buf, 0xdead09af), "dead09af");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_all_fours),
		cmocka_unit_test(test_reals),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
