/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of call sequences; a letter is a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tools/lib/period.h"

static struct period p;

static int start(void **state)
{
	(void)state;
	period_init(&p);
	return 0;
}

/* Plays a text n times; returns the rounds that ended. */
static unsigned play(const char *text, unsigned n)
{
	unsigned ends = 0;

	while (n--)
		for (const char *c = text; *c; c++)
			ends += period_add_call(&p, (uint64_t)*c);
	return ends;
}

/* Once found, does each round end with exactly the last call of `text`, or at one place in it at least? */
static bool steady(const char *text, unsigned n)
{
	while (n--) {
		unsigned ends = 0;

		for (const char *c = text; *c; c++)
			ends += period_add_call(&p, (uint64_t)*c);
		if (ends != 1)
			return false;
	}
	return true;
}

static void test_simple(void **state)
{
	(void)state;
	play("abcd", 20);
	assert_int_equal(p.length, 4);
	assert_true(steady("abcd", 100));
	assert_true(period_get_confidence(&p) > 0.99);
}

static void test_start_is_other(void **state)
{
	(void)state;
	play("xyzxxyqqr", 1);
	play("abbbbc", 30);
	assert_int_equal(p.length, 6);
	assert_true(steady("abbbbc", 50));
}

/* A loop over layers repeats itself as well. */
static void test_layers(void **state)
{
	(void)state;
	play("lllllllllllllllllllllllls", 40); /* 24 layers */
	assert_int_equal(p.length, 25);
	assert_true(steady("lllllllllllllllllllllllls", 20));
	start(NULL);
	/* More layers than it takes to believe in a period of one call: the longer one takes over. */
	{
		static char big[130];

		memset(big, 'l', 128);
		big[128] = 's';
		play(big, 12);
		assert_int_equal(p.length, 129);
		assert_true(steady(big, 10));
	}
}

static void test_extra_calls(void **state)
{
	unsigned ends = 0;

	(void)state;
	play("abcdefgh", 10);
	assert_int_equal(p.length, 8);
	for (unsigned i = 0; i < 200; i++) {
		ends += play("abcd", 1);
		if (i % 10 == 3)
			ends += play("L", 1); /* a metric now and then */
		ends += play("efgh", 1);
	}
	assert_int_equal(ends, 200);
	assert_int_equal(p.breaks, 0);
	assert_in_range((int)(period_get_confidence(&p) * 1000), 980, 999);
}

/* Calls made once at the start are no part of it, and rounds are whole steps of the loop. */
static void test_start_of_round(void **state)
{
	(void)state;
	play("xyzzy", 1);
	play("aabcd", 40);
	assert_int_equal(p.length, 5);
	assert_int_equal(p.first, 5);
	assert_int_equal(p.rounds, 40);
	assert_int_equal(p.at, 0);
	assert_true(steady("aabcd", 10));
	assert_true(period_get_confidence(&p) == 1);
}

/* Every tenth round an evaluation of many calls, some of them like those of the round. */
static void test_evaluation(void **state)
{
	(void)state;
	play("set-up", 1);
	for (unsigned i = 0; i < 20; i++) {
		play("abcdefgh", 10);
		play("LLaLLbcLLL", 1);
	}
	assert_int_equal(p.length, 8);
	play("abcdefgh", 1);
	assert_int_equal(p.rounds, 201);
	assert_int_equal(p.breaks, 0);
	/* The calls of these rounds, and 200 others. */
	assert_int_equal(p.fitted, 1608);
	assert_int_equal(p.extras, 200);
	/* In the middle of a round, its calls count; in all not one is lost or counted twice. */
	start(NULL);
	play("abcdefgh", 10);
	for (unsigned i = 0; i < 20; i++) {
		play("abcd", 1);
		play("LLLLLLL", 1);
		play("efgh", 1);
		play("abcdefgh", 9);
	}
	assert_int_equal(p.rounds, 210);
	assert_int_equal(p.extras, 140);
	assert_int_equal(p.breaks, 0);
}

static bool is_within(const char *pattern, const char *text)
{
	for (; *text && *pattern; text++)
		pattern += *text == *pattern;
	return !*pattern;
}

/* Any pattern and any calls after every tenth round: rounds and calls besides are exact, unless those hold a round. */
static void test_any(void **state)
{
	unsigned tried = 0;

	(void)state;
	srand(7);
	while (tried < 500) {
		char pattern[12] = "", besides[16] = "";
		unsigned length = 4 + (unsigned)rand() % 5, n = 1 + (unsigned)rand() % 12;

		for (unsigned i = 0; i < length; i++)
			pattern[i] = "abcd"[rand() % 4];
		for (unsigned i = 0; i < n; i++)
			besides[i] = "abcdX"[rand() % 5];
		start(NULL);
		play("Q", 1);
		play(pattern, 30);
		/* Patterns that are a shorter one several times over have other rounds. */
		if (p.length != length || is_within(pattern, besides))
			continue;
		for (unsigned i = 0; i < 10; i++) {
			play(besides, 1);
			play(pattern, 10);
		}
		tried++;
		if (p.length != length || p.rounds != 130 || p.extras != 10 * n || p.breaks)
			fail_msg("%s, %s: %u rounds, %u calls besides, %u changes", pattern,
				besides, (unsigned)p.rounds, (unsigned)p.extras,
				(unsigned)p.breaks);
	}
}

static void test_change(void **state)
{
	(void)state;
	play("abcd", 30);
	play("evaluation", 1);
	play("wxyzw", 30); /* another phase of the program */
	assert_int_equal(p.length, 5);
	assert_true(steady("wxyzw", 20));
	assert_true(p.breaks >= 1);
	assert_true(period_get_confidence(&p) <= 0.5);
}

static void test_no_period(void **state)
{
	unsigned ends = 0;

	(void)state;
	srand(1);
	for (unsigned i = 0; i < 20000; i++)
		ends += period_add_call(&p, (uint64_t)(rand() % 7));
	assert_int_equal(ends, 0);
	assert_true(period_get_confidence(&p) == 0);
}

static void test_long_period(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 8; round++)
		for (unsigned i = 0; i < 1000; i++)
			period_add_call(&p, i * i % 337 + i / 100);
	assert_int_equal(p.length, 1000);
	assert_true(p.rounds >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_simple, start),
		cmocka_unit_test_setup(test_start_is_other, start),
		cmocka_unit_test_setup(test_layers, start),
		cmocka_unit_test_setup(test_extra_calls, start),
		cmocka_unit_test_setup(test_start_of_round, start),
		cmocka_unit_test_setup(test_evaluation, start),
		cmocka_unit_test(test_any),
		cmocka_unit_test_setup(test_change, start),
		cmocka_unit_test_setup(test_no_period, start),
		cmocka_unit_test_setup(test_long_period, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
