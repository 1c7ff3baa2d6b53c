/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 (F, BW, DQ, VL) with F16C: registers of 64 bytes. Compiled with its own flags; stats.c
 * calls it only if the CPU and the kernel support these. vnni.c compiles this file with VNNI.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#include "stats/unroll.h"

#define V 64
#define W 4
#define SPLIT 0
/*
 * Sums use fused multiply-adds: on Zen 4 these run in two pipes that additions and conversions
 * leave free.
 */
#define FMA_SUMS 1

#include "stats/x86.h"

typedef __m512i vec;
typedef uint64_t count; /* masks are counted immediately */
#define NO_COUNT 0

INLINE vec v_load(const void *p)
{
	return _mm512_loadu_si512(p);
}

INLINE vec v_xor(vec x, vec y)
{
	return _mm512_xor_si512(x, y);
}

INLINE vec v_and(vec x, vec y)
{
	return _mm512_and_si512(x, y);
}

INLINE vec v_high(vec x)
{
	return _mm512_srli_epi64(x, 32);
}

#define LANES(b, set)                                                               \
	INLINE vec v_set_##b(int##b##_t x)                                          \
	{                                                                           \
		return set(x);                                                      \
	}                                                                           \
	INLINE vec v_min_##b(vec x, vec y)                                          \
	{                                                                           \
		return _mm512_min_epi##b(x, y);                                     \
	}                                                                           \
	INLINE vec v_max_##b(vec x, vec y)                                          \
	{                                                                           \
		return _mm512_max_epi##b(x, y);                                     \
	}                                                                           \
	INLINE vec v_add_##b(vec x, vec y)                                          \
	{                                                                           \
		return _mm512_add_epi##b(x, y);                                     \
	}                                                                           \
	INLINE count v_count_##b(count c, vec x, vec y)                             \
	{                                                                           \
		return c + (count)_mm_popcnt_u64(_mm512_cmpgt_epi##b##_mask(x, y)); \
	}                                                                           \
	INLINE count v_zeros_##b(count c, vec x)                                    \
	{                                                                           \
		return c + (count)_mm_popcnt_u64(_mm512_testn_epi##b##_mask(x, x)); \
	}                                                                           \
	INLINE uint64_t v_total_##b(count c)                                        \
	{                                                                           \
		return c;                                                           \
	}

LANES(8, _mm512_set1_epi8)
LANES(16, _mm512_set1_epi16)
LANES(32, _mm512_set1_epi32)
LANES(64, _mm512_set1_epi64)

#define HALVES(op, x) _mm256_##op(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1))

#define UNSIGNED_LANES(b)                       \
	INLINE vec v_umin_##b(vec x, vec y)     \
	{                                       \
		return _mm512_min_epu##b(x, y); \
	}                                       \
	INLINE vec v_umax_##b(vec x, vec y)     \
	{                                       \
		return _mm512_max_epu##b(x, y); \
	}

UNSIGNED_LANES(8)
UNSIGNED_LANES(16)
UNSIGNED_LANES(32)

REDUCTIONS(HALVES)

/* ---- doubles ---- */

INLINE count vd_count(count c, vd x, vd y)
{
	return c + (count)_mm_popcnt_u32(_mm256_cmp_pd_mask(x, y, _CMP_LT_OQ));
}

/*
 * One operation widens V / 4 elements, with zeros below each. It uses 4 of 8 elements: the first
 * 4 of each 8 go into the first register, the others into the second.
 */
INLINE void stage_bf16(float *to, const unsigned char *p)
{
	vec zero = v_set_64(0);

	UNROLL for (int i = 0; i < 64 / V; i++)
	{
		vec x = v_load(p + V * i);

		_mm512_store_si512((void *)(to + V / 2 * i), _mm512_unpacklo_epi16(zero, x));
		_mm512_store_si512(
			(void *)(to + V / 2 * i + V / 4), _mm512_unpackhi_epi16(zero, x));
	}
}

INLINE d8 widen_u32(const unsigned char *p)
{
	return (d8){{_mm256_cvtepu32_pd(load_128(p)), _mm256_cvtepu32_pd(load_128(p + 16))}};
}

INLINE d8 widen_i64(const unsigned char *p)
{
	return (d8){{_mm256_cvtepi64_pd(load_256(p)), _mm256_cvtepi64_pd(load_256(p + 32))}};
}

INLINE d8 widen_u64(const unsigned char *p)
{
	return (d8){{_mm256_cvtepu64_pd(load_256(p)), _mm256_cvtepu64_pd(load_256(p + 32))}};
}

/* ---- float8_e4m3fn ---- */

INLINE vec v_table_of(const int8_t *p)
{
	return _mm512_broadcast_i32x4(load_128((const unsigned char *)p));
}

INLINE vec v_table(vec t, vec x)
{
	return _mm512_shuffle_epi8(t, x);
}

INLINE vec v_upper(vec x)
{
	return v_and(_mm512_srli_epi16(x, 4), v_set_8(0x0f));
}

INLINE vec v_pick(vec x, int8_t bits, vec y, vec z)
{
	return _mm512_mask_blend_epi8(_mm512_test_epi8_mask(x, v_set_8(bits)), z, y);
}

INLINE vec dot_8(vec acc, vec x, vec y)
{
#ifdef __AVX512VNNI__
	return _mm512_dpbusd_epi32(acc, x, y);
#else
	return _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(x, y), v_set_16(1)));
#endif
}

