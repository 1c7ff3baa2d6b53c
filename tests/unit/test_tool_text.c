/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that the command puts together: additions and separators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/lib/tool.h"

static void an_item_has_a_separator_unless_it_is_the_first(void **state)
{
	char *text = NULL;

	(void)state;
	tool_add_item(&text, ", ", "%s", "one");
	assert_string_equal(text, "one");
	tool_add_item(&text, ", ", "%d", 2);
	tool_add_text(&text, "!");
	assert_string_equal(text, "one, 2!");
	free(text);
}

static void a_text_can_be_added_to_itself(void **state)
{
	char *text = tool_strdup("ab");

	(void)state;
	tool_add_text(&text, "-%s", text);
	assert_string_equal(text, "ab-ab");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_has_a_separator_unless_it_is_the_first),
		cmocka_unit_test(a_text_can_be_added_to_itself),
	};

	return cmocka_run_group_tests_name("tool text", tests, NULL, NULL);
}
