/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of PyTorch's operators may be uninitialised memory, so that a NaN in them is not reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/unwritten.h"

static void operators_that_fill_do_not_read_their_inputs(void **state)
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

static void patterns_are_what_the_functions_say(void **state)
{
	enum unwritten_part part;
	unsigned n[3] = {0};

	(void)state;
	for (unsigned i = 0; get_unwritten_pattern(i, &part); i++)
		n[part]++;
	for (unsigned i = 0; i < 3; i++)
		assert_true(n[i]);
	assert_null(get_unwritten_pattern(n[0] + n[1] + n[2], &part));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_that_fill_do_not_read_their_inputs),
		cmocka_unit_test(lists_that_are_filled_may_be_unwritten),
		cmocka_unit_test(patterns_are_what_the_functions_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
