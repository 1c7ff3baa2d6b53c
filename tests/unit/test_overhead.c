/* SPDX-License-Identifier: Apache-2.0 */
/* Key max_overhead: when the level rises and falls, what it notes, and which calls a level keeps. No clock decides. */
#include "session_helper.h"

#include <math.h>
#include <time.h>

#include "session/state.h"
#include "session/thinning.h"
#include "writer/overhead.h"

static struct rank r;

/* One window; used: the share of the time in the job's calls that it shows, in percent, or more. */
static void pass_window(double used)
{
	struct timespec before, now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &before);
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)(now.tv_sec - before.tv_sec) * 1000000000 + (uint64_t)now.tv_nsec -
	     (uint64_t)before.tv_nsec;
	/* Much more than the window's length, however late this thread came back; or nothing. */
	journal_get_thread(&r.j, 0)->self_ticks += used > 0 ? ns * 1000 : 0;
	update_thinning(1, 1);
}

static void pass_windows(unsigned n, double used)
{
	while (n--)
		pass_window(used);
}

static int begin(void **state)
{
	(void)state;
	rank_make(&r, 1u << 20);
	atomic_store(&r.j.head->nthread, 1);
	session.journal = r.j;
	session.clock.ns_per_tick = 1;
	atomic_store(&thinning.sizes, 0);
	reset_thinning();
	update_thinning(1, 1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	reset_thinning();
	session.journal = (struct journal){.lock = {.fd = -1}};
	rank_drop(&r);
	return 0;
}

static void level_rises_with_each_window_above_the_limit(void **state)
{
	(void)state;
	assert_int_equal(r.j.head->thinning_level, 0);
	pass_window(100);
	assert_int_equal(r.j.head->thinning_level, THINNING_VALUE_LEVELS + 1);
	assert_int_equal(atomic_load(&thinning.calls_mask), 1);
	pass_window(100);
	assert_int_equal(r.j.head->thinning_level, THINNING_VALUE_LEVELS + 2);
	assert_int_equal(atomic_load(&thinning.calls_mask), 3);
	pass_windows(100, 100);
	assert_int_equal(r.j.head->thinning_level, THINNING_LEVEL_MAX);
}

static void level_falls_after_six_windows_below_half(void **state)
{
	(void)state;
	pass_windows(2, 100);
	pass_windows(5, 0);
	assert_int_equal(r.j.head->thinning_level, THINNING_VALUE_LEVELS + 2);
	pass_window(0);
	assert_int_equal(r.j.head->thinning_level, THINNING_VALUE_LEVELS + 1);
	pass_windows(5, 0);
	assert_int_equal(r.j.head->thinning_level, THINNING_VALUE_LEVELS + 1);
	/* One window above the limit, and the six begin again. */
	pass_window(100);
	pass_windows(5, 0);
	assert_int_equal(r.j.head->thinning_level, THINNING_VALUE_LEVELS + 2);
	pass_windows(1 + 6, 0);
	assert_int_equal(r.j.head->thinning_level, 0);
	pass_windows(7, 0);
	assert_int_equal(r.j.head->thinning_level, 0);
}

static void values_of_the_largest_tensors_go_first(void **state)
{
	(void)state;
	record_tensor_size(UINT64_C(8) << 20);
	record_tensor_size(UINT64_C(64) << 10);
	pass_window(100);
	assert_int_equal(r.j.head->thinning_level, 1);
	assert_int_equal(atomic_load(&thinning.values_from), UINT64_C(4) << 20);
	pass_window(100); /* no tensor is of the size between */
	assert_int_equal(r.j.head->thinning_level, 3);
	assert_int_equal(atomic_load(&thinning.values_from), UINT64_C(64) << 10);
	assert_false(is_thinning_on());
	pass_window(100);
	assert_true(is_thinning_on());
	pass_windows(6, 0);
	assert_int_equal(r.j.head->thinning_level, 3);
	pass_windows(6, 0);
	assert_int_equal(r.j.head->thinning_level, 1);
	pass_windows(6, 0);
	assert_int_equal(r.j.head->thinning_level, 0);
	assert_true(atomic_load(&thinning.values_from) == UINT64_MAX);
}

static void each_change_is_noted_and_none_is_forgotten(void **state)
{
	const struct journal_head *h = r.j.head;
	uint64_t first;

	(void)state;
	pass_window(100);
	first = h->thinned[0].from_tick;
	assert_int_equal(h->nthinned, 1);
	assert_int_equal(h->thinned[0].to_tick, 0);
	pass_windows(6, 0);
	assert_int_equal(h->nthinned, 1);
	assert_true(h->thinned[0].to_tick > first);
	for (unsigned i = 0; i < JOURNAL_THINNED; i++) {
		pass_windows(2, 100);
		pass_windows(12, 0);
	}
	assert_int_equal(h->nthinned, JOURNAL_THINNED);
	assert_int_equal(h->thinned[0].from_tick, first);
	for (unsigned i = 0; i < JOURNAL_THINNED; i++) {
		assert_true(h->thinned[i].from_tick < h->thinned[i].to_tick);
		assert_true(!i || h->thinned[i].from_tick >= h->thinned[i - 1].to_tick);
		assert_in_range(h->thinned[i].power, 1, 2);
	}
	assert_int_equal(h->thinned[0].power, 2);
}

static void nothing_is_skipped_once_the_key_is_off(void **state)
{
	(void)state;
	pass_windows(3, 100);
	assert_true(is_thinning_on());
	update_thinning(0, 1);
	assert_false(is_thinning_on());
	assert_int_equal(r.j.head->thinning_level, 0);
	assert_true(r.j.head->thinned[r.j.head->nthinned - 1].to_tick > 0);
}

static void a_higher_level_keeps_a_subset(void **state)
{
	unsigned kept[THINNING_LEVEL_MAX + 1] = {0};

	(void)state;
	for (int64_t n = 0; n < 100000; n++) {
		bool before = true;

		for (uint32_t level = 0; level <= THINNING_LEVEL_MAX; level++) {
			bool now;

			set_thinning_level(level);
			now = is_call_kept(UINT64_C(0xb123456789abcdef), n);
			assert_true(before || !now);
			kept[level] += now;
			before = now;
		}
	}
	assert_int_equal(kept[THINNING_VALUE_LEVELS], 100000);
	for (unsigned k = 1; k < 8; k++) {
		/* Within six standard deviations of the binomial distribution. */
		double mean = 100000.0 / (1 << k);

		assert_true(fabs(kept[THINNING_VALUE_LEVELS + k] - mean) < 6 * sqrt(mean));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			level_rises_with_each_window_above_the_limit, begin, end),
		cmocka_unit_test_setup_teardown(
			level_falls_after_six_windows_below_half, begin, end),
		cmocka_unit_test_setup_teardown(values_of_the_largest_tensors_go_first, begin, end),
		cmocka_unit_test_setup_teardown(
			each_change_is_noted_and_none_is_forgotten, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_skipped_once_the_key_is_off, begin, end),
		cmocka_unit_test_setup_teardown(a_higher_level_keeps_a_subset, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
