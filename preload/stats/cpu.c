/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the variants that this CPU can run. __builtin_cpu_supports() is not used: a constructor
 * of libgcc fills its tables, and wrappers may be called before that has run.
 */
#include "stats/kernel.h"

#if defined(__x86_64__)

#include <cpuid.h>

enum {
	XCR0_AVX = 0x06,
	XCR0_AVX512 = 0xe6
}; /* registers that the kernel saves: XMM, YMM; mask, ZMM */

static uint32_t get_saved_registers(void)
{
	uint32_t lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return lo;
}

static int has(uint32_t word, uint32_t bits)
{
	return (word & bits) == bits;
}

static void check_cpu_features(int *avx2, int *avx512, int *vnni)
{
	const uint32_t base = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
	const uint32_t wide = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
	uint32_t a, b, c, d, xcr0;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, base))
		return;
	xcr0 = get_saved_registers();
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(xcr0, XCR0_AVX) || !has(b, bit_AVX2))
		return;
	*avx2 = 1;
	*avx512 = has(xcr0, XCR0_AVX512) && has(b, wide);
	*vnni = has(c, bit_AVX512VNNI);
}

const struct stats_kernels *stats_get_variant(enum stats_isa isa)
{
	int avx2 = 0, avx512 = 0, vnni = 0;

	if (isa == STATS_SCALAR)
		return &stats_scalar;
	check_cpu_features(&avx2, &avx512, &vnni);
	if (avx512 && (isa == STATS_AVX512 || isa == STATS_AUTO))
		return vnni ? &stats_avx512_vnni : &stats_avx512;
	if (avx2 && (isa == STATS_AVX2 || isa == STATS_AUTO))
		return &stats_avx2;
	return isa == STATS_AUTO ? &stats_scalar : NULL;
}

#elif defined(__aarch64__)

/* Every 64-bit Arm CPU that runs Linux has NEON with double precision, so hwcaps need not be checked. */
const struct stats_kernels *stats_get_variant(enum stats_isa isa)
{
	if (isa == STATS_SCALAR)
		return &stats_scalar;
	return isa == STATS_NEON || isa == STATS_AUTO ? &stats_neon : NULL;
}

#else

const struct stats_kernels *stats_get_variant(enum stats_isa isa)
{
	return isa == STATS_SCALAR || isa == STATS_AUTO ? &stats_scalar : NULL;
}

#endif
