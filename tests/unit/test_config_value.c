/* SPDX-License-Identifier: Apache-2.0 */
/* The values that each type accepts and rejects, and its messages: words, integers, numbers, paths, lists of ranks and steps. */
#include "config_helper.h"

#include <locale.h>
#include <math.h>

const struct builtin_text builtin_texts[] = {{NULL, NULL}};

static void bools(void **state)
{
	static const char *const yes[] = {"true", "True", "TRUE", "yes", "on", "ON", "1", "'true'"};
	static const char *const no[] = {"false", "False", "no", "No", "off", "OFF", "0", "\"0\""};
	static const char *const bad[] = {"2", "y", "truee", "tru", "-1", "''", "[true]", "00"};
	struct config c;
	struct lines l;
	char text[64];

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "nested: %s\n", yes[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 0);
		assert_true(c.nested);
		config_free(&c);
		snprintf(text, sizeof(text), "stack: %s\n", no[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 0);
		assert_false(c.stack);
		config_free(&c);
		snprintf(text, sizeof(text), "stack: %s\n", bad[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 1);
		assert_said(&l, "f.yaml:1:8: stack: ");
		assert_said(&l, "; accepted: true or false; the default true is used");
		assert_true(c.stack);
		config_free(&c);
	}
}

static void integers(void **state)
{
	static const char *const bad[] = {"16.0", "0x10", "1e3", "1_0", "lots", "''", "1 2", "+",
		"-", "--1", "99999999999999999999999999", "-99999999999999999999999",
		"9223372036854775808"};
	struct config c;
	struct lines l;
	char text[128];

	(void)state;
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];
		if (k->type != KEY_INT)
			continue;

		long long v[] = {(long long)k->min - 1, (long long)k->min, (long long)k->max,
			(long long)k->max + 1};

		for (int j = 0; j < 4; j++) {
			bool good = j == 1 || j == 2;

			snprintf(text, sizeof(text), "%s: %lld\n", k->name, v[j]);
			load(&c, text, NULL, &l);
			assert_lines(&l, !good);
			snprintf(text, sizeof(text), "%lld", v[j]);
			assert_string_equal(shown(&c, k->name), good ? text : k->dflt);
			config_free(&c);
		}
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "journal_mib: %s\n", bad[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 1);
		assert_int_equal(c.journal_mib, 0);
		config_free(&c);
	}
	load(&c, "# c\njournal_mib:   lots\n", NULL, &l);
	assert_string_equal(l.text[0],
		"f.yaml:2:16: journal_mib: \"lots\": not an integer; accepted: "
		"an integer from 0 to 4096; the default 0 is used");
	config_free(&c);
	/* An empty value is the default, however it is written; a quoted text is none. */
	load(&c, "journal_mib: 7\npart_mib:\nrank:\nstack_depth: ~\noutput_dir: null\n", NULL, &l);
	assert_lines(&l, 0);
	assert_int_equal(c.journal_mib, 7);
	assert_string_equal(c.output_dir, "/job/dir/probe_output");
	config_free(&c);
}

static void floats(void **state)
{
	static const char *const bad[] = {"nan", "inf", ".inf", "-1", "-1e-30", "0x1p3", "1e999",
		"1e", "1,5", "1.5.5", "e5", ".", "+-1", "1 1"};
	struct config c;
	struct lines l;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "eps: %s\n", bad[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 1);
		assert_true(c.eps == 1e-8);
		config_free(&c);
	}
	load(&c, "eps: -0.0\n", NULL, &l);
	assert_true(c.eps == 0 && !signbit(c.eps));
	/* Any number is read back bit for bit, and written as JSON and YAML 1.1 write numbers. */
	srand(1);
	for (int i = 0; i < 3000; i++) {
		double v = ldexp((double)rand() / RAND_MAX + rand(), rand() % 1900 - 1000);

		c.eps = i < 40 ? pow(10, i - 20) : v;
		v = c.eps;
		config_format(&c, key("eps"), text, sizeof(text));
		assert_true(strchr(text, '.') && strtod(text, NULL) == v);
		memmove(text + 10, text, sizeof(text) - 10);
		memcpy(text, "PROBE_EPS=", 10);
		config_free(&c);
		load_env(&c, text, &l);
		assert_lines(&l, 0);
		assert_true(c.eps == v);
	}
	c.eps = 1e20;
	assert_string_equal(shown(&c, "eps"), "1.0e+20");
	c.eps = 123456;
	assert_string_equal(shown(&c, "eps"), "123456.0");
	c.eps = 0;
	assert_string_equal(shown(&c, "eps"), "0.0");
	config_free(&c);
}

