/* SPDX-License-Identifier: Apache-2.0 */
/* Names of parameters and of what an optimizer keeps of them, as MindSpore 2.10 makes them by the members of a cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wrappers/mindspore/layout/update_kernel.c"

/* The fronts with a | after each; "" : none. */
static void expect_fronts(const char *parameter, const char *state, const char *want)
{
	char got[256] = "";
	size_t front, state_front;

	if (find_name_prefixes(parameter, state, &front, &state_front)) {
		strncat(got, parameter, front);
		strcat(got, "|");
		strncat(got, state, state_front);
		strcat(got, "|");
	}
	assert_string_equal(got, want);
}

static void fronts_are_what_cells_put_before_names(void **state)
{
	(void)state;
	expect_fronts("fc1.weight", "moment1.fc1.weight", "|moment1.|");
	expect_fronts("opt.fc1.weight", "opt.moment1.fc1.weight", "opt.|opt.moment1.|");
	expect_fronts("net.opt.fc1.weight", "opt.moment1.fc1.weight", "net.opt.|opt.moment1.|");
	expect_fronts("weight", "accum.weight", "|accum.|");
	expect_fronts("0.weight", "stat.0.weight", "|stat.|");
}

static void fronts_end_where_a_part_of_the_name_does(void **state)
{
	(void)state;
	expect_fronts("opt.xfc1.weight", "opt.moment1.yfc1.weight", "opt.xfc1.|opt.moment1.yfc1.|");
	expect_fronts("myweight", "moment1.weight", "");
	expect_fronts("a.weight", "b.bias", "");
	expect_fronts("a.weight", "a.weight", "");
	expect_fronts("", "moment1.weight", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fronts_are_what_cells_put_before_names),
		cmocka_unit_test(fronts_end_where_a_part_of_the_name_does)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
