/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The complete floating-point environment of a thread of the job, x87 unit included. For code
 * that calls libc's number conversions: they obey the thread's rounding mode and may set its
 * flags. (The statistics use the cheaper stats_fenv, because they never touch the x87 unit.)
 */
#ifndef PROBE_BASE_FPENV_H
#define PROBE_BASE_FPENV_H

#include <stdint.h>

struct fpenv {
	uint64_t word[2]; /* x86-64: MXCSR; aarch64: FPCR and FPSR */
#if defined(__x86_64__)
	uint32_t x87[7]; /* as fnstenv stores it */
#endif
};

/* Saves the environment and loads the default one: round to nearest, no traps, no flush to zero. */
static inline void fpenv_enter(struct fpenv *save)
{
#if defined(__x86_64__)
	const uint16_t cw = 0x37f;
	const uint32_t mxcsr = 0x1f80;
	uint32_t had;

	__asm__ volatile("fnstenv %0\n\tfnclex\n\tfldcw %1" : "=m"(save->x87) : "m"(cw) : "memory");
	__asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(had) : "m"(mxcsr) : "memory");
	save->word[0] = had;
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(save->word[0]), "=r"(save->word[1]));
	__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
#endif
}

/*
 * Restores the environment bit for bit, including sticky flags: a flag raised by libprobe must
 * not trigger a trap that the job has enabled.
 */
static inline void fpenv_leave(const struct fpenv *save)
{
#if defined(__x86_64__)
	uint32_t mxcsr = (uint32_t)save->word[0];

	__asm__ volatile("fldenv %0" : : "m"(save->x87) : "memory");
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
			 :
			 : "r"(save->word[0]), "r"(save->word[1])
			 : "memory");
#endif
}

#endif
