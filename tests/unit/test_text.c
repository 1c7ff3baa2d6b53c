/* SPDX-License-Identifier: Apache-2.0 */
/* Text in fixed buffers: numbers as printf writes them in the C locale, JSON strings that another parser reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <yaml.h>

#include "text/text.h"
#include "locale_helper.h"
#include "folder/json_check.h"

static uint64_t seed = 42;

static uint64_t random64(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return seed ^ seed >> 29;
}

static void check_double(double v, int digits)
{
	char want[64], buf[64];
	struct text t = text_init(buf, sizeof(buf));

	text_add_double(&t, v, digits);
	if (isnan(v))
		strcpy(want, "nan");
	else
		snprintf(want, sizeof(want), "%.*g", digits, v);
	assert_string_equal(buf, want);
}

static double from_bits(uint64_t b)
{
	double v;

	memcpy(&v, &b, sizeof(v));
	return v;
}

static void test_doubles(void **state)
{
	static const double some[] = {0, 1, -1, 0.1, 1e-8, 1e300 * 10, 5e-324,
		1.7976931348623157e308, 123456789, 1e9, -1e9, 0.5, 1.0 / 3, 2.5e-5, 99999999.5,
		1e15, 1e16, 1e17, 6.02214076e23, INFINITY, -INFINITY, NAN};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		check_double(some[i], 9);
		check_double(some[i], 17);
	}
	check_double(-(double)NAN, 9);
	for (int i = 0; i < 200000; i++)
		check_double(from_bits(random64()), i & 1 ? 9 : 17);
}

static void test_doubles_with_a_comma_locale(void **state)
{
	char buf[64];
	struct text t = text_init(buf, sizeof(buf));

	(void)state;
	if (!comma_locale())
		skip();
	text_add_double(&t, -1234.5, 9);
	text_add_char(&t, ' ');
	text_add_double(&t, 0.1, 17);
	assert_string_equal(buf, "-1234.5 0.10000000000000001");
	/* The program's own locale is as before. */
	snprintf(buf, sizeof(buf), "%.1f", 0.5);
	assert_string_equal(buf, "0,5");
	setlocale(LC_ALL, "C");
}

static void test_integers(void **state)
{
	char buf[64], want[64];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t v = i == 0   ? 0
			     : i == 1 ? UINT64_MAX
			     : i == 2 ? (uint64_t)INT64_MIN
				      : random64() >> i % 64;
		struct text t = text_init(buf, sizeof(buf));

		text_add_u64(&t, v);
		text_add_char(&t, ' ');
		text_add_i64(&t, (int64_t)v);
		text_add_char(&t, ' ');
		text_add_hex(&t, v, 16);
		text_add_char(&t, ' ');
		text_add_hex(&t, v, 1);
		snprintf(want, sizeof(want), "%" PRIu64 " %" PRId64 " %016" PRIx64 " %" PRIx64, v,
			(int64_t)v, v, v);
		want[sizeof(want) - 1] = 0;
		assert_string_equal(buf, want);
	}
}

static void test_cut(void **state)
{
	char buf[8];

	(void)state;
	for (size_t cap = 1; cap <= sizeof(buf); cap++) {
		struct text t = text_init(buf, cap);

		memset(buf, 'z', sizeof(buf));
		text_add_format(&t, "%d", 12);
		text_add_bytes(&t, "345", 3);
		text_add_char(&t, '6');
		text_add_string(&t, "789");
		assert_true(t.cut);
		assert_true(t.len == cap - 1 && strlen(buf) == t.len);
		assert_memory_equal(buf, "123456789", t.len);
	}
	for (int exact = 0; exact < 2; exact++) {
		struct text t = text_init(buf, 6);

		if (exact)
			text_add_format(&t, "%s", "12345");
		else
			text_add_string(&t, "12345");
		assert_false(t.cut);
		assert_string_equal(buf, "12345");
	}
}