static void with_locale(const char *name)
{
	struct config c;
	struct lines l;

	if (!setlocale(LC_ALL, name)) {
		print_message("# no locale %s here\n", name);
		skip();
	}
	load(&c, "eps: 0.125\nDISABLE: true\ndisable: TRUE\nfork: OFF\nnested: 0,5\n", NULL, &l);
	char *shows = strdup(shown(&c, "eps"));
	const char *comma = localeconv()->decimal_point;

	setlocale(LC_ALL, "C");
	assert_string_equal(comma, ","); /* else this locale tests nothing */
	assert_true(c.eps == 0.125);
	assert_string_equal(shows, "0.125");
	assert_lines(&l, 2);
	assert_said(&l, "did you mean disable?");
	assert_true(c.disable);
	free(shows);
	config_free(&c);
}

static void german(void **state)
{
	(void)state;
	with_locale("de_DE.UTF-8");
}

static void turkish(void **state)
{
	(void)state;
	with_locale("tr_TR.UTF-8");
}

static void paths(void **state)
{
	static const char *const table[][3] = {
		/* home, written, kept */
		{"HOME=/h", "a", "/job/dir/a"},
		{"HOME=/h", "./a/", "/job/dir/a"},
		{"HOME=/h", ".//./a//b", "/job/dir/a//b"},
		{"HOME=/h", "../a", "/job/dir/../a"},
		{"HOME=/h", "..", "/job/dir/.."},
		{"HOME=/h", ".", "/job/dir"},
		{"HOME=/h", "./", "/job/dir"},
		{"HOME=/h", ".hidden", "/job/dir/.hidden"},
		{"HOME=/h", "/", "/"},
		{"HOME=/h", "//x//", "//x"},
		{"HOME=/h", "/a b", "/a b"},
		{"HOME=/h/", "~", "/h"},
		{"HOME=/h", "~/x", "/h/x"},
		{"HOME=/", "~/x", "/x"},
		{"HOME=/", "~", "/"},
		{"HOME=/h", "~x", "/job/dir/~x"},
		{"HOME=/h", "x/~", "/job/dir/x/~"},
		{"HOME=/h", "\xc3\xa4", "/job/dir/\xc3\xa4"},
		{"HOME=/h", "$X/%d", "/job/dir/$X/%d"},
	};
	struct config c;
	struct lines l = {0};
	char entry[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *const *env = ENV(table[i][0], entry);

		snprintf(entry, sizeof(entry), "PROBE_OUTPUT_DIR=%s", table[i][1]);
		assert_int_equal(config_load(&c, NULL, env, CWD, collect, &l), 0);
		assert_lines(&l, 0);
		assert_string_equal(c.output_dir, table[i][2]);
		config_free(&c);
	}
	load_env(&c, "PROBE_OUTPUT_DIR=~/x", &l);
	assert_said(&l, "HOME is not known; accepted: a path");
	assert_string_equal(c.output_dir, "/job/dir/probe_output");
	config_free(&c);
	load_env(&c, "PROBE_OUTPUT_DIR=/a\nb", &l);
	assert_said(&l, "PROBE_OUTPUT_DIR=/a?b: holds a control character");
	config_free(&c);
	memset(entry, 'x', sizeof(entry));
	memcpy(entry, "PROBE_OUTPUT_DIR=/", 18);
	entry[17 + 4000] = 0;
	load_env(&c, entry, &l);
	assert_lines(&l, 1);
	assert_said(&l, "too long a path");
	config_free(&c);
	entry[17 + 3999] = 0;
	load_env(&c, entry, &l);
	assert_lines(&l, 0);
	assert_int_equal(strlen(c.output_dir), 3999);
	config_free(&c);
	load(&c, "output_dir: ''\njournal_dir: \"\"\nwrap_ops: \"a\\0b\"\n", NULL, &l);
	assert_lines(&l, 2);
	assert_said(&l, "f.yaml:1:13: output_dir: \"\": empty; accepted: a path");
	assert_said(&l, "f.yaml:3:11: wrap_ops: \"a?b\": holds a control character");
	config_free(&c);
	/* No working directory (it may have been removed): relative paths stay. */
	l.n = 0;
	assert_int_equal(config_load(&c, NULL, NULL, NULL, collect, &l), 0);
	assert_string_equal(c.output_dir, "./probe_output");
	config_free(&c);
}

