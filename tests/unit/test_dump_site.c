/* SPDX-License-Identifier: Apache-2.0 */
/* By what Python name a dump calls an operator, from the program's line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/dump/kept/dump_site.h"

static void operators_that_are_signs_have_their_methods(void **state)
{
	static const struct {
		char op[32], line[32], method[32];
	} sign[] = {
		{"add.Tensor", "y = x + 1", "__add__"},
		{"add_.Tensor", "y += 1", "__iadd__"},
		{"matmul", "y = a @ b", "__matmul__"},
		{"remainder.Tensor", "y = x % 2", "__mod__"},
		{"floor_divide", "y = x // 2", "__floordiv__"},
		{"index_put_", "y[i] = 2", "__setitem__"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(sign) / sizeof(*sign); i++) {
		struct dump_site s = {.line = (char *)sign[i].line};
		const char *prefix = NULL;
		char api[SITE_NAME_MAX];

		assert_true(dump_site_find_operator(&s, sign[i].op, &prefix, api, sizeof(api)));
		assert_string_equal(prefix, "Tensor");
		assert_string_equal(api, sign[i].method);
	}
}

static void a_line_without_the_sign_does_not_say(void **state)
{
	struct dump_site s = {.line = (char *)"y = f(x)"};
	const char *prefix = NULL;
	char api[SITE_NAME_MAX];

	(void)state;
	assert_false(dump_site_find_operator(&s, "floor_divide", &prefix, api, sizeof(api)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_that_are_signs_have_their_methods),
		cmocka_unit_test(a_line_without_the_sign_does_not_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
