/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics do not depend on the floating-point environment of the job's thread, and leave no trace in it: traps,
 * sticky flags, rounding mode, FTZ and DAZ, and all of x87.
 */
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "stats_reference.h"

#define EPS 1e-8

/* All there is, as the hardware has it. x87: control, status and tag words and the address of the last instruction. */
struct fp_state {
	uint32_t x87[7];
	uint64_t control, status;
};

static void fp_read(struct fp_state *s)
{
	memset(s, 0, sizeof(*s));
#if defined(__x86_64__)
	uint32_t mxcsr;

	__asm__ volatile("fnstenv %0\n\tfldenv %0\n\tstmxcsr %1" : "=m"(s->x87), "=m"(mxcsr));
	s->control = mxcsr;
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(s->control), "=r"(s->status));
#endif
}

/* Adds flush-to-zero and denormals-are-zero to what <fenv.h> can set. */
static void fp_flush_to_zero(void)
{
#if defined(__x86_64__)
	uint32_t mxcsr;

	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	mxcsr |= 0x8040;
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
#elif defined(__aarch64__)
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 1u << 24));
#endif
}

#define FENV_TENSORS (DT_COUNT * FILL_PATTERNS)

static unsigned char fenv_data[FENV_TENSORS][300 * 16];
static struct stats fenv_want[FENV_TENSORS], fenv_got[FENV_TENSORS];
static const int rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* Between set-up and fesetenv() no floating-point operation of our own may happen: it would trap. NULL: all is well. */
static void *measure_in_odd_environment(void *arg)
{
	unsigned variant = *(unsigned *)arg;
	struct fp_state before, after;

	feclearexcept(FE_ALL_EXCEPT);
	if (variant & 1)
		feraiseexcept(FE_DIVBYZERO | FE_UNDERFLOW);
	fesetround(rounding[variant >> 3 & 3]);
	if (variant & 2)
		fp_flush_to_zero();
	if (variant & 4)
		feenableexcept(FE_ALL_EXCEPT);
	for (unsigned i = 0; i < FENV_TENSORS; i++) {
		struct stats_fenv env;
		struct stats_acc a;

		fp_read(&before);
		stats_fenv_set(&env);
		if (!stats_begin(&a, i / FILL_PATTERNS, EPS)) {
			stats_add(&a, fenv_data[i], 300);
			stats_end(&a, &fenv_got[i]);
		}
		stats_fenv_reset(&env);
		fp_read(&after);
		if (memcmp(&before, &after, sizeof(before)))
			return arg;
	}
	fesetenv(FE_DFL_ENV);
	return NULL;
}

static void test_odd_environments(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < FENV_TENSORS; i++) {
		unsigned dt = i / FILL_PATTERNS;
		struct reference want;
		struct stats_acc a;

		if (stats_begin(&a, dt, EPS))
			continue;
		fill_tensor(dt, fenv_data[i], 300, i % FILL_PATTERNS, &seed);
		stats_add(&a, fenv_data[i], 300);
		stats_end(&a, &fenv_want[i]);
		ref_measure(dt, fenv_data[i], 300, EPS, &want);
		assert_null(ref_compare(dt, &fenv_want[i], &want));
	}
	for (unsigned variant = 0; variant < 32; variant++) {
		pthread_t thread;
		void *changed;

		memset(fenv_got, 0, sizeof(fenv_got));
		assert_int_equal(
			pthread_create(&thread, NULL, measure_in_odd_environment, &variant), 0);
		assert_int_equal(pthread_join(thread, &changed), 0);
		if (changed)
			fail_msg("the floating-point environment was not restored (variant %u)",
				variant);
		assert_memory_equal(fenv_got, fenv_want, sizeof(fenv_want));
	}
}

/* Checks that the odd environments are odd: each would change the result of a plain sum, or kill the process. */
static void test_setup_takes_effect(void **state)
{
	volatile double tiny = 0x1p-1074, one = 1;
	struct fp_state plain, odd;

	(void)state;
	fp_read(&plain);
	fp_flush_to_zero();
	fp_read(&odd);
	assert_true(tiny + tiny == 0);
	fesetenv(FE_DFL_ENV);
	assert_memory_not_equal(&plain, &odd, sizeof(odd));
	assert_true(tiny + tiny != 0);
	fesetround(FE_UPWARD);
	assert_true(one + tiny != 1);
	fesetenv(FE_DFL_ENV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup_takes_effect),
		cmocka_unit_test(test_odd_environments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
