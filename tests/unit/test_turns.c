/* SPDX-License-Identifier: Apache-2.0 */
/* Whose calls are read next: the earliest first, and all that are due in the order of the ranks' numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "tools/probe/model/parallel/turns.h"

#define RANKS 37u

static uint32_t seed = 12345;

static uint64_t get_random(uint64_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* The rank that has the earliest start of those that are in the set, by a search of all. */
static uint64_t find_least_start(const uint64_t *start, const bool *in)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < RANKS; i++)
		if (in[i] && start[i] < least)
			least = start[i];
	return least;
}

static void test_earliest_first(void **state)
{
	uint64_t start[RANKS];
	bool in[RANKS] = {false};
	unsigned n = 0;
	struct turns t;

	(void)state;
	turns_init(&t, RANKS);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned r = (unsigned)get_random(RANKS);

		if (!in[r]) {
			start[r] = get_random(1000);
			in[r] = true;
			n++;
			turns_add(&t, r, start[r]);
		} else if (n) {
			r = turns_remove_first(&t);
			assert_true(in[r]);
			assert_int_equal(start[r], find_least_start(start, in));
			in[r] = false;
			n--;
		}
		assert_int_equal(t.n, n);
	}
	turns_free(&t);
}

static void test_due_by_number(void **state)
{
	struct turns t;

	(void)state;
	turns_init(&t, RANKS);
	for (unsigned i = 0; i < RANKS; i++)
		turns_add(&t, i, 1000 - (i * 7) % RANKS); /* other order than the numbers */
	assert_int_equal(turns_remove_due(&t, 1000 - RANKS + 1), 0);
	assert_int_equal(turns_remove_due(&t, 991), 27);
	for (unsigned i = 0; i < 27; i++) {
		assert_true((t.due[i] * 7) % RANKS >= 10);
		if (i)
			assert_true(t.due[i] > t.due[i - 1]);
	}
	assert_int_equal(t.n, 10);
	/* A call that starts at `until` is not before it. */
	assert_int_equal(turns_remove_due(&t, 1000), 9);
	assert_int_equal(turns_remove_due(&t, UINT64_MAX), 1);
	assert_int_equal(t.due[0], 0);
	assert_int_equal(turns_remove_due(&t, UINT64_MAX), 0);
	turns_free(&t);
}

static void test_length(void **state)
{
	(void)state;
	assert_int_equal(turns_choose_length(0), 256);
	assert_int_equal(turns_choose_length(2560), 256);
	assert_int_equal(turns_choose_length(4096), 160);
	assert_int_equal(turns_choose_length(100000), 16);
	for (unsigned n = 1; n < 70000; n += 13)
		assert_int_equal(turns_choose_length(n) % 2, 0);
}

int main(void)
{
	const struct CMUnitTest list[] = {
		cmocka_unit_test(test_earliest_first),
		cmocka_unit_test(test_due_by_number),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(list, NULL, NULL);
}
