/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a rank's folder: blocks and parts, limits, and what others do to them meanwhile. */
#include "core_helper.h"
#include "journal/columns.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MIB (1u << 20)

static struct chain chain;
static uint64_t next_seq;

static void begin(struct rank *r)
{
	rank_make(r, 4 * MIB);
	rank_sink(r);
	dict_api(&r->j, 1, "MPI_Allreduce");
	assert_int_equal(chain_open(&chain, &r->j, 1), 0);
	next_seq = 1;
}

/* n calls of one row each. */
static void calls(uint32_t step, unsigned n)
{
	while (n--)
		leave_call(enter_call(&chain, next_seq++, step, 1, 0), 0);
}

static void drain(struct rank *r)
{
	assert_int_equal(drain_all(&r->drain, false), 0);
}

static bool exists(const struct rank *r, const char *name)
{
	return faccessat(r->dirfd, name, F_OK, 0) == 0;
}

static size_t size_of_file(const struct rank *r, const char *name)
{
	struct stat st;

	return fstatat(r->dirfd, name, &st, 0) ? 0 : (size_t)st.st_size;
}

static void check_rows(const struct rank *r, size_t rows)
{
	struct table t = read_test_table(r->dir);

	assert_sound(&t);
	assert_int_equal(t.n, rows);
	for (size_t i = 0; i < t.n; i++) {
		unsigned long long first = 1, last = 0;
		unsigned long step = strtoul(t.row[i].field[COL_step], NULL, 10);

		assert_int_equal(
			rows_of_file(&t, strtoull(t.row[i].field[COL_seq], NULL, 10), NULL), 1);
		assert_int_equal(sscanf(t.row[i].file, "calls_%llu-%llu", &first, &last), 2);
		assert_true(first <= step && step <= last);
	}
	free_test_table(&t);
}

static void test_blocks(void **state)
{
	static const uint32_t steps[] = {0, 99, 100, 199, 200, 12345, 4294967295};
	struct rank r;

	(void)state;
	begin(&r);
	for (unsigned i = 0; i < 7; i++)
		calls(steps[i], 1);
	drain(&r);
	assert_int_equal(count_files(r.dir, "calls_"), 5);
	assert_true(exists(&r, "calls_0-99.csv") && exists(&r, "calls_100-199.csv") &&
		    exists(&r, "calls_200-299.csv"));
	assert_true(exists(&r, "calls_12300-12399.csv") &&
		    exists(&r, "calls_4294967200-4294967299.csv"));
	check_rows(&r, 7);
	rank_drop(&r);
}

static void test_parts(void **state)
{
	struct rank r;

	(void)state;
	begin(&r);
	r.j.head->part_bytes = 40000;
	for (int i = 0; i < 40; i++) {
		calls(7, 50);
		if (i % 3 == 0)
			drain(&r);
	}
	drain(&r);
	check_rows(&r, 2000);
	assert_true(exists(&r, "calls_0-99.csv") && exists(&r, "calls_0-99.1.csv") &&
		    exists(&r, "calls_0-99.2.csv"));
	for (int k = 0; k < (int)count_files(r.dir, "calls_"); k++) {
		char name[40];

		snprintf(name, sizeof(name), k ? "calls_0-99.%d.csv" : "calls_0-99.csv", k);
		assert_in_range(size_of_file(&r, name), 1, 40000);
	}
	/* Another block has parts of its own; a late row goes into the newest part of its block. */
	calls(100, 1);
	calls(3, 1);
	drain(&r);
	assert_true(exists(&r, "calls_100-199.csv") && !exists(&r, "calls_100-199.1.csv"));
	check_rows(&r, 2002);
	/* And so does what a later process adds. */
	rank_unsink(&r);
	rank_sink(&r);
	calls(3, 200);
	drain(&r);
	check_rows(&r, 2202);
	rank_drop(&r);
}

/* More files than are held open and than a commit knows. */
static void test_many_files(void **state)
{
	struct rank r;

	(void)state;
	begin(&r);
	r.j.head->block_steps = 1;
	for (uint32_t i = 0; i < 300; i++) {
		calls(i % 60, 2);
		calls((i * 7) % 60, 1);
		if (i % 11 == 0)
			drain(&r);
	}
	drain(&r);
	assert_int_equal(count_files(r.dir, "calls_"), 60);
	check_rows(&r, 900);
	rank_drop(&r);
}

