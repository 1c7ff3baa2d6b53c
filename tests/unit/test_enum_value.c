/* SPDX-License-Identifier: Apache-2.0 */
/* The meanings of the numbers of a library's enums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "spec/enum_value.h"

#define OTHER 99

static const struct spec_values gaps = {4, {{1, 10}, {2, 20}, {7, 70}, {-3, 30}}};
static const struct spec_values wide = {2, {{INT64_C(1) << 40, 1}, {1, 2}}};
static const struct spec_values empty = {0};

static void a_value_is_found_wherever_it_stands(void **state)
{
	(void)state;
	assert_int_equal(spec_value_find(&gaps, 1, OTHER), 10);
	assert_int_equal(spec_value_find(&gaps, 2, OTHER), 20);
	assert_int_equal(spec_value_find(&gaps, 7, OTHER), 70);
	assert_int_equal(spec_value_find(&gaps, -3, OTHER), 30);
	assert_int_equal(spec_value_find(&wide, INT64_C(1) << 40, OTHER), 1);
	assert_int_equal(spec_value_find(&wide, 1, OTHER), 2);
}

static void a_value_that_is_not_there_is_the_other(void **state)
{
	(void)state;
	for (int64_t v = -10; v < 20; v++)
		if (v != 1 && v != 2 && v != 7 && v != -3)
			assert_int_equal(spec_value_find(&gaps, v, OTHER), OTHER);
	assert_int_equal(spec_value_find(&gaps, INT64_MAX, OTHER), OTHER);
	assert_int_equal(spec_value_find(&gaps, INT64_MIN, OTHER), OTHER);
	/* The low half is one that is there. */
	assert_int_equal(spec_value_find(&gaps, (INT64_C(1) << 32) + 7, OTHER), OTHER);
	assert_int_equal(spec_value_find(&empty, 0, OTHER), OTHER);
	assert_int_equal(spec_value_find(NULL, 1, OTHER), OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_found_wherever_it_stands),
		cmocka_unit_test(a_value_that_is_not_there_is_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
