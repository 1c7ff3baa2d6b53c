/* SPDX-License-Identifier: Apache-2.0 */
/* Files as users break them: whatever is in one, the defaults hold, a line says so, and it is over quickly. */
#include "config_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

const struct builtin_text builtin_texts[] = {{"probe.yaml", "log_level: 1\n"},
	{"support_wrap_ops.yaml", "mpi:\n  - MPI_Send\n"}, {NULL, NULL}};

#define IGNORED "nothing is recorded until the file is repaired"

/* Loads bytes; everything must be default except the environment's settings. */
static void broken(const void *bytes, size_t n, struct lines *l)
{
	char *const *env = ENV("PROBE_PART_MIB=9");
	struct config c, d;
	char *copy = malloc(n ? n : 1); /* exactly so large that a sanitizer sees a step too far */

	memcpy(copy, bytes, n);
	l->n = 0;
	assert_int_equal(config_load(&d, NULL, env, CWD, NULL, NULL), 0);
	assert_int_equal(config_load_text(&c, "f.yaml", copy, n, env, CWD, collect, l), 0);
	free(copy);
	assert_int_equal(c.part_mib, 9);
	/* A file that is no file of keys records nothing; an empty one is a valid file. */
	assert_true(c.unreadable == said(l, IGNORED));
	assert_true(c.disable == c.unreadable);
	c.disable = false;
	assert_same_config(&c, &d);
	config_free(&c);
	config_free(&d);
}

#define BROKEN(text, l) broken(text, sizeof(text) - 1, l)

static void syntax_errors(void **state)
{
	struct lines l;

	(void)state;
	BROKEN("journal_mib: 7\nstack: [1, 2\nnested: true\n", &l);
	assert_lines(
		&l, 1); /* stack is no list, which is not reported: no value of this file counts */
	assert_said(&l,
		"f.yaml:3:7: no valid YAML: did not find expected ',' or ']', while parsing a "
		"flow sequence that begins in line 2; " IGNORED);
	BROKEN("journal_mib: 7\n\teps: 1\n", &l);
	assert_lines(&l, 1);
	assert_said(
		&l, "f.yaml:2:1: no valid YAML: found a tab character that violates indentation");
	BROKEN("journal_mib: 7\nnested true\n", &l);
	assert_said(&l, "f.yaml:3:1: no valid YAML: could not find expected ':'");
	BROKEN("journal_mib: \"7\nnested: true\n", &l);
	assert_said(&l, "no valid YAML: found unexpected end of stream");
	BROKEN("journal_mib: 7\n...\n{", &l);
	assert_said(&l, IGNORED);
	BROKEN("%YAML 9.9\n---\na: b\n", &l);
	assert_said(&l, "no valid YAML: found incompatible YAML document");
	BROKEN("a: *x y\n", &l);
	assert_said(&l, IGNORED);
}

static void no_text(void **state)
{
	unsigned char garbage[4096];
	struct lines l;

	(void)state;
	BROKEN("journal_mib: 7\na: \xff\xfe\n", &l);
	assert_lines(&l, 1);
	assert_said(&l, "f.yaml:2:4: no valid YAML: invalid leading UTF-8 octet; " IGNORED);
	BROKEN("journal_mib: 7\n\n a\0b: 1\n", &l);
	assert_said(&l, "f.yaml:3:3: no valid YAML: control characters are not allowed");
	BROKEN("\x7f"
	       "ELF\x02\x01\x01\0\0\0\0",
		&l);
	assert_said(&l, IGNORED);
	srand(3);
	for (int round = 0; round < 500; round++) {
		for (size_t i = 0; i < sizeof(garbage); i++)
			garbage[i] = (unsigned char)rand();
		broken(garbage, (size_t)rand() % sizeof(garbage), &l);
	}
}

