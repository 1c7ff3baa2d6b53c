/* SPDX-License-Identifier: Apache-2.0 */
/* How often a kind of finding is right: printed as counts where it was measured, else not as a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/rules/measured.h"

static const struct measurement filled[] = {
	{"skip", "bad", CALIBRATION, 60, 0, 60, 2, 50, 2, 0},
	{"skip", "bad", HELD_OUT, 56, 2, 60, 4, 50, 40, 0},
	{"hang", "bad", CALIBRATION, 1, 0, 4, 1, 9, 9, 1},
	{0},
};

static void the_held_out_counts_are_printed_where_there_are_some(void **state)
{
	char *text = format_measurement(find_measurement(filled, "skip", "bad"));

	(void)state;
	assert_string_equal(text,
		"of 60 injected faults of this kind 56 were named correctly (in "
		"4 programs that the "
		"rules were only checked with; wrongly reported for 2 other faults); "
		"of 40 clean programs 0 "
		"were accused");
	free(text);
	text = format_measurement(find_measurement(filled, "hang", "bad"));
	assert_string_equal(text,
		"of 4 injected faults of this kind 1 were named correctly (in 1 program that the "
		"rules were made with; wrongly reported for 0 other faults); of 9 clean programs 1 "
		"was "
		"accused");
	free(text);
	assert_true(compute_right_share(find_measurement(filled, "hang", "bad")) == 0.25);
}

static void an_unmeasured_kind_has_no_number(void **state)
{
	char *text = format_measurement(find_measurement(filled, "nan", "bad"));

	(void)state;
	assert_null(strpbrk(text, "0123456789%"));
	free(text);
	assert_true(isnan(compute_right_share(find_measurement(filled, "nan", "bad"))));
}

static void another_severity_is_not_measured(void **state)
{
	(void)state;
	assert_null(find_measurement(filled, "skip", "note"));
}

static void lines_of_the_table_name_kinds_and_possible_counts(void **state)
{
	static const char *const kinds[] = {
#define FINDING_KIND(id, severity, word, help, basis, evidence) word,
#include "tools/probe/rules/findings.def"
	};

	(void)state;
	for (const struct measurement *m = measurements; m->kind; m++) {
		unsigned found = 0;

		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			found += strcmp(kinds[i], m->kind) == 0;
		assert_true(found > 0);
		assert_true(m->runs > 0 && m->right <= m->runs);
		assert_true(m->clean_accused <= m->clean_programs);
		assert_true(m->programs > 0 && m->programs <= m->runs);
		assert_non_null(find_measurement(measurements, m->kind, m->severity));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_held_out_counts_are_printed_where_there_are_some),
		cmocka_unit_test(an_unmeasured_kind_has_no_number),
		cmocka_unit_test(another_severity_is_not_measured),
		cmocka_unit_test(lines_of_the_table_name_kinds_and_possible_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