static void test_limit(void **state)
{
	struct rank r;
	uint32_t removed = 0;

	(void)state;
	begin(&r);
	r.j.head->block_steps = 10;
	r.j.head->limit_bytes = 60000;
	for (uint32_t step = 0; step < 200; step++) {
		calls(step, 10);
		drain(&r);
		removed += files_remove_oldest(&r.sink.files);
		assert_true(r.sink.files.total <= 60000);
	}
	assert_true(removed > 10);
	assert_int_equal(r.j.head->removed_blocks, removed);
	assert_int_equal(count_files(r.dir, "calls_"), 20 - removed);
	/* The first and the newest are there, and the ones before the newest. */
	assert_true(exists(&r, "calls_0-9.csv") && exists(&r, "calls_190-199.csv") &&
		    exists(&r, "calls_180-189.csv"));
	assert_false(exists(&r, "calls_10-19.csv"));
	/* A late row brings an old block back. The current one must not be taken for older than that. */
	calls(15, 1);
	drain(&r);
	assert_true(exists(&r, "calls_10-19.csv"));
	for (int i = 0; i < 20; i++) {
		calls(199, 10);
		drain(&r);
		files_remove_oldest(&r.sink.files);
	}
	assert_true(exists(&r, "calls_0-9.csv") && exists(&r, "calls_190-199.csv"));
	assert_false(exists(&r, "calls_10-19.csv"));

	struct table t = read_test_table(r.dir);

	assert_sound(&t);
	free_test_table(&t);
	rank_drop(&r);
}

static void test_removed_files(void **state)
{
	struct rank r;

	(void)state;
	begin(&r);
	calls(0, 5);
	calls(100, 5);
	drain(&r);
	unlinkat(r.dirfd, "calls_0-99.csv", 0);
	calls(0, 3);
	drain(&r);
	check_rows(&r, 8);
	/* Removed while it is not open either. */
	rank_unsink(&r);
	unlinkat(r.dirfd, "calls_0-99.csv", 0);
	rank_sink(&r);
	calls(0, 2);
	drain(&r);
	check_rows(&r, 7);
	rank_drop(&r);
}

/* Cut by another process: to nothing, to a whole line, into one. What is written then begins on a line of its own. */
static void test_cut_files(void **state)
{
	const long head = (long)strlen(ROW_HEADER), keep[] = {0, 1, 5, head - 1, head, head + 21};
	struct rank r;

	(void)state;
	for (unsigned open = 0; open < 2; open++)
		for (unsigned i = 0; i < sizeof(keep) / sizeof(*keep); i++) {
			begin(&r);
			calls(0, 5);
			drain(&r);
			if (!open)
				rank_unsink(&r);

			int fd = openat(r.dirfd, "calls_0-99.csv", O_WRONLY);

			assert_int_equal(ftruncate(fd, keep[i]), 0);
			close(fd);
			if (!open)
				rank_sink(&r);
			calls(0, 3);
			drain(&r);
			check_rows(&r, 3);
			rank_drop(&r);
		}
}

/* ---- RLIMIT_FSIZE: writing beyond it is a signal that ends the program ---- */

static void put_stack_row(uint32_t id)
{
	uint32_t bytes = (uint32_t)sizeof(struct journal_stack) + 8 * 8;
	struct journal_stack *e = chain_reserve(&chain, bytes, NO_WAKE);

	memset(e, 0, bytes);
	*e = (struct journal_stack){
		.e = {.bytes = bytes, .type = JE_STACK, .n = 8}, .id = id, .api = 1};
	chain_publish(&chain, bytes);
}

static void under_limit(struct rank *r)
{
	struct rlimit l = {65536, 65536};

	setrlimit(RLIMIT_FSIZE, &l);
	for (unsigned i = 0; i < 60; i++) {
		calls(i / 3, 20);
		for (unsigned k = 0; k < 30; k++)
			put_stack_row(i * 30 + k + 1);
		if (drain_all(&r->drain, false))
			_exit(1);
	}
	_exit(0);
}

static void test_file_size_limit(void **state)
{
	struct rank r;
	int status;
	pid_t pid;

	(void)state;
	begin(&r);
	pid = fork();
	if (pid == 0)
		under_limit(&r);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	assert_int_equal(status, 0);
	check_rows(&r, 1200);
	assert_true(count_files(r.dir, "calls_") >= 3);
	assert_in_range(size_of_file(&r, "stack_info.csv"), 10000, 65536);
	assert_true(r.j.head->lost_rows > 0);
	rank_drop(&r);
}

/* The folder's descriptor is closed by the program in the middle of a drain, and its number is a folder of its own. */
static int ours, looks;

static void take_anew(struct files *f)
{
	looks++;
	f->dirfd = ours;
}

static void test_number_taken(void **state)
{
	char other[64] = "/tmp/probe-test-other-XXXXXX";
	struct rank r;

	(void)state;
	assert_non_null(mkdtemp(other));
	begin(&r);
	calls(0, 3);
	ours = r.dirfd;
	r.sink.files.look = take_anew;
	r.sink.files.dirfd = open(other, O_RDONLY | O_DIRECTORY);
	drain(&r);
	check_rows(&r, 3);
	for (int i = 0; i < 2; i++) {
		r.sink.files.dirfd = open(other, O_RDONLY | O_DIRECTORY);
		assert_int_equal(sink_write_meta(&r.sink), 0);
	}
	assert_int_equal(rmdir(other), 0); /* empty */
	assert_true(exists(&r, "meta.json") && looks > 2);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_removed_files),
		cmocka_unit_test(test_cut_files),
		cmocka_unit_test(test_number_taken),
		cmocka_unit_test(test_file_size_limit),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