static void rank_lists(void **state)
{
	static const char *const table[][2] = {
		{"3", "[3]"},
		{"[3]", "[3]"},
		{"[]", "[]"},
		{"'[]'", "[]"},
		{"3-7", "[\"3-7\"]"},
		{"[3-7]", "[\"3-7\"]"},
		{"0,2,4-6", "[0, 2, \"4-6\"]"},
		{"[6, 5, 4, 0]", "[0, \"4-6\"]"},
		{"\"0, 2 , 4 - 6\"", "[0, 2, \"4-6\"]"},
		{"'[6, \"0-4\", 8 ]'", "[\"0-4\", 6, 8]"},
		{"[0-5, 3-9, 20]", "[\"0-9\", 20]"},
		{"[1, 3, 5, 7, 2, 4, 6]", "[\"1-7\"]"},
		{"[\"1,2\", 9]", "[\"1-2\", 9]"},
		{"[ , ]", NULL},
		{"[1, ~, 2]", "[\"1-2\"]"},
		{"\n  - 4\n  - 8", "[4, 8]"},
		{"9223372036854775807", "[9223372036854775807]"},
		{"9223372036854775806-9223372036854775807, 0",
			"[0, \"9223372036854775806-9223372036854775807\"]"},
		{"5-5", "[5]"},
		{"'[1, 2]'", "[\"1-2\"]"},
		{"!!str 7", "[7]"},
		/* wrong */
		{"all", NULL},
		{"-1", NULL},
		{"7-3", NULL},
		{"1-", NULL},
		{"1,", NULL},
		{"',1'", NULL},
		{"'[1, \"2]'", NULL},
		{"1;2", NULL},
		{"[1, x]", NULL},
		{"[1, [2]]", NULL},
		{"{a: 1}", NULL},
		{"''", NULL},
		{"1.5", NULL},
		{"9223372036854775808", NULL},
		{"1-2-3", NULL},
		{"[1, {a: [3]}, 5]", NULL},
		{"'['", NULL},
		{"'[1'", NULL},
		{"1 2", NULL},
	};
	struct config c;
	struct lines l;
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		snprintf(text, sizeof(text), "rank: %s\nlog_level: 2\n", table[i][0]);
		load(&c, text, NULL, &l);
		if (strcmp(table[i][0], "[ , ]") == 0) { /* no YAML */
			assert_said(&l, "no valid YAML");
		} else if (table[i][1]) {
			assert_lines(&l, 0);
			assert_string_equal(shown(&c, "rank"), table[i][1]);
			assert_int_equal(c.log_level, 2); /* what follows is read */
		} else {
			assert_lines(&l, 1);
			assert_said(&l, "f.yaml:1:");
			assert_said(&l, "; the default [] is used");
			assert_int_equal(c.rank.n, 0);
			assert_int_equal(c.log_level, 2);
		}
		config_free(&c);
	}
	load(&c, "rank: [1, 2,\n  x]\n", NULL, &l);
	assert_string_equal(l.text[0],
		"f.yaml:2:3: rank: \"x\": not a list of integers; accepted: "
		"integers and ranges such as 3, [0, 2, \"4-7\"]; the default [] is used");
	config_free(&c);
	assert_true(ranges_has(&c.rank, 5)); /* empty: all */
}