static void wrong_top(void **state)
{
	struct lines l;

	(void)state;
	BROKEN("", &l);
	assert_lines(&l, 1);
	assert_said(&l, "f.yaml:1:1: the file is empty; all defaults are used");
	BROKEN("  \n\n", &l);
	assert_said(&l, "the file is empty");
	BROKEN("# all keys are commented out\n# journal_mib: 7\n", &l);
	assert_lines(&l, 0);
	BROKEN("- journal_mib: 7\n", &l);
	assert_lines(&l, 1);
	assert_said(&l, "f.yaml:1:1: a list where keys are expected; accepted: lines such as "
			"\"journal_mib: 16\"; " IGNORED);
	BROKEN("journal_mib=7\n", &l);
	assert_said(&l, "f.yaml:1:1: a single value where keys are expected");
	BROKEN("---\n", &l);
	assert_said(&l, "a single value where keys are expected");
	BROKEN("{}", &l);
	assert_lines(&l, 0);
}

static void keys_and_shapes(void **state)
{
	struct config c;
	struct lines l;

	(void)state;
	load(&c,
		"journal_mb: 7\npath_of_x: /x\nstatistic: {list: [a, {b: c}]}\nStep: 3\nlog-level: "
		"2\n"
		"part_mib: 5\n",
		NULL, &l);
	assert_lines(&l, 5);
	assert_string_equal(l.text[0], "f.yaml:1:1: \"journal_mb\": unknown key; did you mean "
				       "journal_mib? It is ignored");
	assert_string_equal(l.text[1],
		"f.yaml:2:1: \"path_of_x\": unknown key; it is ignored (`probe "
		"config` lists the keys)");
	assert_said(&l, "f.yaml:3:1: \"statistic\": unknown key; did you mean statistics?");
	assert_said(&l, "did you mean step?");
	assert_said(&l, "did you mean log_level?");
	assert_int_equal(c.part_mib, 5);
	config_free(&c);

	load(&c, "esp: 1.0\nspe: 1\n", NULL, &l);
	assert_lines(&l, 2);
	assert_said(&l, "\"esp\": unknown key; did you mean eps?"); /* letters swapped: one slip */
	assert_said(&l, "\"spe\": unknown key; it is ignored");
	config_free(&c);

	load(&c, "eps: 1.0\npart_mib: 4\npart_mib: 5\neps: x\npart_mib: 6\n", NULL, &l);
	assert_lines(&l, 4);
	assert_string_equal(
		l.text[0], "f.yaml:3:1: part_mib: given before on line 2; the last one is used");
	assert_said(&l, "f.yaml:5:1: part_mib: given before on line 2");
	assert_said(&l,
		"f.yaml:4:6: eps: \"x\": not a number; accepted: a number of 0 or more; the "
		"default 1.0e-8 is used");
	assert_int_equal(c.part_mib, 6);
	assert_true(c.eps == 1e-8);
	config_free(&c);

	load(&c,
		"journal_mib: {mib: 7}\nnested: [true]\nfork: sometimes\n[1, 2]: 3\n? {a: b}\n: c\n"
		"output_dir: [/a]\npart_mib: 5\n",
		NULL, &l);
	assert_lines(&l, 6);
	assert_said(&l,
		"f.yaml:1:14: journal_mib: a group of keys; accepted: an integer from 0 to 4096; "
		"the default 0 is used");
	assert_said(&l,
		"f.yaml:3:7: fork: \"sometimes\": not one of the names; accepted: off or follow; "
		"the default off is used");
	assert_said(&l, "f.yaml:4:1: a list where a key is expected; it is ignored");
	assert_said(&l, "f.yaml:5:3: a group of keys where a key is expected; it is ignored");
	assert_int_equal(c.part_mib, 5);
	config_free(&c);
}

