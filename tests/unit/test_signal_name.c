/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/lib/signal_name.h"

/* glibc's own table is the truth. */
static void names_are_those_of_glibc(void **state)
{
	(void)state;
	for (int s = -1; s < 70; s++) {
		const char *want = s > 0 ? sigabbrev_np(s) : NULL, *have = get_signal_name(s);

		assert_int_equal(want == NULL, have == NULL);
		if (want)
			assert_string_equal(have, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_those_of_glibc)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
