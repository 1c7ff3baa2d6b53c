/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of cmocka as the tests of the statistics use, for CPUs for which no cmocka is installed: these tests are
 * cross-compiled and run in an emulator. Prints TAP.
 */
#ifndef PROBE_TESTS_CROSS_CMOCKA_H
#define PROBE_TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test_func)(void **state);
	int (*setup_func)(void **state), (*teardown_func)(void **state);
	void *initial_state;
};

static jmp_buf cross_leave;
enum { CROSS_FAILED = 1, CROSS_SKIPPED };

#define cmocka_unit_test(f)                \
	{                                  \
		.name = #f, .test_func = f \
	}
#define print_message(...) printf(__VA_ARGS__)
#define skip() longjmp(cross_leave, CROSS_SKIPPED)
#define fail_msg(...)                                    \
	do {                                             \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                     \
		printf("\n");                            \
		longjmp(cross_leave, CROSS_FAILED);      \
	} while (0)
#define assert_true(x)                      \
	do {                                \
		if (!(x))                   \
			fail_msg("%s", #x); \
	} while (0)
#define assert_false(x) assert_true(!(x))
#define assert_null(x) assert_true(!(x))
#define assert_non_null(x) assert_true(x)
#define assert_int_equal(x, y) assert_true((x) == (y))
#define assert_memory_equal(x, y, n) assert_true(!memcmp(x, y, n))
#define assert_memory_not_equal(x, y, n) assert_true(memcmp(x, y, n))
#define assert_string_equal(x, y) assert_true(!strcmp(x, y))

static inline int cross_run(const struct CMUnitTest *t, size_t n)
{
	volatile int failed = 0; /* changed between setjmp() and longjmp() */

	printf("1..%zu\n", n);
	for (volatile size_t i = 0; i < n; i++) {
		void *state = t[i].initial_state;
		int left = setjmp(cross_leave);

		if (!left)
			t[i].test_func(&state);
		failed += left == CROSS_FAILED;
		printf("%sok %zu - %s%s\n", left == CROSS_FAILED ? "not " : "", i + 1, t[i].name,
			left == CROSS_SKIPPED ? " # SKIP" : "");
		fflush(stdout);
	}
	return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown) \
	cross_run(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
