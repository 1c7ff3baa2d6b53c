/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at every single allocation of the configuration, once and for good: no crash, nothing leaked,
 * defaults where nothing else could be had, and a line that says so.
 * libyaml comes in as an archive, so that its allocations fail, too.
 */
/* link: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free -Wl,-u,yaml_parser_parse -l:libyaml.a */
#include "config/list/wraplist.h"
#include "config_helper.h"

#include <errno.h>

#define YAML                                                                            \
	"output_dir: /a/b\njournal_dir: /dev/shm\nwrap_ops: x.yaml\njournal_mib: 7\n"   \
	"rank: [0, 1, 2, 4-9, 11, 13]\nstep: 5-7\neps: 0.5\nstep_marker: MPI_Barrier\n" \
	"unknown: {a: [b, c], d: &e f}\nstack: no\nstack: yes\nnested: true\n"
#define LIST                                                                                       \
	"mpi:\n  - MPI_Send\n  - MPI_R*\n  - 'MPI_[AB]*'\nnccl: [ncclSend, ncclRecv]\nother: {a: " \
	"b}\n"

const struct builtin_text builtin_texts[] = {
	{"probe.yaml", YAML}, {"support_wrap_ops.yaml", LIST}, {NULL, NULL}};

static bool armed;
static long left; /* allocations until one fails */
static bool for_good; /* ... and all after it, too */
static unsigned failed;
static long blocks; /* allocated and not freed while armed */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

static bool fails(void)
{
	if (!armed)
		return false;
	if (left > 0) {
		left--;
		return false;
	}
	if (failed && !for_good)
		return false;
	failed++;
	errno = ENOMEM;
	return true;
}

static void *counted(void *p)
{
	blocks += armed && p;
	return p;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t m)
{
	return fails() ? NULL : counted(__real_calloc(n, m));
}

void *__wrap_realloc(void *p, size_t n)
{
	if (fails())
		return NULL;
	return p ? __real_realloc(p, n) : counted(__real_realloc(p, n));
}

char *__wrap_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = fails() ? NULL : counted(__real_malloc(n));

	return p ? memcpy(p, s, n) : NULL;
}

void __wrap_free(void *p)
{
	blocks -= armed && p;
	__real_free(p);
}

static void arm(long n, bool good)
{
	armed = true;
	left = n;
	for_good = good;
	failed = 0;
	blocks = 0;
}

static char *const *env = ENV("PROBE_PART_MIB=9", "PROBE_STEP=1,3,5", "PROBE_OUTPUT_DIR=/e");

/* Every value is the default, the file's or the environment's; after a failure none is the file's. */
static void check_values(const struct config *c, bool file)
{
	assert_int_equal(c->journal_mib, file ? 7 : 0);
	assert_true(c->eps == (file ? 0.5 : 1e-8));
	assert_int_equal(c->nested, file);
	assert_int_equal(c->rank.n, file ? 4 : 0);
	assert_string_equal(c->step_marker, file ? "MPI_Barrier" : "");
	assert_string_equal(c->journal_dir, file ? "/dev/shm" : "");
	assert_int_equal(c->part_mib, 9); /* needs no memory */
}

static void load_fails(bool from_file, bool good)
{
	const char *path = temp_file("fault.yaml", YAML, sizeof(YAML) - 1);
	struct lines l;
	struct config c;
	long n = 0;

	for (;; n++) {
		l.n = 0;
		arm(n, good);

		int err = from_file ? config_load(&c, path, env, CWD, collect, &l)
				    : config_load_text(&c, "f", YAML, sizeof(YAML) - 1, env, CWD,
					      collect, &l);

		if (!failed)
			break;
		if (err == 0) { /* libyaml can do without some: nothing may be missing then */
			check_values(&c, true);
			assert_string_equal(c.output_dir, "/e");
			assert_int_equal(c.step.n, 3);
		} else {
			assert_int_equal(err, -ENOMEM);
			assert_said(&l, "out of memory");
			/* Only the environment's own strings may be what failed. */
			check_values(&c, c.journal_mib == 7);
			assert_true(strcmp(c.output_dir, "/e") == 0 ||
				    strcmp(c.output_dir, "./probe_output") == 0 ||
				    strcmp(c.output_dir, "/a/b") == 0 ||
				    strcmp(c.output_dir, "/job/dir/probe_output") == 0);
			assert_non_null(c.wrap_ops);
		}
		config_free(&c);
		assert_int_equal(blocks, 0);
		armed = false;
	}
	config_free(&c);
	assert_int_equal(blocks, 0);
	armed = false;
	assert_true(n > 20); /* the test did test something */
}

static void load_config_text(void **state)
{
	(void)state;
	load_fails(false, false);
	load_fails(false, true);
}

static void load_file(void **state)
{
	(void)state;
	load_fails(true, false);
	load_fails(true, true);
}

static void count_reported_line(void *arg, const char *line)
{
	(void)line;
	++*(unsigned *)arg;
}

static void dump_and_find(void **state)
{
	struct config c;
	unsigned lines = 0, want;

	(void)state;
	assert_int_equal(config_load(&c, NULL, env, CWD, NULL, NULL), 0);
	config_print_yaml(&c, false, count_reported_line, &lines);
	want = lines;
	for (long n = 0; failed || n == 0; n++) {
		lines = 0;
		arm(n, true);
		config_print_yaml(&c, false, count_reported_line, &lines);
		assert_int_equal(blocks, 0);
		armed = false;
		assert_int_equal(lines, want); /* problems that cannot be shown are mentioned */
	}
	config_free(&c);
	for (long n = 0; n < 6; n++) {
		arm(n, true);
		free(config_find("probe.yaml", "build/libprobe.so"));
		armed = false;
	}
}

static void list_fails(int how, bool good)
{
	const char *path = temp_file("fault.list", LIST, sizeof(LIST) - 1);
	struct lines l;
	struct wraplist *w;
	long n = 0;

	for (;; n++) {
		l.n = 0;
		arm(n, good);
		w = how == 0   ? wraplist_load_text("l", LIST, sizeof(LIST) - 1, collect, &l)
		    : how == 1 ? wraplist_load_text("l", "mpi: [", 6, collect, &l)
			       : wraplist_load(how == 2 ? path : NULL, collect, &l);
		if (!failed)
			break;
		if (w) {
			assert_true(wraplist_match(w, "mpi", "MPI_Send"));
			assert_true(wraplist_match(w, "mpi", "MPI_Bcast"));
			assert_true(wraplist_match(w, "nccl", "ncclRecv"));
		} else {
			assert_said(&l, "out of memory; this list is not used");
		}
		wraplist_free(w);
		assert_int_equal(blocks, 0);
		armed = false;
	}
	assert_non_null(w);
	wraplist_free(w);
	assert_int_equal(blocks, 0);
	armed = false;
	assert_true(n > 10);
}

static void lists(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		list_fails(how, false);
		list_fails(how, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load_config_text),
		cmocka_unit_test(load_file),
		cmocka_unit_test(dump_and_find),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests_name("config_fault", tests, NULL, NULL);
}
