/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper threads of the statistics: the same figures to the last bit with none, one and four; helpers that are busy,
 * and those that a forked child does not have.
 */
#include "stats_threads_helper.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- the figures ---- */

static const uint64_t lengths[] = {1, 2047, 2048, 2049, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK,
	5 * CHUNK + 2047, 7 * CHUNK + 1};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))
#define MOST (7 * CHUNK + 1)

static void same_figures_of_every_dtype(void **state)
{
	static const unsigned helpers[] = {1, 4};
	static const enum stats_checksum kinds[] = {CHECKSUM_OFF, CHECKSUM_XOR, CHECKSUM_CRC32};
	static struct figures want[DT_COUNT][LENGTHS][3];
	unsigned char *p[DT_COUNT];

	(void)state;
	for (unsigned dt = 1; dt < DT_COUNT; dt++) {
		p[dt] = malloc(MOST * 16 + 1);
		assert_non_null(p[dt]);
		fill_tensor(dt, p[dt] + 1, MOST, dt % 2 ? FILL_BITS : FILL_CANCEL, &seed);
		for (unsigned i = 0; i < LENGTHS; i++)
			for (unsigned k = 0; k < 3; k++)
				want[dt][i][k] =
					measure(dt, p[dt] + 1, lengths[i], kinds[k], false);
	}
	for (unsigned h = 0; h < 2; h++) {
		helpers_start(helpers[h], NULL);
		for (unsigned dt = 1; dt < DT_COUNT; dt++) {
			for (unsigned i = 0; i < LENGTHS; i++) {
				atomic_store(&hold_me, lengths[i] > CHUNK);
				for (unsigned k = 0; k < 3; k++) {
					struct figures f =
						measure(dt, p[dt] + 1, lengths[i], kinds[k], true);

					assert_same(&f, &want[dt][i][k], dt, lengths[i]);
				}
			}
		}
		assert_int_not_equal(atomic_load(&blocks_helped), 0);
		helpers_stop(NULL);
	}
	for (unsigned dt = 1; dt < DT_COUNT; dt++)
		free(p[dt]);
}

/*
 * One element of each block is not 0, of exponents far apart, and all of them cancel: what is left is what the sums
 * lost, and depends on the order of the blocks.
 */
static void the_order_of_blocks(void **state)
{
	enum { BLOCKS = 400, HALF = BLOCKS / 2 };
	const uint64_t n = BLOCKS * STATS_BLOCK;
	double *x = calloc(n, sizeof(*x)), *turned = calloc(n, sizeof(*turned));
	struct figures want, other, got;

	(void)state;
	assert_true(x && turned);
	for (size_t i = 0; i < HALF; i++) {
		double v = ldexp(1 + (double)(random_bits(&seed) >> 12) * 0x1p-52,
			(int)(random_bits(&seed) % 130));

		x[i * STATS_BLOCK] = v;
		x[(HALF + i * 7 % HALF) * STATS_BLOCK] = -v;
	}
	/* The same blocks, those of each chunk the other way round. */
	for (size_t i = 0; i < BLOCKS; i++)
		turned[i * STATS_BLOCK] = x[(i ^ 15) * STATS_BLOCK];
	want = measure(DT_FLOAT64, x, n, CHECKSUM_OFF, false);
	other = measure(DT_FLOAT64, turned, n, CHECKSUM_OFF, false);
	assert_true(want.s.mean != other.s.mean);
	helpers_start(4, NULL);
	for (int i = 0; i < 50; i++) {
		got = measure(DT_FLOAT64, x, n, CHECKSUM_OFF, true);
		assert_same(&got, &want, DT_FLOAT64, n);
	}
	free(x);
	free(turned);
}

/* In pieces, the second of which is too small to share, of which the third begins within a word of the checksum. */
static struct figures measure_pieces(const unsigned char *p, uint64_t n)
{
	const uint64_t to[] = {9 * CHUNK, 9 * CHUNK + 1001, n};
	struct figures f = {0};
	struct stats_fenv env;
	struct stats_acc a;

	stats_fenv_set(&env);
	assert_int_equal(stats_begin(&a, DT_INT8, EPS), 0);
	stats_with_checksum(&a, CHECKSUM_XOR);
	for (unsigned i = 0; i < 3; i++)
		stats_add(&a, p + (i ? to[i - 1] : 0), to[i] - (i ? to[i - 1] : 0));
	stats_end(&a, &f.s);
	stats_fenv_reset(&env);
	f.sum = a.checksum;
	return f;
}

