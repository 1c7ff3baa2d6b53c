/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper generator. Needs GENWRAP (default build/genwrap) and is run from the top folder. CC (default cc)
 * compiles what it wrote. After a wanted change of its output:
 *	build/genwrap -o tests/unit/gen/expect -k tests/unit/gen/kinds.yaml -t tests/unit/gen/text.yaml -x dlsym \
 *		tests/unit/gen/tiny.yaml
 */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DIR_ "tests/unit/gen/"

static char tmp[] = "/tmp/probe-test-gen-XXXXXX";

static char *slurp(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *t = calloc(1, 1 << 20);

	if (!f || !t) {
		free(t);
		return NULL;
	}
	t[fread(t, 1, (1 << 20) - 1, f)] = '\0';
	fclose(f);
	return t;
}

static void spill(const char *path, const char *text)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	assert_int_equal(fclose(f), 0);
}

static int run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	status = system(line);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *genwrap(void)
{
	static char path[4096]; /* absolute: some runs are in another folder */

	if (!*path && !realpath(getenv("GENWRAP") ? getenv("GENWRAP") : "build/genwrap", path))
		fail_msg("no genwrap: set GENWRAP to its path");
	return path;
}

static int rm(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(tmp))
		return -1;
	snprintf(path, sizeof(path), "%s/out", tmp);
	return mkdir(path, 0777);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(tmp, rm, 8, FTW_DEPTH | FTW_PHYS);
}

static int generate(void)
{
	return run("%s -o %s/out -k " DIR_ "kinds.yaml -t " DIR_ "text.yaml -x dlsym " DIR_
		   "tiny.yaml",
		genwrap(), tmp);
}

static const char *const made[] = {
	"wrap_tiny.c", "api_table.c", "tiny_gen.h", "probe.map", "builtin.c", "name_texts.c"};
#define NMADE (sizeof(made) / sizeof(made[0]))

static void test_golden(void **state)
{
	(void)state;
	assert_int_equal(generate(), 0);
	for (size_t i = 0; i < NMADE; i++) {
		char path[256];
		char *have, *want;

		snprintf(path, sizeof(path), "%s/out/%s", tmp, made[i]);
		have = slurp(path);
		snprintf(path, sizeof(path), DIR_ "expect/%s", made[i]);
		want = slurp(path);
		assert_non_null(have);
		assert_non_null(want);
		if (strcmp(have, want) != 0)
			run("diff -u " DIR_ "expect/%s %s/out/%s | head -40 >&2", made[i], tmp,
				made[i]);
		assert_true(strcmp(have, want) == 0);
		free(have);
		free(want);
	}
}

/* An unchanged file keeps its modification time, so that make does not compile it again. */
static void test_unchanged(void **state)
{
	struct stat before[NMADE], after;
	char path[256];

	(void)state;
	assert_int_equal(generate(), 0);
	assert_int_equal(run("touch -d @1000000000 %s/out/*", tmp), 0);
	snprintf(path, sizeof(path), "%s/out/probe.map", tmp);
	spill(path, "something else\n");
	for (size_t i = 0; i < NMADE; i++) {
		snprintf(path, sizeof(path), "%s/out/%s", tmp, made[i]);
		assert_int_equal(stat(path, &before[i]), 0);
	}
	assert_int_equal(generate(), 0);
	for (size_t i = 0; i < NMADE; i++) {
		snprintf(path, sizeof(path), "%s/out/%s", tmp, made[i]);
		assert_int_equal(stat(path, &after), 0);
		if (strcmp(made[i], "probe.map") == 0)
			assert_true(before[i].st_ino != after.st_ino ||
				    before[i].st_size != after.st_size);
		else
			assert_int_equal(after.st_mtime, 1000000000);
	}
}

/* The wrappers themselves: compiled without warnings, arguments and results unharmed. */
static void test_driver(void **state)
{
	const char *cc = getenv("CC") ? getenv("CC") : "cc";

	(void)state;
	assert_int_equal(generate(), 0);
	assert_int_equal(
		run("%s -std=gnu11 -D_GNU_SOURCE -O2 -fexceptions -Wall -Wextra -Wshadow "
		    "-Wstrict-prototypes "
		    "-Wmissing-prototypes -Werror -Ipreload -I. -I%s/out -o %s/driver " DIR_
		    "driver.c "
		    "%s/out/api_table.c %s/out/builtin.c",
			cc, tmp, tmp, tmp, tmp),
		0);
	assert_int_equal(run("%s/driver " DIR_ "text.yaml", tmp), 0);
}

/* One mistake put into a sound file: `from` becomes `to`. */
struct mistake {
	const char *file, *from, *to, *message;
};

#include "gen/mistakes.h"