static void anchors_and_documents(void **state)
{
	struct config c;
	struct lines l;

	(void)state;
	load(&c,
		"base: &b {journal_mib: 9}\n<<: *b\npart_mib: &p 5\njournal_mib: *p\nrank: [1, "
		"*p]\n"
		"stack_depth: !!int 7\n*p : 3\n",
		NULL, &l);
	assert_lines(&l, 5);
	assert_said(&l,
		"f.yaml:4:14: journal_mib: an alias (*name), which is not supported; accepted: ");
	assert_said(&l, "f.yaml:5:11: rank: an alias");
	assert_said(&l, "\"<<\": unknown key");
	assert_said(
		&l, "f.yaml:7:1: an alias (*name), which is not supported where a key is expected");
	assert_int_equal(c.journal_mib, 0);
	assert_int_equal(c.part_mib, 5);
	assert_int_equal(c.rank.n, 0);
	assert_int_equal(c.stack_depth, 7);
	config_free(&c);

	load(&c, "part_mib: 5\n---\npart_mib: 6\n", NULL, &l);
	assert_lines(&l, 1);
	assert_said(&l, "f.yaml:2:1: a second YAML document begins; it is ignored");
	assert_int_equal(c.part_mib, 5);
	config_free(&c);

	/* JSON is YAML; a byte order mark and UTF-16 are fine as well, Windows line ends too. */
	load(&c, "{\"part_mib\": 5, \"rank\": [1, \"3-4\"],\n\"stack\": false}", NULL, &l);
	assert_lines(&l, 0);
	assert_int_equal(c.part_mib, 5);
	assert_string_equal(shown(&c, "rank"), "[1, \"3-4\"]");
	config_free(&c);
	load(&c, "\xef\xbb\xbfpart_mib: 5\r\nstack: no\r\n", NULL, &l);
	assert_lines(&l, 0);
	assert_int_equal(c.part_mib, 5);
	assert_false(c.stack);
	config_free(&c);
	assert_int_equal(config_load_text(&c, "f.yaml",
				 "\xff\xfe"
				 "e\0p\0s\0:\0 \0"
				 "2\0\n\0",
				 16, NULL, CWD, collect, &l),
		0);
	assert_lines(&l, 0);
	assert_true(c.eps == 2);
	config_free(&c);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* `unit` repeated to fill n bytes, between head and tail. */
static char *repeated(const char *head, const char *unit, const char *tail, size_t n)
{
	char *text = malloc(strlen(head) + n + strlen(tail) + 1), *p = text;

	p = stpcpy(p, head);
	for (size_t i = 0, u = strlen(unit); i < n; i++)
		*p++ = unit[i % u];
	strcpy(p, tail);
	return text;
}

static void in_time(struct config *c, const char *text, struct lines *l)
{
	const char *limit = getenv("CONFIG_SECONDS"); /* an emulated processor needs more */
	double t = seconds();

	load(c, text, NULL, l);
	t = seconds() - t;
	if (getenv("VERBOSE"))
		print_message("# %.3f s, %u lines: %.20s: %.100s\n", t, l->n, text,
			l->n ? l->text[l->n - 1] : "");
	/* Of processor time, of a sanitizer build. */
	assert_true(t < (limit ? atof(limit) : 10));
	assert_true(l->n <= 33);
}

/* A mebibyte of whatever costs libyaml or us most must not hold up the job. */
static void bounded(void **state)
{
	static const struct {
		const char *head, *unit, *tail, *said;
	} worst[] = {
		{"a: ", "[", "", "nested more than 32 deep; " IGNORED},
		{"", "[", "", "a list where keys are expected"},
		{"a: ", "{a: ", "", "nested more than 32 deep"},
		{"a:\n", "- ", "", "nested more than 32 deep"},
		{"", "? ", "", "nested more than 32 deep"},
		{"a: ", "&a ", "", IGNORED},
		{"", "a: b\n", "", "further problems are not shown"},
		{"rank: [", "1,", "2]\n", NULL},
		{"rank: [", "1,9,", "2]\n", NULL},
		{"rank: ", "7,1,5,", "0\n", NULL},
		{"rank: [", "x,", "0]\n", "not a list of integers"},
		{"step: \"", "x", "\"\n", "step: \"xxxxxx"},
		{"step_marker: ", "x", "\n", NULL},
		{"output_dir: ", "x", "\n", "too long a path"},
		{"", "x", ": 5\n", NULL},
		{"a: |\n", " x\n", "", NULL},
		{"a: '", "\n\n", "'\n", NULL},
		{"", "#\n", "", NULL},
		{"", "part_mib: 3\n", ": 3\n", "further problems are not shown"},
		{"", "- ", "", NULL},
		{"a: {", "b,", "}\n", NULL},
		{"%TAG !", "a", "! b\n", IGNORED},
		{"a: !<", "%41", "> b\n", "has more than 4096 signs %; " IGNORED},
		{"", "%TAG !a! b\n", "", IGNORED},
		{"a: {b", ",", "}\n", NULL},
		{"{", "\"a\":", "}\n", NULL},
		{"{", "a: &b *b,", "}\n", NULL},
	};
	struct config c;
	struct lines l;
	char *text = malloc(1 << 20), *p = text;

	(void)state;
	for (int i = 0; i < 60000; i++) /* each %TAG is compared with all before it */
		p += sprintf(p, "%%TAG !%x! b\n", i);
	strcpy(p, "---\na: b\n");
	in_time(&c, text, &l);
	config_free(&c);
	assert_said(&l, "has more than 4096 signs %");
	strcpy(strstr(text, "!1000!") - 5, "---\npart_mib: 5\n");
	in_time(&c, text, &l);
	assert_int_equal(c.part_mib, 5);
	config_free(&c);
	assert_lines(&l, 0);
	free(text);
	for (size_t i = 0; i < sizeof(worst) / sizeof(worst[0]); i++) {
		text = repeated(worst[i].head, worst[i].unit, worst[i].tail, (1 << 20) - 32);
		in_time(&c, text, &l);
		if (worst[i].said)
			assert_said(&l, worst[i].said);
		if (i == 7)
			assert_string_equal(shown(&c, "rank"), "[\"1-2\"]");
		if (i == 9)
			assert_string_equal(shown(&c, "rank"), "[\"0-1\", 5, 7]");
		config_free(&c);
		free(text);
	}
}

static void floods(void **state)
{
	char *text = repeated("", "a: 1\n", "", 1000 * 5);
	struct config c;
	struct lines l;

	(void)state;
	load(&c, text, NULL, &l);
	assert_lines(&l, 33);
	assert_string_equal(l.text[32], "f.yaml: 968 further problems are not shown");
	config_free(&c);
	free(text);
	/* 32 problems are all shown, and nothing is reported about further ones. */
	text = repeated("", "a: 1\n", "", 32 * 5);
	load(&c, text, NULL, &l);
	assert_lines(&l, 32);
	assert_said(&l, "f.yaml:32:1: ");
	config_free(&c);
	free(text);

	/* Long names keep their end, long values their beginning, characters stay whole. */
	char name[1000];

	memset(name, 'd', sizeof(name));
	strcpy(name + 600, "/\xc3\xa4\xc3\xa4probe.yaml");
	text = repeated("journal_mib: \"a", "\xe2\x82\xac", "\\n\\x7f\"\n", 300);
	l.n = 0;
	config_load_text(&c, name, text, strlen(text), NULL, CWD, collect, &l);
	assert_lines(&l, 1);
	assert_memory_equal(l.text[0], "...ddd", 6);
	assert_said(&l, "ddd/\xc3\xa4\xc3\xa4probe.yaml:1:14: journal_mib: \"a\xe2\x82\xac");
	assert_said(&l,
		"\xe2\x82\xac...\": not an integer; accepted: an integer from 0 to 4096; the "
		"default 0 is used");
	config_free(&c);
	free(text);
}

static void files(void **state)
{
	struct config c;
	struct lines l = {0};
	char *big = repeated("", "#", "\n", (1 << 20) + 1), path[300];
	const char *f;

	(void)state;
	/* Relative to the working directory that is passed, not to the current one. */
	f = temp_file("a.yaml", "part_mib: 5\n", 12);
	char *slash = strrchr(strcpy(path, f), '/');

	*slash = 0;
	assert_int_equal(config_load(&c, "./a.yaml", NULL, path, collect, &l), 0);
	assert_int_equal(c.part_mib, 5);
	config_free(&c);
	assert_lines(&l, 0);
	assert_int_equal(config_load(&c, "b.yaml", NULL, path, collect, &l), -ENOENT);
	strcat(path, "/b.yaml: cannot be read: No such file or directory; all defaults are used");
	assert_string_equal(l.text[0], path);
	assert_int_equal(c.part_mib, 256);
	config_free(&c);

	l.n = 0;
	assert_int_equal(config_load(&c, "/tmp", NULL, CWD, collect, &l), -EISDIR);
	config_free(&c);
	assert_int_equal(config_load(&c, "", NULL, CWD, collect, &l), -EINVAL);
	config_free(&c);
	assert_int_equal(config_load(&c, "/dev/zero", NULL, CWD, collect, &l), -IO_ENOTREG);
	config_free(&c);
	assert_lines(&l, 3);
	assert_string_equal(
		l.text[2], "/dev/zero: cannot be read: not a regular file; all defaults are used");
	f = temp_file("empty.yaml", "", 0);
	assert_int_equal(config_load(&c, f, NULL, CWD, collect, &l), 0);
	assert_said(&l, "empty.yaml:1:1: the file is empty");
	config_free(&c);

	l.n = 0;
	f = temp_file("big.yaml", big, (1 << 20) + 1);
	assert_int_equal(config_load(&c, f, NULL, CWD, collect, &l), -EFBIG);
	config_free(&c);
	f = temp_file("big.yaml", big, 1 << 20);
	assert_int_equal(config_load(&c, f, NULL, CWD, collect, &l), 0);
	assert_lines(&l, 1);
	config_free(&c);

	/* This FIFO has no writer: waiting for it would hang the job. */
	strcpy(strrchr(strcpy(path, f), '/'), "/fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20);
	assert_int_equal(config_load(&c, path, NULL, CWD, collect, &l), -IO_ENOTREG);
	alarm(0);
	config_free(&c);
	unlink(path);
	free(big);
}

static void touch(const char *dir, const char *below)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, below);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0755);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

