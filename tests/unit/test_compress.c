/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=read */
/* Finished calls files become .csv.gz; compared with gunzip's output. */
#include "core_helper.h"

#define MIB (1u << 20)

static struct chain chain;
static uint64_t next_seq;
static _Atomic int hurry;

static void begin(struct rank *r)
{
	rank_make(r, 4 * MIB);
	rank_sink(r);
	dict_api(&r->j, 1, "MPI_Allreduce");
	assert_int_equal(chain_open(&chain, &r->j, 1), 0);
	r->j.head->block_steps = 10;
	next_seq = 1;
}

static void calls(struct rank *r, uint32_t step, unsigned n)
{
	while (n--)
		leave_call(enter_call(&chain, next_seq++, step, 1, 0), 0);
	assert_int_equal(drain_all(&r->drain, false), 0);
}

static bool exists(const struct rank *r, const char *name)
{
	return faccessat(r->dirfd, name, F_OK, 0) == 0;
}

/* Every call is there once, after gunzip of a copy of the folder. */
static void check_rows(const struct rank *r, uint64_t n)
{
	char copy[64], cmd[512];
	struct table t;

	make_tmp(copy, sizeof(copy));
	snprintf(cmd, sizeof(cmd),
		"cp %s/calls_* %s/ && { ! ls %s/*.gz >/dev/null 2>&1 || gunzip %s/*.gz; }", r->dir,
		copy, copy, copy);
	assert_int_equal(system(cmd), 0);
	t = read_test_table(copy);
	assert_sound(&t);
	assert_int_equal(t.n, n);
	for (uint64_t seq = 1; seq <= n; seq++)
		assert_int_equal(rows_of_file(&t, seq, NULL), 1);
	free_test_table(&t);
	remove_tree(copy);
}

static void test_when_finished(void **state)
{
	struct rank r;

	(void)state;
	begin(&r);
	calls(&r, 5, 30);
	assert_int_equal(files_compress(&r.sink.files, &hurry), 0);
	calls(&r, 15, 30);
	assert_int_equal(
		files_compress(&r.sink.files, &hurry), 0); /* rows of step 9 may still come */
	calls(&r, 25, 30);
	assert_int_equal(files_compress(&r.sink.files, &hurry), 1);
	assert_int_equal(files_compress(&r.sink.files, &hurry), 0);
	assert_true(exists(&r, "calls_0-9.csv.gz") && !exists(&r, "calls_0-9.csv"));
	assert_true(exists(&r, "calls_10-19.csv") && exists(&r, "calls_20-29.csv"));
	check_rows(&r, 90);

	/* Later rows go into a separate part. */
	calls(&r, 3, 2);
	assert_true(exists(&r, "calls_0-9.1.csv") && !exists(&r, "calls_0-9.csv"));
	check_rows(&r, 92);
	assert_int_equal(files_compress(&r.sink.files, &hurry), 1);
	assert_true(exists(&r, "calls_0-9.1.csv.gz"));
	calls(&r, 3, 2);
	assert_true(exists(&r, "calls_0-9.2.csv"));
	check_rows(&r, 94);

	/* The next process of this folder knows them. */
	rank_unsink(&r);
	rank_sink(&r);
	calls(&r, 4, 1);
	check_rows(&r, 95);
	rank_drop(&r);
}

static void test_parts_and_limit(void **state)
{
	struct rank r;
	uint64_t disk = 0;
	struct stat st;

	(void)state;
	begin(&r);
	r.j.head->part_bytes = 20000;
	for (int i = 0; i < 20; i++)
		calls(&r, 7, 50);
	while (files_compress(&r.sink.files, &hurry) == 1)
		;
	assert_true(exists(&r, "calls_0-9.csv.gz") && exists(&r, "calls_0-9.1.csv.gz"));
	check_rows(&r, 1000);
	for (uint32_t i = 0; i < r.sink.files.nblocks; i++) {
		char name[64];

		snprintf(name, sizeof(name), i ? "calls_0-9.%u.csv%s" : "calls_0-9.csv.gz", i,
			r.sink.files.blocks[i].gz ? ".gz" : "");
		assert_int_equal(fstatat(r.dirfd, name, &st, 0), 0);
		assert_int_equal(r.sink.files.blocks[i].bytes, st.st_size);
		disk += (uint64_t)st.st_size;
	}
	assert_int_equal(r.sink.files.total, disk);
	r.j.head->limit_bytes = 1;
	assert_true(files_remove_oldest(&r.sink.files) > 0);
	assert_int_equal(r.sink.files.nblocks, 2);
	assert_true(exists(&r, "calls_0-9.csv.gz") && !exists(&r, "calls_0-9.1.csv.gz"));
	rank_drop(&r);
}