static void ranges_against_a_bitmap(void **state)
{
	struct config c;
	struct lines l;
	char entry[4096];

	(void)state;
	srand(2);
	for (int round = 0; round < 300; round++) {
		bool in[300] = {false};
		int n = sprintf(entry, "PROBE_STEP="), items = 1 + rand() % 40;

		for (int i = 0; i < items; i++) {
			int lo = rand() % 280, hi = lo + (rand() % 3 ? 0 : rand() % 20);

			n += sprintf(
				entry + n, lo == hi ? "%s%d" : "%s%d-%d", i ? "," : "", lo, hi);
			for (int v = lo; v <= hi; v++)
				in[v] = true;
		}
		load_env(&c, entry, &l);
		assert_lines(&l, 0);
		for (uint64_t v = 0; v < 300; v++)
			assert_int_equal(ranges_has(&c.step, v), in[v]);
		assert_false(ranges_has(&c.step, UINT64_MAX));
		for (uint32_t i = 1; i < c.step.n; i++) /* nothing touches */
			assert_true(c.step.item[i].lo > c.step.item[i - 1].hi + 1);
		config_free(&c);
	}
}

static void markers(void **state)
{
	static const char *const good[] = {"''", "MPI_Barrier", "c10d::ProcessGroupGloo::allreduce",
		"aten::argmax", "aten::add.Tensor", "python:train.py:step",
		"python:/a b/train.py:Net.forward"};
	static const char *const bad[] = {"'MPI_Reduce, MPI_Bcast'", "'aten::'", "'::argmax'",
		"'aten::add.'", "'python:train.py'", "'python:step'", "':train.py:step'",
		"'python:train.py:'", "'python::step:'", "'python:train.py:my step'"};
	struct config c;
	struct lines l;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(text, sizeof(text), "step_marker: %s\n", good[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 0);
		assert_string_equal(c.step_marker, i ? good[i] : "");
		config_free(&c);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "stack: true\nstep_marker: %s\n", bad[i]);
		load(&c, text, NULL, &l);
		assert_lines(&l, 1);
		assert_said(&l, "f.yaml:2:14: step_marker: ");
		assert_said(&l, "accepted: a function, aten::OPERATOR or python:FILE:FUNCTION; the "
				"default");
		assert_string_equal(c.step_marker, "");
		config_free(&c);
	}
}

/* A list in a file keeps its right entries; of a variable all or nothing is used. The messages say which. */
static void wrong_entries_are_reported_with_what_is_used(void **state)
{
	struct config c;
	struct lines l;

	(void)state;
	load(&c, "kinds: [actv, wrong]\n", NULL, &l);
	assert_lines(&l, 1);
	assert_said(&l, "f.yaml:1:15: kinds: \"wrong\": not one of the names; accepted: ");
	assert_said(&l, "; this entry is skipped");
	assert_string_equal(shown(&c, "kinds"), "[\"actv\"]");
	config_free(&c);

	load(&c, "ops: [wrong]\n", NULL, &l);
	assert_lines(&l, 2);
	assert_said(&l, "; this entry is skipped");
	assert_said(&l, "ops: no entry is left; the default [");
	config_free(&c);

	load_env(&c, "PROBE_KINDS=actv, wrong, bad", &l);
	assert_lines(&l, 3);
	assert_said(&l, "kinds: \"wrong\": not one of the names; no entry of this value is used");
	assert_said(&l, "kinds: \"bad\": not one of the names; no entry of this value is used");
	assert_said(&l, "; the default [] is used");
	assert_string_equal(shown(&c, "kinds"), "[]");
	config_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bools),
		cmocka_unit_test(integers),
		cmocka_unit_test(markers),
		cmocka_unit_test(floats),
		cmocka_unit_test(german),
		cmocka_unit_test(turkish),
		cmocka_unit_test(paths),
		cmocka_unit_test(rank_lists),
		cmocka_unit_test(ranges_against_a_bitmap),
		cmocka_unit_test(wrong_entries_are_reported_with_what_is_used),
	};

	return cmocka_run_group_tests_name("config_value", tests, NULL, NULL);
}
