/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write -Wl,--wrap=openat -Wl,--wrap=ftruncate -Wl,--wrap=renameat -Wl,--wrap=fstat -Wl,--wrap=malloc -Wl,--wrap=realloc */
/*
 * Every system call and every allocation of a drain fails, one at a time and from one on, with every kind of error and
 * with short writes. Nothing is lost by that and nothing written twice: once the fault is over all rows are there.
 */
/* long: each place */
#include "core_helper.h"
#include "journal/columns.h"
#include "long_form.h"

#define MIB (1u << 20)

/* ---- the faults ---- */

enum what { WRITE = 1, OPEN = 2, TRUNC = 4, RENAME = 8, STAT = 16, MEMORY = 32 };

static struct {
	bool armed, lasting;
	unsigned which;
	int err; /* 0: a short write instead */
	unsigned at, n, hit;
} fault;

static bool fails(unsigned what)
{
	if (!fault.armed || !(fault.which & what))
		return false;

	unsigned n = ++fault.n;

	if (fault.lasting ? n < fault.at : n != fault.at)
		return false;
	fault.hit++;
	errno = fault.err;
	return true;
}

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);
int __real_openat(int dirfd, const char *path, int flags, ...);
int __wrap_openat(int dirfd, const char *path, int flags, ...);
int __real_ftruncate(int fd, off_t n);
int __wrap_ftruncate(int fd, off_t n);
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	if (!fails(WRITE))
		return __real_write(fd, buf, n);
	/* A disk that becomes full takes a part of it first. */
	if (n > 1 && __real_write(fd, buf, n / 2) < 0)
		return -1;
	errno = fault.err;
	return fault.err ? -1 : n > 1 ? (ssize_t)(n / 2) : __real_write(fd, buf, n);
}

int __wrap_openat(int dirfd, const char *path, int flags, ...)
{
	return fails(OPEN) ? -1 : __real_openat(dirfd, path, flags, 0666);
}

int __wrap_ftruncate(int fd, off_t n)
{
	return fails(TRUNC) ? -1 : __real_ftruncate(fd, n);
}

int __wrap_renameat(int a, const char *from, int b, const char *to)
{
	return fails(RENAME) ? -1 : __real_renameat(a, from, b, to);
}

int __wrap_fstat(int fd, struct stat *st)
{
	return fails(STAT) ? -1 : __real_fstat(fd, st);
}

void *__wrap_malloc(size_t n)
{
	return fails(MEMORY) ? NULL : __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails(MEMORY) ? NULL : __real_realloc(p, n);
}

/* ---- a short life: several files, requests that go on across drains, more text than one buffer holds ---- */

#define CALLS 60u
#define ROUNDS 6u

static void put_stack_row(struct chain *c, uint32_t id)
{
	uint32_t bytes = (uint32_t)sizeof(struct journal_stack) + 8;
	struct journal_stack *e = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(e);
	memset(e, 0, bytes);
	*e = (struct journal_stack){
		.e = {.bytes = bytes, .type = JE_STACK, .n = 1}, .id = id, .api = 1};
	chain_publish(c, bytes);
}

static void one_round(struct chain *c, unsigned round)
{
	for (unsigned i = 0; i < CALLS; i++) {
		uint64_t seq = round * CALLS + i + 1;
		struct journal_call *e = enter_call(c, seq, round / 2, 1, 1);

		assert_non_null(e);
		if (i % 5 == 0)
			leave_async(e);
		else
			leave_call(e, 1);
		if (i % 5 == 0 && round)
			assert_true(end_test_call(c, seq - CALLS, 1));
	}
	put_stack_row(c, round + 1);
}