static void more_than_a_round(void **state)
{
	const uint64_t n = 2 * (uint64_t)ROUND + CHUNK + 77;
	struct figures want, want_pieces, got;
	unsigned char *p = malloc(n);

	(void)state;
	assert_non_null(p);
	fill_tensor(DT_INT8, p, n, FILL_BITS, &seed);
	want = measure(DT_INT8, p, n, CHECKSUM_CRC32, false);
	want_pieces = measure_pieces(p, n);
	assert_int_equal(stats_threads_start(2, CHUNK, NULL), 2);
	got = measure(DT_INT8, p, n, CHECKSUM_CRC32, false);
	assert_same(&got, &want, DT_INT8, n);
	got = measure_pieces(p, n);
	assert_same(&got, &want_pieces, DT_INT8, n);
	want = measure(DT_INT8, p, n, CHECKSUM_XOR, false);
	assert_int_equal(got.sum, want.sum);
	free(p);
}

/* ---- busy, gone ---- */

static void *measure_in_thread(void *arg)
{
	errno = 77;
	measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, true);
	return errno == 77 ? arg : NULL;
}

/* The helper is in a chunk of the first thread, which waits for it; the second does not. */
static void busy_helpers_are_not_waited_for(void **state)
{
	struct figures want = fill_and_measure(), got;
	pthread_t first;
	uint32_t before;
	void *kept;

	(void)state;
	helpers_start(1, NULL);
	atomic_store(&hold_helpers, true);
	atomic_store(&hold_me, true);
	assert_int_equal(pthread_create(&first, NULL, measure_in_thread, tensor), 0);
	wait_until(atomic_load(&blocks_mine) >= 39 * 16); /* all but the chunk of the helper */
	atomic_store(&hold_me, false);
	before = atomic_load(&blocks_mine);
	got = measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, true);
	assert_same(&got, &want, DT_FLOAT32, 40 * CHUNK);
	assert_int_equal(atomic_load(&blocks_mine) - before, 40 * 16);
	assert_int_equal(atomic_load(&blocks_helped), 1);
	usleep(1200000); /* the first looks whether there still is a helper */
	atomic_store(&hold_helpers, false);
	pthread_join(first, &kept);
	assert_ptr_equal(kept, tensor); /* errno */
	with_help(&want);
}

static _Atomic bool has_returned;

static void *measure_and_say(void *want)
{
	struct figures got = measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, true);

	atomic_store(&has_returned, true);
	assert_same(&got, want, DT_FLOAT32, 40 * CHUNK);
	return NULL;
}

/*
 * The session ends while one helper is in a chunk: the other one ends, and is gone. The thread that has them does
 * not go on before the first one has left the tensor, however long that takes.
 */
static void an_end_in_a_round(void **state)
{
	struct figures want = fill_and_measure();
	pthread_t first;
	bool too_early;

	(void)state;
	helpers_start(2, NULL);
	atomic_store(&held, 0);
	atomic_store(&has_returned, false);
	atomic_store(&hold_one, true);
	atomic_store(&hold_me, true);
	assert_int_equal(pthread_create(&first, NULL, measure_and_say, &want), 0);
	wait_until(atomic_load(&held) > 0);
	stats_threads_stop();
	wait_until(tasks_named("probe-stats") == 1);
	usleep(2500000); /* it has looked twice for who is gone */
	too_early = atomic_load(&has_returned);
	atomic_store(&hold_one, false);
	pthread_join(first, NULL);
	assert_false(too_early);
}

static void too_small_to_share(void **state)
{
	const uint64_t n = 3 * CHUNK;

	(void)state;
	assert_int_equal(stats_threads_start(1, n * sizeof(float), NULL), 1);
	atomic_store(&blocks_helped, 0);
	atomic_store(&hold_me, true);
	measure(DT_FLOAT32, tensor, n, CHECKSUM_OFF, true);
	atomic_store(&hold_me, false);
	atomic_store(&blocks_helped, 0);
	atomic_store(&blocks_mine, 0);
	atomic_store(&slow_me, true); /* a helper would come in time */
	measure(DT_FLOAT32, tensor, n - 1, CHECKSUM_OFF, true);
	atomic_store(&slow_me, false);
	assert_int_equal(atomic_load(&blocks_mine), 3 * 16);
	assert_int_equal(atomic_load(&blocks_helped), 0);
}