/* Killed before the plain file was removed, or while the other was written: the plain one counts. */
static void test_killed(void **state)
{
	struct rank r;
	char cmd[256];

	(void)state;
	begin(&r);
	calls(&r, 5, 30);
	calls(&r, 25, 30);
	snprintf(cmd, sizeof(cmd),
		"cd %s && gzip -k calls_0-9.csv && head -c 50 calls_0-9.csv.gz "
		">calls_20-29.csv.gz.tmp",
		r.dir);
	assert_int_equal(system(cmd), 0);
	rank_unsink(&r);
	rank_sink(&r);
	assert_false(exists(&r, "calls_0-9.csv.gz"));
	assert_false(exists(&r, "calls_20-29.csv.gz.tmp"));
	calls(&r, 5, 1);
	check_rows(&r, 61);
	rank_drop(&r);
}

static unsigned reads;
static int *lost,
	taken; /* at the same moment: a descriptor that the program gives a folder of its own */

ssize_t __real_read(int fd, void *buf, size_t n);
ssize_t __wrap_read(int fd, void *buf, size_t n);

/* The third piece of a file is read: the program ends at that moment, or takes the folder's descriptor. */
ssize_t __wrap_read(int fd, void *buf, size_t n)
{
	if (reads && --reads == 0) {
		if (lost)
			*lost = taken;
		else
			hurry = 1;
	}
	return __real_read(fd, buf, n);
}

/* The end of the program does not wait until a file is compressed. */
static void test_hurry(void **state)
{
	struct rank r;

	(void)state;
	begin(&r);
	for (int i = 0; i < 20; i++)
		calls(&r, 5, 100);
	calls(&r, 25, 30);
	reads = 3;
	assert_int_equal(files_compress(&r.sink.files, &hurry), 0);
	assert_int_equal(reads, 0);
	assert_true(exists(&r, "calls_0-9.csv") && !exists(&r, "calls_0-9.csv.gz"));
	assert_false(exists(&r, "calls_0-9.csv.gz.tmp"));
	assert_int_equal(files_compress(&r.sink.files, &hurry), 0);
	assert_true(exists(&r, "calls_0-9.csv"));
	hurry = 0;
	assert_int_equal(files_compress(&r.sink.files, &hurry), 1);
	assert_true(exists(&r, "calls_0-9.csv.gz"));
	check_rows(&r, 2030);
	rank_drop(&r);
}

/* A file that cannot be compressed stays, and no other is tried. */
static void test_fails(void **state)
{
	struct rank r;

	(void)state;
	begin(&r);
	calls(&r, 5, 30);
	calls(&r, 25, 30);
	assert_int_equal(mkdirat(r.dirfd, "calls_0-9.csv.gz.tmp", 0777), 0);
	assert_true(files_compress(&r.sink.files, &hurry) < 0);
	assert_int_equal(files_compress(&r.sink.files, &hurry), 0);
	unlinkat(r.dirfd, "calls_0-9.csv.gz.tmp", AT_REMOVEDIR);
	calls(&r, 5, 1);
	check_rows(&r, 61);
	rank_drop(&r);
}

static int ours;

static void take_anew(struct files *f)
{
	f->dirfd = ours;
}

/* It is compressed into our folder all the same. */
static void test_number_taken(void **state)
{
	char other[64];
	struct rank r;

	(void)state;
	begin(&r);
	make_tmp(other, sizeof(other));
	calls(&r, 5, 100);
	calls(&r, 25, 30);
	ours = r.dirfd;
	taken = open(other, O_RDONLY | O_DIRECTORY);
	r.sink.files.look = take_anew;
	lost = &r.sink.files.dirfd;
	reads = 1;
	assert_int_equal(files_compress(&r.sink.files, &hurry), 1);
	lost = NULL;
	assert_int_equal(reads, 0);
	assert_true(exists(&r, "calls_0-9.csv.gz") && !exists(&r, "calls_0-9.csv"));
	assert_false(exists(&r, "calls_0-9.csv.gz.tmp"));
	check_rows(&r, 130);
	assert_int_equal(rmdir(other), 0); /* empty */
	close(taken);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when_finished),
		cmocka_unit_test(test_parts_and_limit),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_hurry),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_number_taken),
	};

	return cmocka_run_group_tests_name("compress", tests, NULL, NULL);
}