/* The meaning of a JSON string, by a parser that is not ours. */
static char *decoded(const char *json)
{
	yaml_parser_t p;
	yaml_token_t tok;
	char *s = NULL;

	yaml_parser_initialize(&p);
	yaml_parser_set_input_string(&p, (const unsigned char *)json, strlen(json));
	while (yaml_parser_scan(&p, &tok) && tok.type != YAML_STREAM_END_TOKEN) {
		if (tok.type == YAML_SCALAR_TOKEN) {
			assert_int_equal(tok.data.scalar.style, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
			s = strdup((char *)tok.data.scalar.value);
		}
		yaml_token_delete(&tok);
	}
	yaml_parser_delete(&p);
	return s;
}

static void check_json(const char *in, const char *out)
{
	char buf[4096], *got;
	struct text t = text_init(buf, sizeof(buf));

	text_add_json(&t, in);
	assert_false(t.cut);
	for (const char *p = buf; *p; p++)
		assert_true((unsigned char)*p >= 0x20);
	assert_true(json_is_value(buf));
	got = decoded(buf);
	assert_non_null(got);
	assert_string_equal(got, out);
	free(got);
}

static void test_json_strings(void **state)
{
	char all[256];

	(void)state;
	for (int i = 1; i < 128; i++)
		all[i - 1] = (char)i;
	all[127] = 0;
	check_json(all, all);
	check_json("", "");
	check_json("gr\xc3\xb6\xc3\x9f"
		   "er \xe6\xa2\xaf\xe5\xba\xa6 \xf0\x9f\x98\x80",
		"gr\xc3\xb6\xc3\x9f"
		"er \xe6\xa2\xaf\xe5\xba\xa6 \xf0\x9f\x98\x80");
	/* Bytes that are no UTF-8 can be told from text that reads like them. */
	check_json("a\xff"
		   "b",
		"a\\xffb");
	check_json("\xc3", "\\xc3");
	check_json("\xe6\xa2", "\\xe6\\xa2");
	check_json("\xc0\xaf", "\\xc0\\xaf"); /* overlong */
	check_json("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	check_json("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	check_json("a\\xffb", "a\\x5cxffb");
}

/* All of them as one array, read by Python. (YAML is stricter than JSON about control characters above 0x7f.) */
static void test_json_of_any_bytes(void **state)
{
	static const char program[] =
		"python3 -c 'import json, sys; a = json.load(sys.stdin.buffer); "
		"sys.exit(0 if len(a) == 20001 and all(type(x) is str for x in a) else 1)'";
	char in[64], buf[512];
	FILE *py;

	(void)state;
	if (system("python3 -c 'import json'"))
		skip();
	py = popen(program, "w");
	assert_non_null(py);
	fputs("[\"\"", py);
	for (int i = 0; i < 20000; i++) {
		struct text t = text_init(buf, sizeof(buf));
		unsigned n = random64() % 40;

		for (unsigned k = 0; k < n; k++)
			in[k] = (char)(1 + random64() % 255);
		in[n] = 0;
		text_add_json(&t, in);
		assert_true(json_is_value(buf));
		fprintf(py, ",\n%s", buf);
	}
	fputs("]\n", py);
	assert_int_equal(pclose(py), 0);
}

static void test_json_values(void **state)
{
	static const char *const good[] = {"1", "-0", "0.5", "1e9", "-1.25E-3", "true", "false",
		"null", "\"\"", "[]", "{}", " [1, {\"a\": [true, \"x\\u00e9\\n\"]}, []] ",
		"{\"a\":1,\"b\":{}}", "[[[[[[[[1]]]]]]]]"};
	static const char *const bad[] = {"", " ", "01", "1.", ".5", "1e", "+1", "nan", "inf",
		"tru", "\"", "\"\\x\"", "\"\\u00g0\"", "\"\t\"", "\"\xff\"", "[", "[1", "[1,",
		"[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "1 2", "[] ]", "'a'",
		"[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]", "\"\\"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (!json_is_value(good[i]))
			fail_msg("JSON refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (json_is_value(bad[i]))
			fail_msg("no JSON taken: %s", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_doubles_with_a_comma_locale),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_json_strings),
		cmocka_unit_test(test_json_of_any_bytes),
		cmocka_unit_test(test_json_values),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
