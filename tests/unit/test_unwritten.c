/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of PyTorch's operators may be uninitialised memory, so that a NaN in them is not reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/unwritten.h"

static void the_first_input_of_filling_operators_may_be_unwritten(void **state)
{
	(void)state;
	assert_true(is_possibly_unwritten("copy_", false, 0));
	assert_false(is_possibly_unwritten("copy_", false, 1));
	assert_false(is_possibly_unwritten("copy_", true, 0));
	assert_true(is_possibly_unwritten("fill_.Scalar", false, 0));
	/* A suffix of another operator's name is no match. */
	assert_false(is_possibly_unwritten("masked_fill_", false, 0));
}

/* FSDP of PyTorch 2.13 copies parameters into new memory with _foreach_copy_: NaN from torch.empty. */
static void lists_that_are_filled_may_be_unwritten(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 9; i++) {
		assert_true(is_possibly_unwritten("_foreach_copy_", false, i));
		assert_true(is_possibly_unwritten("_foreach_zero_", false, i));
		assert_false(is_possibly_unwritten("_foreach_copy_", true, i));
		assert_false(is_possibly_unwritten("_foreach_add_", false, i));
	}
}

static void patterns_are_what_the_function_says(void **state)
{
	enum unwritten_part part;
	const char *pattern;
	unsigned n[3] = {0};
	char name[64];

	(void)state;
	for (unsigned i = 0; (pattern = get_unwritten_pattern(i, &part)); i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(pattern, "*"), pattern);
		n[part]++;
		assert_true(is_possibly_unwritten(name, false, 0));
		assert_int_equal(
			is_possibly_unwritten(name, false, 5), part != UNWRITTEN_FIRST_INPUT);
		assert_int_equal(is_possibly_unwritten(name, true, 0), part == UNWRITTEN_ALL);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_true(n[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_input_of_filling_operators_may_be_unwritten),
		cmocka_unit_test(lists_that_are_filled_may_be_unwritten),
		cmocka_unit_test(patterns_are_what_the_function_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