#if defined(__SANITIZE_THREAD__) /* threads in a child of a process with threads are beyond it */
static void a_forked_child(void **state)
{
	(void)state;
	skip();
}
#define a_fork_during_a_round a_forked_child
#define a_fork_with_chunks_left a_forked_child
#else
/* Forked while another thread of the parent has the helpers: none of them is in the child. */
static void a_forked_child(void **state)
{
	struct figures want = fill_and_measure(), got;
	pthread_t first;
	int status;

	(void)state;
	helpers_start(1, NULL);
	atomic_store(&hold_helpers, true);
	atomic_store(&hold_me, true);
	assert_int_equal(pthread_create(&first, NULL, measure_in_thread, NULL), 0);
	wait_until(atomic_load(&blocks_mine) >= 39 * 16);
	child = fork();
	if (!child) {
		alarm(CHILD_S);
		stats_threads_forked();
		atomic_store(&hold_helpers, false);
		atomic_store(&hold_me, false);
		atomic_store(&blocks_helped, 0);
		got = measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, true);
		assert_same(&got, &want, DT_FLOAT32, 40 * CHUNK);
		assert_int_equal(tasks_named(NULL), 1);
		helpers_start(2, NULL); /* it records, too */
		with_help(&want);
		_exit(0);
	}
	atomic_store(&hold_helpers, false);
	pthread_join(first, NULL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	with_help(&want);
}

static float *lent;

static void *measure_lent(void *arg)
{
	measure(DT_FLOAT32, lent, 40 * CHUNK, CHECKSUM_OFF, true);
	return arg;
}

/*
 * Forked while another thread has shared out a tensor of which much is left. The child gives the tensor back before it
 * starts helpers of its own: these must not touch what was left in the parent.
 */
static void a_fork_with_chunks_left(void **state)
{
	const size_t bytes = 40 * CHUNK * sizeof(float);
	struct figures want = fill_and_measure();
	pthread_t first;
	int status;

	(void)state;
	lent = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(lent != MAP_FAILED);
	memcpy(lent, tensor, bytes);
	helpers_start(1, NULL);
	atomic_store(&hold_helpers, true);
	atomic_store(&slow_me, true);
	assert_int_equal(pthread_create(&first, NULL, measure_lent, NULL), 0);
	wait_until(atomic_load(&blocks_mine) > 3);
	child = fork();
	if (!child) {
		alarm(CHILD_S);
		stats_threads_forked();
		munmap(lent, bytes);
		atomic_store(&hold_helpers, false);
		atomic_store(&slow_me, false);
		helpers_start(2, NULL);
		usleep(100000);
		assert_int_equal(atomic_load(&blocks_helped), 0);
		for (int i = 0; i < 20; i++)
			with_help(&want);
		_exit(0);
	}
	atomic_store(&hold_helpers, false);
	atomic_store(&slow_me, false);
	pthread_join(first, NULL);
	munmap(lent, bytes);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* As a handler of a signal may: the child has no helper that could finish what one has begun. */
static void a_fork_during_a_round(void **state)
{
	struct figures want = fill_and_measure(), got;
	int status;

	(void)state;
	helpers_start(1, NULL);
	atomic_store(&hold_helpers, true);
	atomic_store(&hold_me, true);
	fork_here = true;
	got = measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, true);
	if (!child)
		_exit(memcmp(&got, &want, sizeof(got)) != 0);
	assert_same(&got, &want, DT_FLOAT32, 40 * CHUNK);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(same_figures_of_every_dtype, helpers_stop),
		cmocka_unit_test_teardown(the_order_of_blocks, helpers_stop),
		cmocka_unit_test_teardown(more_than_a_round, helpers_stop),
		cmocka_unit_test_teardown(busy_helpers_are_not_waited_for, helpers_stop),
		cmocka_unit_test_teardown(an_end_in_a_round, helpers_stop),
		cmocka_unit_test_teardown(too_small_to_share, helpers_stop),
		cmocka_unit_test_teardown(a_forked_child, helpers_stop),
		cmocka_unit_test_teardown(a_fork_with_chunks_left, helpers_stop),
		cmocka_unit_test_teardown(a_fork_during_a_round, helpers_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