/* ---- sums of narrow integers ---- */

#ifdef __AVX512VNNI__
INLINE vec sum_8(vec acc, vec z)
{
	return dot_8(acc, z, v_set_8(1));
}

INLINE int64_t total_sum_8(vec acc)
{
	return sum_of_32(acc);
}
#else
INLINE vec sum_8(vec acc, vec z)
{
	return _mm512_add_epi64(acc, _mm512_sad_epu8(z, _mm512_setzero_si512()));
}

INLINE int64_t total_sum_8(vec acc)
{
	return (int64_t)v_sum_64(acc);
}
#endif

#ifdef __AVX512VNNI__
/*
 * Computes the sum of z (z - 128), because one factor is unsigned and the other signed: the sum
 * of z^2 minus 128 times the sum of z.
 */
INLINE vec sq_8(vec acc, vec z)
{
	return dot_8(acc, z, v_xor(z, v_set_8(INT8_MIN)));
}

INLINE int64_t total_sq_8(vec acc, int64_t sum)
{
	return (int32_t)sum_of_32(acc) + 128 * sum;
}

INLINE vec sum_16(vec acc, vec y)
{
	return _mm512_dpwssd_epi32(acc, y, v_set_16(1));
}
#else
/* A 32-bit lane gets the squares of at most STATS_BLOCK / (V / 4) elements. */
INLINE vec sq_8(vec acc, vec z)
{
	vec even = v_and(z, v_set_16(0xff)), odd = _mm512_srli_epi16(z, 8);

	acc = _mm512_add_epi32(acc, _mm512_madd_epi16(even, even));
	return _mm512_add_epi32(acc, _mm512_madd_epi16(odd, odd));
}

INLINE int64_t total_sq_8(vec acc, int64_t sum)
{
	(void)sum;
	return sum_of_32(acc);
}

INLINE vec sum_16(vec acc, vec y)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(y, v_set_16(1)));
}
#endif

INLINE int64_t total_sum_16(vec acc)
{
	return (int32_t)sum_of_32(acc);
}

/*
 * The sum of two squares is at most 2^31, an unsigned 32-bit number. Such sums are added twice in
 * 32 bits: modulo 2^32, and the upper halves alone. The lower halves add up to less than 2^32, so
 * their sum follows from the first total.
 */
struct squares {
	vec all, upper;
};

#define NO_SQUARES                       \
	{                                \
		v_set_64(0), v_set_64(0) \
	}

INLINE void sq_16(struct squares *acc, vec y)
{
	vec two = _mm512_madd_epi16(y, y);

	acc->all = _mm512_add_epi32(acc->all, two);
	acc->upper = _mm512_add_epi32(acc->upper, _mm512_srli_epi32(two, 16));
}

INLINE int64_t total_sq_16(const struct squares *acc)
{
	vec lower = _mm512_sub_epi32(acc->all, _mm512_slli_epi32(acc->upper, 16));

	return ((int64_t)sum_of_32(acc->upper) << 16) + sum_of_32(lower);
}

#include "stats/simd.h"

#ifndef AVX512_TABLE
#define AVX512_TABLE stats_avx512
#endif

const struct stats_kernels AVX512_TABLE = SIMD_KERNELS("avx512");

#else
typedef int stats_avx512_is_for_x86; /* a translation unit must not be empty */
#endif