static void assert_found(const char *dir, const char *lib, const char *want)
{
	char path[512], expect[512];

	snprintf(path, sizeof(path), "%s/%s", dir, lib);
	snprintf(expect, sizeof(expect), "%s/%s", dir, want ? want : "");

	char *found = config_find("probe.yaml", path);

	if (want)
		assert_string_equal(found, expect);
	else
		assert_null(found);
	free(found);
}

static void finding(void **state)
{
	char dir[] = "/tmp/probe-find-XXXXXX", cmd[256], a[300], b[300];

	(void)state;
	assert_non_null(mkdtemp(dir));
	touch(dir, "t/build/libprobe.so");
	touch(dir, "t/configs/probe.yaml");
	touch(dir, "p/lib/libprobe.so");
	touch(dir, "p/share/libprobe/probe.yaml");
	touch(dir, "both/lib/libprobe.so");
	touch(dir, "both/share/libprobe/probe.yaml");
	touch(dir, "both/configs/probe.yaml");
	touch(dir, "none/lib/libprobe.so");
	touch(dir, "none/configs/probe.yaml/a_folder");
	touch(dir, "links/lib/x");
	snprintf(a, sizeof(a), "%s/t/build/libprobe.so", dir);
	snprintf(b, sizeof(b), "%s/links/lib/libprobe.so", dir);
	assert_int_equal(symlink(a, b), 0);
	assert_found(dir, "t/build/libprobe.so", "t/configs/probe.yaml");
	assert_found(dir, "p/lib/libprobe.so", "p/share/libprobe/probe.yaml");
	assert_found(dir, "both/lib/libprobe.so", "both/configs/probe.yaml");
	assert_found(dir, "links/lib/libprobe.so", "t/configs/probe.yaml");
	assert_found(dir, "none/lib/libprobe.so", NULL);
	assert_found(dir, "nowhere/lib/libprobe.so", NULL);
	assert_null(config_find("probe.yaml", "libprobe.so"));
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	assert_int_equal(system(cmd), 0);

	assert_string_equal(config_get_builtin("probe.yaml"), "log_level: 1\n");
	assert_string_equal(config_get_builtin("support_wrap_ops.yaml"), "mpi:\n  - MPI_Send\n");
	assert_null(config_get_builtin("other.yaml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(syntax_errors),
		cmocka_unit_test(no_text),
		cmocka_unit_test(wrong_top),
		cmocka_unit_test(keys_and_shapes),
		cmocka_unit_test(anchors_and_documents),
		cmocka_unit_test(bounded),
		cmocka_unit_test(floods),
		cmocka_unit_test(files),
		cmocka_unit_test(finding),
	};

	return cmocka_run_group_tests_name("config_file", tests, NULL, NULL);
}