/* Returns 1 if genwrap did not say what it should. */
static int try_mistake(const struct mistake *m)
{
	const char *other = strcmp(m->file, "tiny.yaml") == 0 ? "kinds.yaml" : "tiny.yaml";
	char path[256], *text, *at, *said;
	char *changed = calloc(1, 1 << 16);
	int wrong;

	snprintf(path, sizeof(path), DIR_ "%s", m->file);
	text = slurp(path);
	assert_non_null(text);
	assert_non_null(changed);
	at = strstr(text, m->from);
	if (!at)
		fail_msg("%s does not contain: %s", m->file, m->from);
	snprintf(changed, 1 << 16, "%.*s%s%s", (int)(at - text), text, m->to, at + strlen(m->from));
	snprintf(path, sizeof(path), "%s/%s", tmp, m->file);
	spill(path, changed);
	assert_int_equal(
		run("cp " DIR_ "%s %s/ && rm -rf %s/bad && mkdir %s/bad", other, tmp, tmp, tmp), 0);
	assert_int_equal(
		run("cd %s && %s -o bad -k kinds.yaml tiny.yaml 2>said", tmp, genwrap()), 1);
	snprintf(path, sizeof(path), "%s/said", tmp);
	said = slurp(path);
	assert_non_null(said);
	wrong = !strstr(said, m->message);
	if (wrong)
		print_error(
			"%s -> %s\n  wanted: %s\n  got:    %s", m->from, m->to, m->message, said);
	assert_int_equal(run("rmdir %s/bad", tmp), 0); /* nothing was written */
	free(text);
	free(changed);
	free(said);
	return wrong;
}

static void test_mistakes(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
		wrong += try_mistake(&mistakes[i]);
	assert_int_equal(wrong, 0);
}

static void test_usage(void **state)
{
	(void)state;
	assert_int_equal(run("%s 2>/dev/null", genwrap()), 2);
	assert_int_equal(run("%s -o %s/out 2>/dev/null", genwrap(), tmp), 2);
	assert_int_equal(run("%s -o %s/out -k /nonexistent 2>/dev/null", genwrap(), tmp), 2);
	assert_int_equal(run("%s -o %s/none -k " DIR_ "kinds.yaml " DIR_ "tiny.yaml 2>/dev/null",
				 genwrap(), tmp),
		2);
}

/* Compiles them again if a file of the generator says something else: a new library may change only what lists all libraries. */
static void a_new_library_leaves_the_wrappers_of_others_as_they_are(void **state)
{
	static const char *const kept[] = {"wrap_tiny.c", "tiny_gen.h"};
	char path[256];

	(void)state;
	snprintf(path, sizeof(path), "%s/first.yaml", tmp);
	/* Its functions come before, between and after the other library's. */
	spill(path, "{notation: 1, library: first, sonames: [x], missing: 1, success: [0], "
		    "functions: {\n"
		    "a_First: {task: init, sig: \"int (void)\"},\n"
		    "tiny_Bcast: {task: init, sig: \"int (void)\"},\n"
		    "z_Last: {task: init, sig: \"int (void)\"}}}\n");
	assert_int_equal(generate(), 0);
	assert_int_equal(run("mkdir -p %s/two && %s -o %s/two -k " DIR_ "kinds.yaml -t " DIR_
			     "text.yaml -x dlsym %s " DIR_ "tiny.yaml",
				 tmp, genwrap(), tmp, path),
		0);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		assert_int_equal(run("cmp %s/out/%s %s/two/%s >&2", tmp, kept[i], tmp, kept[i]), 0);
	/* Its rows are there. */
	assert_int_equal(run("grep -q '&first_rows\\[2\\]' %s/two/wrap_first.c", tmp), 0);
	assert_int_equal(
		run("grep -q '{&adapter_first, first_rows, 3, ' %s/two/api_table.c", tmp), 0);
}

/* Two files of one library would write the same tables. */
static void test_library_twice(void **state)
{
	char path[256], *said;

	(void)state;
	snprintf(path, sizeof(path), "%s/other.yaml", tmp);
	spill(path, "{notation: 1, library: tiny, sonames: [x], missing: 1, success: [0], "
		    "functions: {}}\n");
	assert_int_equal(run("%s -o %s/out -k " DIR_ "kinds.yaml " DIR_ "tiny.yaml %s 2>%s/said",
				 genwrap(), tmp, path, tmp),
		1);
	snprintf(path, sizeof(path), "%s/said", tmp);
	said = slurp(path);
	assert_non_null(said);
	assert_non_null(strstr(
		said, "other.yaml:1:1: library 'tiny' is defined in " DIR_ "tiny.yaml already"));
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(a_new_library_leaves_the_wrappers_of_others_as_they_are),
		cmocka_unit_test(test_library_twice),
	};

	return cmocka_run_group_tests_name("gen", tests, setup, teardown);
}