/* Rows of every call, once, and each stack once. open: of the last round's requests. */
static void check_all(struct rank *r, unsigned rounds)
{
	struct table t = read_test_table(r->dir);
	unsigned char in[ROUNDS * CALLS + 1] = {0}, out[ROUNDS * CALLS + 1] = {0};
	char path[128];
	size_t n, stacks = 0;

	assert_sound(&t);
	for (size_t i = 0; i < t.n; i++) {
		uint64_t seq = strtoull(t.row[i].field[COL_seq], NULL, 10);

		assert_in_range(seq, 1, rounds * CALLS);
		(strcmp(t.row[i].field[COL_io], "in") ? out : in)[seq]++;
	}
	for (unsigned seq = 1; seq <= rounds * CALLS; seq++) {
		bool open = (seq - 1) % 5 == 0 && seq > (rounds - 1) * CALLS;

		if (in[seq] != 1 || out[seq] != !open)
			fail_msg("call %u has %u rows of inputs and %u of outputs", seq, in[seq],
				out[seq]);
	}
	free_test_table(&t);
	snprintf(path, sizeof(path), "%s/stack_info.csv", r->dir);

	char *text = read_test_file(path, &n);

	for (char *p = text; p && (p = strchr(p, '\n')); p++)
		stacks++;
	assert_int_equal(stacks, rounds + 1);
	free(text);
}

/* One life with the fault at the n-th call. False: it was never reached. */
static bool life(unsigned which, int err, unsigned at, bool lasting)
{
	struct rank r;
	struct chain c;
	unsigned errors = 0;
	int got;

	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "f");
	r.j.head->block_steps = 1;
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	fault.which = which;
	fault.err = err;
	fault.at = at;
	fault.lasting = lasting;
	fault.n = fault.hit = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		one_round(&c, round);
		fault.armed = true;
		got = drain_all(&r.drain, false);
		sink_write_meta(&r.sink);
		fault.armed = false;
		if (got && err && which != MEMORY)
			assert_int_equal(got, -err);
		errors += got != 0;
	}
	/* The contents of the files at this time are valid, though incomplete. */
	struct table t = read_test_table(r.dir);
	bool hit = fault.hit;

	if (t.bad && !lasting)
		fail_msg("fault %u of %#x: %s", at, which, t.bad);
	free_test_table(&t);
	if (lasting && at == 1 && err && (which & (WRITE | OPEN)))
		assert_int_equal(errors, ROUNDS);
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_int_equal(drain_all(&r.drain, true), 0);
	assert_int_equal(sink_write_meta(&r.sink), 0);
	check_all(&r, ROUNDS);
	assert_int_equal(r.j.head->free_chunks, r.j.head->nchunk - 1);
	rank_drop(&r);
	return hit;
}

static void every_one(unsigned which, int err)
{
	/* The short form takes every second place: those that the one before skipped. */
	static unsigned nth;
	unsigned step = (unsigned)long_or_short(1, 2), first = 1 + nth++ % step, at = first;

	while (life(which, err, at, false))
		at += step;
	assert_true(at > first);
	for (at = 1; at < 12; at += 2 * step)
		life(which, err, at, true);
}

static void test_write(void **state)
{
	(void)state;
	every_one(WRITE, ENOSPC);
	every_one(WRITE, EIO);
}

static void test_short_write(void **state)
{
	(void)state;
	for (unsigned at = 1; life(WRITE, 0, at, false); at++)
		;
	life(WRITE, 0, 1, true);
}

static void test_interrupted(void **state)
{
	(void)state;
	/* Half of it written, then EINTR, as no kernel does, or EAGAIN: an error like others. */
	every_one(WRITE, EAGAIN);
}

static void test_open(void **state)
{
	(void)state;
	every_one(OPEN, EMFILE);
	every_one(OPEN, EACCES);
}

static void test_stat_and_rename(void **state)
{
	(void)state;
	every_one(STAT, EIO);
	every_one(RENAME, EIO);
}

static void test_no_memory(void **state)
{
	(void)state;
	every_one(MEMORY, ENOMEM);
}

/* The disk is full, and cutting what was written of it fails as well. */
static void test_write_and_truncate(void **state)
{
	(void)state;
	for (unsigned at = 1; at < 30; at += (unsigned)long_or_short(1, 2))
		life(WRITE | TRUNC, EIO, at, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_short_write),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_stat_and_rename),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_write_and_truncate),
	};

	return cmocka_run_group_tests_name("files_fault", tests, NULL, NULL);
}
