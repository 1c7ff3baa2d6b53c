/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floating-point environment of the job's thread, inline for code that runs in each call. <fenv.h> is not used: its
 * functions also write the x87 control and status words, which are not used here and stay unchanged, and they would make
 * libm a dependency.
 */
#ifndef PROBE_STATS_FENV_H
#define PROBE_STATS_FENV_H

#include "stats/stats.h"

#if defined(__x86_64__)

#define MXCSR_DEFAULT 0x1f80 /* all exceptions masked, round to nearest, no FTZ, no DAZ, no flags */
#define MXCSR_FLAGS 0x3f /* flags of past exceptions; not read here */

static inline uint32_t load_mxcsr(void)
{
	uint32_t mxcsr;

	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr) : : "memory");
	return mxcsr;
}

/*
 * Storing the environment costs as much as about ten additions, so it is skipped if the value is
 * right already.
 */
static inline void stats_fenv_set_inline(struct stats_fenv *save)
{
	uint32_t mxcsr = load_mxcsr();

	save->word[0] = mxcsr;
	save->word[1] = 0;
	if ((mxcsr & ~(uint32_t)MXCSR_FLAGS) == MXCSR_DEFAULT)
		return;
	mxcsr = MXCSR_DEFAULT;
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
}

/* Loading a flag together with its unmasked trap does not trap. Only an operation that raises the flag would. */
static inline void stats_fenv_reset_inline(const struct stats_fenv *save)
{
	uint32_t mxcsr = (uint32_t)save->word[0];

	if (load_mxcsr() != mxcsr)
		__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
}

#elif defined(__aarch64__)

static inline void stats_fenv_set_inline(struct stats_fenv *save)
{
	uint64_t fpcr, fpsr;

	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(fpcr), "=r"(fpsr));
	save->word[0] = fpcr;
	save->word[1] = fpsr;
	/* 0: no traps, round to nearest, no flush to zero, NaN payloads kept. */
	__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
}

static inline void stats_fenv_reset_inline(const struct stats_fenv *save)
{
	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
			 :
			 : "r"(save->word[0]), "r"(save->word[1])
			 : "memory");
}

#else
#error "preload/stats/fenv.h: say how this CPU saves and restores its floating-point environment"
#endif

#endif
