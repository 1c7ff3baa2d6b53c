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
	{"skip", 56, 60, 60, 0},
	{"hang", 1, 4, 9, 1},
	{0},
};

static void measured_kind_is_printed_as_counts(void **state)
{
	char *text = format_measurement(find_measurement(filled, "skip"));

	(void)state;
	assert_string_equal(text, "of injected faults of this kind 56 of 60 were named rightly; of "
				  "60 clean programs 0 were accused");
	free(text);
	text = format_measurement(find_measurement(filled, "hang"));
	assert_string_equal(text, "of injected faults of this kind 1 of 4 were named rightly; of 9 "
				  "clean programs 1 was accused");
	free(text);
	assert_true(compute_right_share(find_measurement(filled, "hang")) == 0.25);
}

static void unmeasured_kind_has_no_number(void **state)
{
	char *text = format_measurement(find_measurement(filled, "nan"));

	(void)state;
	assert_null(strpbrk(text, "0123456789%"));
	free(text);
	assert_true(isnan(compute_right_share(find_measurement(filled, "nan"))));
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
		assert_ptr_equal(find_measurement(measurements, m->kind), m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measured_kind_is_printed_as_counts),
		cmocka_unit_test(unmeasured_kind_has_no_number),
		cmocka_unit_test(lines_of_the_table_name_kinds_and_possible_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
