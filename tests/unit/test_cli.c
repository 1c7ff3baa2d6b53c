/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of the probe command, and the words that it guesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/cli.h"

enum { FILE_, NUMBER, FLAG };

static const struct cli_option options[] = {
	[FILE_] = {"file", 'f', true},
	[NUMBER] = {"number", 0, true},
	[FLAG] = {"flag", 'x', false},
};

static struct cli c;

/* The words of a command line, separated by blanks. */
static void line(bool command, const char *words)
{
	static char text[256], *argv[32];
	int argc = 1;

	argv[0] = strcpy(text, "verb");
	strcpy(text + 5, words);
	for (char *p = strtok(text + 5, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	c = (struct cli){
		.argc = argc, .argv = argv, .options = options, .noptions = 3, .command = command};
}

static void expect(int what, const char *value)
{
	assert_int_equal(cli_read_argument(&c), what);
	if (value)
		assert_string_equal(c.value, value);
	else
		assert_null(c.value);
}

static void forms(void **state)
{
	(void)state;
	line(false, "--file a --file=b -f c -fd --file= -x --flag --number -5");
	expect(FILE_, "a");
	expect(FILE_, "b");
	expect(FILE_, "c");
	expect(FILE_, "d");
	expect(FILE_, "");
	expect(FLAG, NULL);
	expect(FLAG, NULL);
	expect(NUMBER, "-5");
	expect(CLI_END, NULL);
	expect(CLI_END, NULL);
}

static void operands(void **state)
{
	(void)state;
	line(false, "dir -x - -- -x --");
	expect(CLI_OPERAND, "dir");
	expect(FLAG, NULL);
	expect(CLI_OPERAND, "-");
	expect(CLI_OPERAND, "-x");
	expect(CLI_OPERAND, "--");
	expect(CLI_END, NULL);
}

/* Words after a command belong to that command. */
static void commands(void **state)
{
	(void)state;
	line(true, "-x cmd --flag --help");
	expect(FLAG, NULL);
	expect(CLI_OPERAND, "cmd");
	assert_string_equal(c.argv[c.at - 1], "cmd");
	expect(CLI_OPERAND, "--flag");
	line(true, "-- -x");
	expect(CLI_OPERAND, "-x");
	assert_string_equal(c.argv[c.at - 1], "-x");
}

static void wrong(void **state)
{
	(void)state;
	line(false, "--fil");
	expect(CLI_WRONG, NULL);
	line(false, "--file");
	expect(CLI_WRONG, NULL);
	line(false, "-f");
	expect(CLI_WRONG, NULL);
	line(false, "--flag=1");
	expect(CLI_WRONG, NULL);
	line(false, "-xy");
	expect(CLI_WRONG, NULL);
	line(false, "-z");
	expect(CLI_WRONG, NULL);
	line(false, "--help");
	expect(CLI_HELP, NULL);
	line(false, "-h");
	expect(CLI_HELP, NULL);
}

static void nearest(void **state)
{
	static const char *const list[] = {"run", "check", "report", "recover", "config"};
	static const struct {
		const char *word, *want;
	} cases[] = {
		{"rpeort", "report"},
		{"reprot", "report"},
		{"chekc", "check"},
		{"recovre", "recover"},
		{"conf", "config"},
		{"rnu", "run"},
		{"xyzzy", NULL},
		{"", NULL},
		{"rep", "report"},
		{"Run", "run"},
		{"a-word-that-is-longer-than-any-that-is-known", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *have = cli_find_nearest(cases[i].word, list, 5);

		if (cases[i].want) {
			assert_non_null(have);
			assert_string_equal(have, cases[i].want);
		} else {
			assert_null(have);
		}
	}
}

/* The error that a command line with this option causes, for a verb with the first n options of a list. */
static const char *read_error(const char *word, unsigned n)
{
	static const struct cli_option list[] = {
		{"interval", 0, true}, {"follow", 0, false}, {"verbose", 0, false}};
	static char text[256];
	int old = dup(2);
	FILE *to = tmpfile();
	size_t len;

	assert_non_null(to);
	line(false, word);
	c.options = list;
	c.noptions = n;
	fflush(stderr);
	dup2(fileno(to), 2);
	expect(CLI_WRONG, NULL);
	fflush(stderr);
	dup2(old, 2);
	close(old);
	rewind(to);
	len = fread(text, 1, sizeof(text) - 1, to);
	text[len] = 0;
	fclose(to);
	return text;
}

static void only_options_of_the_verb_are_suggested(void **state)
{
	(void)state;
	assert_non_null(strstr(read_error("--verbsoe", 3), "did you mean --verbose?"));
	assert_non_null(strstr(read_error("--intervall", 1), "did you mean --interval?"));
	/* The next one belongs to another verb. */
	assert_null(strstr(read_error("--folow", 1), "follow?"));
	assert_null(strstr(read_error("--verbsoe", 2), "did you mean"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(operands),
		cmocka_unit_test(commands),
		cmocka_unit_test(wrong),
		cmocka_unit_test(nearest),
		cmocka_unit_test(only_options_of_the_verb_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
