/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks to nanoseconds: against clock_gettime, before and after the rate has settled, and with ticks that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <time.h>

#include "base/clock.h"

static void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Distance of the clock's idea of now from CLOCK_REALTIME, the closest of some looks. */
static double off_by(const struct clock_base *b)
{
	double best = INFINITY;

	for (int i = 0; i < 50; i++) {
		uint64_t before = clock_ns(CLOCK_REALTIME);
		uint64_t now = clock_to_real(b, clock_ticks());
		uint64_t after = clock_ns(CLOCK_REALTIME);
		double d = now < before	 ? (double)before - (double)now
			   : now > after ? (double)now - (double)after
					 : 0;

		best = d < best ? d : best;
	}
	return best;
}

static void check_rate(void)
{
	struct clock_base b;
	bool settled = false;
	uint64_t t0, t1, m0, m1;

	clock_init(&b);
	assert_true(b.ns_per_tick > 0.01 && b.ns_per_tick < 1000);
	assert_true(off_by(&b) < 50e3);
	nap(20);
	clock_update(&b, &settled); /* too early to do anything */
	assert_false(settled);
	nap(150);
	clock_update(&b, &settled);
	m0 = clock_ns(CLOCK_MONOTONIC);
	t0 = clock_ticks();
	nap(100);
	m1 = clock_ns(CLOCK_MONOTONIC);
	t1 = clock_ticks();
	/* 1e-3 of 100 ms. */
	assert_true(fabs((double)clock_to_dur(&b, t1 - t0) - (double)(m1 - m0)) < 100e3);
	assert_true(off_by(&b) < 200e3);
}

static void test_counter(void **state)
{
	(void)state;
	clock_set_source();
	check_rate();
}

static void test_without_counter(void **state)
{
	struct clock_base b;

	(void)state;
	clock_use_counter = false;
	check_rate();
	clock_init(&b);
	assert_true(b.ns_per_tick == 1.0);
	clock_set_source();
}

static void test_exact_conversion(void **state)
{
	const struct clock_base b = {
		.tick = 1000000, .real_ns = UINT64_C(1700000000000000000), .ns_per_tick = 0.5};

	(void)state;
	assert_int_equal(clock_to_real(&b, 1000000), UINT64_C(1700000000000000000));
	assert_int_equal(clock_to_real(&b, 1000010), UINT64_C(1700000000000000005));
	assert_int_equal(clock_to_real(&b, 999990), UINT64_C(1699999999999999995));
	assert_int_equal(clock_to_dur(&b, 7), 3);
	assert_int_equal(clock_to_dur(&b, 0), 0);
}

/* A damaged journal: any number, but no undefined behaviour. */
static void test_saturates(void **state)
{
	static const uint64_t ticks[] = {
		0, 1, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX, UINT64_MAX / 3};
	static const double rate[] = {0, 1e-9, 0.4, 1, 1e6};

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 6; k++)
			for (unsigned r = 0; r < 5; r++) {
				struct clock_base b = {.tick = ticks[i],
					.real_ns = ticks[k],
					.ns_per_tick = rate[r]};

				for (unsigned n = 0; n < 6; n++) {
					(void)clock_to_real(&b, ticks[n]);
					(void)clock_to_dur(&b, ticks[n]);
				}
			}
	assert_int_equal(
		clock_to_dur(&(struct clock_base){.ns_per_tick = 1e6}, UINT64_MAX), UINT64_MAX);
	assert_int_equal(
		clock_to_real(&(struct clock_base){.tick = 100, .real_ns = 5, .ns_per_tick = 1}, 0),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_without_counter),
		cmocka_unit_test(test_exact_conversion),
		cmocka_unit_test(test_saturates),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
