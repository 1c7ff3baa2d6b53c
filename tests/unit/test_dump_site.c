/* SPDX-License-Identifier: Apache-2.0 */
/* By what Python name a dump calls an operator, from the program's line, and which line that is. */
#include "tmp_helper.h"

#include "formats/dump/kept/dump_site.h"
#include "formats/dump/kept/dump_source.h"

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

static void a_line_is_read_by_its_number_from_1(void **state)
{
	static const char text[] = "y = x + 1\n\n\tz = f(y) \nprint(z)";
	static const char *const want[] = {"", "y = x + 1", "", "z = f(y)", "print(z)", ""};
	struct dump_source *s = dump_source_open();
	char dir[64], path[128], line[64];
	FILE *f;

	(void)state;
	assert_non_null(s);
	make_tmp(dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/train.py", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++) {
		dump_source_read_line(s, path, i, line, sizeof(line));
		assert_string_equal(line, want[i]);
	}
	dump_source_free(s);
	remove_tree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_that_are_signs_have_their_methods),
		cmocka_unit_test(a_line_without_the_sign_does_not_say),
		cmocka_unit_test(a_line_is_read_by_its_number_from_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
