/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as the reports print them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/lib/out.h"

static void a_duration_has_its_two_largest_units(void **state)
{
	(void)state;
	assert_string_equal(out_format_duration(119e9), "1 min 59 s");
	assert_string_equal(out_format_duration(3599e9), "59 min 59 s");
	assert_string_equal(out_format_duration(3600e9), "1 h 0 min");
	assert_string_equal(out_format_duration(7320e9), "2 h 2 min");
	assert_string_equal(out_format_duration(86399e9), "23 h 59 min");
	assert_string_equal(out_format_duration(86400e9), "1 d 0 h");
	assert_string_equal(out_format_duration(176400e9), "2 d 1 h");
}

static void a_short_duration_has_a_decimal_unit(void **state)
{
	(void)state;
	assert_string_equal(out_format_duration(0), "0 ns");
	assert_string_equal(out_format_duration(1500), "1.50 us");
	assert_string_equal(out_format_duration(99e9), "99 s");
	assert_string_equal(out_format_duration(100e9), "1 min 40 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_duration_has_its_two_largest_units),
		cmocka_unit_test(a_short_duration_has_a_decimal_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
