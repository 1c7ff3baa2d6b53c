/* SPDX-License-Identifier: Apache-2.0 */
/* Routers that count their tokens from the start of a training: the growth between two calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "training/params/expert_counters.h"

static char modules[COUNTED_ROUTERS_MAX + 2][48]; /* addresses as an allocator gives them */

static bool is_growth(unsigned router, double first, double second, double want)
{
	static struct expert_counts now, growth;

	now.n = 2;
	now.at[0] = first;
	now.at[1] = second;
	growth.n = 0;
	if (!compute_counter_growth(modules[router], &now, &growth))
		return false;
	return growth.n == 2 && !(growth.at[0] < want) && !(growth.at[0] > want);
}

static void the_first_call_has_no_growth(void **state)
{
	(void)state;
	assert_false(is_growth(0, 5, 5, 5));
	assert_true(is_growth(0, 7, 5, 2));
	assert_true(is_growth(0, 7, 5, 0));
}

static void counters_that_were_reset_have_grown_from_zero(void **state)
{
	(void)state;
	assert_false(is_growth(1, 5, 5, 0));
	assert_true(is_growth(1, 6, 4, 6));
	assert_true(is_growth(1, 8, 4, 2));
}

static void another_number_of_experts_has_no_growth(void **state)
{
	static struct expert_counts now = {.n = 3, .at = {9, 9, 9}}, growth;

	(void)state;
	assert_false(is_growth(2, 5, 5, 0));
	assert_false(compute_counter_growth(modules[2], &now, &growth));
	assert_true(compute_counter_growth(modules[2], &now, &growth));
}

/* Last: it fills the table. */
static void every_router_up_to_the_limit_has_counters_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 3; i < COUNTED_ROUTERS_MAX; i++)
		assert_false(is_growth(i, i, 0, 0));
	for (unsigned i = 3; i < COUNTED_ROUTERS_MAX; i++)
		assert_true(is_growth(i, i + i, 0, i));
	for (unsigned i = 0; i < 2; i++)
		assert_false(is_growth(COUNTED_ROUTERS_MAX, 1 + i, 0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_call_has_no_growth),
		cmocka_unit_test(counters_that_were_reset_have_grown_from_zero),
		cmocka_unit_test(another_number_of_experts_has_no_growth),
		cmocka_unit_test(every_router_up_to_the_limit_has_counters_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
