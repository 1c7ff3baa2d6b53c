/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of JSON: what it takes and refuses (RFC 8259 and Python's NaN), values of trees, and values that are sought in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/files/json_read.h"

static struct json_tree tree;

/* NULL: refused, and `wrong` is the reason. */
static char wrong[256];
static const struct json_node *parse(const char *text)
{
	char *why;
	const struct json_node *n = json_parse_tree(&tree, text, strlen(text), &why);

	assert_true(!n == (why != NULL));
	snprintf(wrong, sizeof(wrong), "%s", why ? why : "");
	free(why);
	return n;
}

static void documents_of_the_grammar_are_taken(void **state)
{
	static const char *const good[] = {"{}", "[]", "7", " [ ] ", "-0", "0.5", "1e3", "1E+3",
		"-1.25e-10", "\"\"", "null", "true", "false", "[1,2]", "{\"a\":1,\"b\":[{}]}",
		"\t{\r\n\"a\" : [ ] }\n", "NaN", "-Infinity", "[Infinity]"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!parse(good[i]))
			fail_msg("refused: %s: %s", good[i], wrong);
}

static void other_documents_are_refused(void **state)
{
	static const char *const bad[] = {"", " ", "{", "[", "[1", "[1,", "[1,]", "{\"a\"}",
		"{\"a\":}", "{\"a\":1,}", "{a:1}", "[1 2]", "{\"a\" 1}", "[1]]", "1 2", "nul",
		"nulll", "+1", ".5", "1.", "1e", "1e+", "- 1", "1.5.2", "0x10", "\"", "\"\\",
		"\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u\"", "{]", "[}", "nan", "inf",
		"{\"a\":1 \"b\":2}", "{1:2}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (parse(bad[i]))
			fail_msg("taken: %s", bad[i]);
		assert_true(*wrong != 0);
	}
}

static void problems_name_the_byte(void **state)
{
	(void)state;
	assert_null(parse("{\"a\": 1, b}"));
	assert_string_equal(wrong, "a key is missing, at byte 9");
	assert_null(parse("[1] x"));
	assert_string_equal(wrong, "data after the end, at byte 4");
	assert_null(parse("[1"));
	assert_string_equal(wrong, "the file is truncated, at byte 2");
	assert_null(parse(""));
	assert_string_equal(wrong, "the file is empty, at byte 0");
}

static void escapes_become_utf8(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
		{"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
			"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
		{"\"\\uD83D\\uDE00\"", "\xf0\x9f\x98\x80"},
		/* The first and the last pair. */
		{"\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
		/* Halves alone. */
		{"\"\\ud800\"", "\xef\xbf\xbd"},
		{"\"\\udc00x\"", "\xef\xbf\xbdx"},
		{"\"\\ud800\\n\"", "\xef\xbf\xbd\n"},
		{"\"\\ud800\\u0041\"", "\xef\xbf\xbd"
				       "A"},
		{"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
		/* Next to the halves. */
		{"\"\\ud7ff\\ue000\"", "\xed\x9f\xbf\xee\x80\x80"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *text = json_get_text(parse(cases[i].json));

		if (!text || strcmp(text, cases[i].text) != 0)
			fail_msg("%s became %s", cases[i].json, text ? text : wrong);
	}
}

static void members_and_elements_are_in_their_order(void **state)
{
	const struct json_node
		*top = parse("{\"a\": [1, \"two\", null], \"b\": {}, \"a\": 3, \"c\": -2.5}"),
		*list;
	double v;

	(void)state;
	assert_int_equal(top->kind, JSON_OBJECT);
	assert_int_equal(top->n, 4);
	list = json_get_member(top, "a"); /* the first of two */
	assert_int_equal(list->kind, JSON_LIST);
	assert_int_equal(list->n, 3);
	assert_true(json_get_number(list->child, &v) && v == 1);
	assert_string_equal(json_get_text(list->child->next), "two");
	assert_int_equal(list->child->next->next->kind, JSON_NULL);
	assert_null(list->child->next->next->next);
	assert_int_equal(json_get_member(top, "b")->n, 0);
	assert_null(json_get_member(top, "d"));
	assert_null(json_get_member(list, "a"));
	assert_null(json_get_member(NULL, "a"));
	assert_true(json_get_number(json_get_member(top, "c"), &v) && v == -2.5);
	assert_false(json_get_number(list->child->next, &v) || json_get_number(NULL, &v));
	assert_null(json_get_text(list->child));
}

static void scalars_have_a_text_and_others_none(void **state)
{
	const struct json_node *n = parse("[\"t\", 1.50, true, false, null, [], {}, NaN]")->child;
	static const char *const text[] = {"t", "1.50", "true", "false", NULL, NULL, NULL, "NaN"};
	double v;

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++, n = n->next) {
		const char *have = json_get_scalar_text(n);

		assert_true(!have == !text[i]);
		if (have)
			assert_string_equal(have, text[i]);
		if (!n->next)
			assert_true(json_get_number(n, &v) && isnan(v));
	}
	assert_null(n);
	assert_null(json_get_scalar_text(NULL));
}

/* n lists in each other. */
static char *nested(unsigned n)
{
	static char text[2 * JSON_DEPTH_MAX + 8];

	memset(text, '[', n);
	memset(text + n, ']', n);
	text[2 * n] = 0;
	return text;
}

static void depth_and_length_have_limits(void **state)
{
	size_t n = JSON_TEXT_MAX + 2; /* with the quotes */
	char *text = malloc(n + 1), *why;

	(void)state;
	assert_non_null(parse(nested(JSON_DEPTH_MAX)));
	assert_null(parse(nested(JSON_DEPTH_MAX + 1)));
	assert_non_null(strstr(wrong, "nested too deeply"));
	memset(text, 'x', n + 1);
	text[0] = text[n - 1] = '"';
	assert_int_equal(
		strlen(json_get_text(json_parse_tree(&tree, text, n, &why))), JSON_TEXT_MAX);
	text[n - 1] = 'x';
	text[n] = '"';
	assert_null(json_parse_tree(&tree, text, n + 1, &why));
	assert_non_null(strstr(why, "a string is too long"));
	free(why);
	free(text);
}

static void a_tree_stays_within_its_limit(void **state)
{
	char path[] = "/tmp/libprobe-json.XXXXXX", *why;
	int fd = mkstemp(path);
	struct json_tree small = {0};

	(void)state;
	assert_int_equal(write(fd, "[1, 2, 3, 4]", 12), 12);
	close(fd);
	assert_null(json_load_tree(&small, path, 4 * sizeof(struct json_node), &why));
	assert_non_null(strstr(why, "a value is too large"));
	free(why);
	assert_non_null(json_load_tree(&small, path, 4096, &why));
	assert_non_null(json_load_tree(&small, path, 0, &why));
	json_tree_free(&small);
	unlink(path);
	assert_null(json_load_tree(&small, path, 0, &why));
	assert_non_null(strstr(why, "No such file"));
	free(why);
}

/* Offsets of tokens lead back to them, near and far: the buffer has 64 KiB. */
static void values_are_found_again_by_their_offset(void **state)
{
	char path[] = "/tmp/libprobe-json.XXXXXX";
	uint64_t at[3000];
	struct json_in j;
	FILE *f = fdopen(mkstemp(path), "w");

	(void)state;
	fputc('[', f);
	for (int i = 0; i < 3000; i++)
		fprintf(f, "%s{\"number\": %d, \"filling\": [\"%060d\"]}", i ? ",\n" : "", i, i);
	fputc(']', f);
	fclose(f);
	assert_int_equal(json_open(&j, path), 0);
	assert_int_equal(json_read_token(&j), JSON_LIST);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(json_read_token(&j), JSON_OBJECT);
		at[i] = j.offset;
		assert_true(json_read_rest(&j, JSON_OBJECT));
	}
	assert_int_equal(json_read_token(&j), JSON_LIST_END);
	assert_int_equal(json_read_token(&j), JSON_DONE);
	for (int k = 0; k < 200; k++) {
		int i = k % 2 ? k / 2 : 2999 - 13 * k / 2;
		const struct json_node *n;
		double v;

		assert_int_equal(json_set_position(&j, at[i]), 0);
		n = json_read_tree(&j, &tree, json_read_token(&j));
		assert_true(n && json_get_number(json_get_member(n, "number"), &v) && v == i);
		assert_int_equal(json_read_token(&j), JSON_DONE); /* a part, whatever follows */
	}
	json_close(&j);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_of_the_grammar_are_taken),
		cmocka_unit_test(other_documents_are_refused),
		cmocka_unit_test(problems_name_the_byte),
		cmocka_unit_test(escapes_become_utf8),
		cmocka_unit_test(members_and_elements_are_in_their_order),
		cmocka_unit_test(scalars_have_a_text_and_others_none),
		cmocka_unit_test(depth_and_length_have_limits),
		cmocka_unit_test(a_tree_stays_within_its_limit),
		cmocka_unit_test(values_are_found_again_by_their_offset),
	};
	int failed = cmocka_run_group_tests_name("json_read", tests, NULL, NULL);

	json_tree_free(&tree);
	return failed;
}
