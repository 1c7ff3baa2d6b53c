/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 (F, BW, DQ, VL) with F16C: registers of 64 bytes. Compiled with its own flags; stats.c calls it only where
 * the CPU and the kernel support that.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#include "stats/unroll.h"
#include "stats/x86.h"

#define V 64
#define W 4
#define SPLIT 0

typedef __m512i vec;
typedef uint64_t count; /* masks are counted at once */
#define NO_COUNT 0

typedef __m256d vd;
typedef struct {
	vd r[2];
} d8;

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

REDUCE(v_least_8, int8_t, vec, HALVES, min_epi8, 8)
REDUCE(v_most_8, int8_t, vec, HALVES, max_epi8, 8)
REDUCE(v_uleast_8, uint8_t, vec, HALVES, min_epu8, 8)
REDUCE(v_umost_8, uint8_t, vec, HALVES, max_epu8, 8)
REDUCE(v_least_16, int16_t, vec, HALVES, min_epi16, 16)
REDUCE(v_most_16, int16_t, vec, HALVES, max_epi16, 16)
REDUCE(v_uleast_16, uint16_t, vec, HALVES, min_epu16, 16)
REDUCE(v_umost_16, uint16_t, vec, HALVES, max_epu16, 16)
REDUCE(v_least_32, int32_t, vec, HALVES, min_epi32, 32)
REDUCE(v_most_32, int32_t, vec, HALVES, max_epi32, 32)
REDUCE(v_uleast_32, uint32_t, vec, HALVES, min_epu32, 32)
REDUCE(v_umost_32, uint32_t, vec, HALVES, max_epu32, 32)
REDUCE(sum_of_32, uint32_t, vec, HALVES, add_epi32, 32)
REDUCE(v_least_64, int64_t, vec, HALVES, min_epi64, 64)
REDUCE(v_most_64, int64_t, vec, HALVES, max_epi64, 64)
REDUCE(v_sum_64, uint64_t, vec, HALVES, add_epi64, 64)

/* ---- doubles ---- */

INLINE vd vd_set(double x)
{
	return _mm256_set1_pd(x);
}

INLINE vd vd_add(vd x, vd y)
{
	return _mm256_add_pd(x, y);
}

INLINE vd vd_mul(vd x, vd y)
{
	return _mm256_mul_pd(x, y);
}

INLINE vd vd_fma(vd x, vd y, vd z)
{
	return _mm256_fmadd_pd(x, y, z);
}

INLINE vd vd_min(vd x, vd y)
{
	return _mm256_min_pd(x, y);
}

INLINE vd vd_max(vd x, vd y)
{
	return _mm256_max_pd(x, y);
}

INLINE vd vd_abs(vd x)
{
	return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}

INLINE void vd_store(double *p, vd x)
{
	_mm256_storeu_pd(p, x);
}

INLINE count vd_count(count c, vd x, vd y)
{
	return c + (count)_mm_popcnt_u32(_mm256_cmp_pd_mask(x, y, _CMP_LT_OQ));
}

INLINE vd vd_keep(vd x, vd y, vd z)
{
	return _mm256_and_pd(x, _mm256_cmp_pd(y, z, _CMP_LE_OQ));
}

INLINE d8 of_floats(__m256 x)
{
	return (d8){{_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
		_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))}};
}

INLINE d8 widen_f64(const unsigned char *p)
{
	return (d8){{_mm256_loadu_pd((const double *)p), _mm256_loadu_pd((const double *)p + 4)}};
}

INLINE d8 widen_f32(const unsigned char *p)
{
	return (d8){{_mm256_cvtps_pd(_mm_loadu_ps((const float *)p)),
		_mm256_cvtps_pd(_mm_loadu_ps((const float *)p + 4))}};
}

INLINE d8 widen_bf16(const unsigned char *p)
{
	return of_floats(eight_bf16(p));
}

INLINE d8 widen_f16(const unsigned char *p)
{
	return of_floats(_mm256_cvtph_ps(load_128(p)));
}

INLINE d8 widen_e5m2(const unsigned char *p)
{
	return of_floats(_mm256_cvtph_ps(half_of_e5m2(p)));
}

INLINE d8 widen_e4m3fn(const unsigned char *p)
{
	return of_floats(eight_e4m3fn(p));
}

INLINE d8 widen_i32(const unsigned char *p)
{
	return (d8){{_mm256_cvtepi32_pd(load_128(p)), _mm256_cvtepi32_pd(load_128(p + 16))}};
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

/* ---- sums of narrow integers ---- */

/*
 * V elements of 8 bits at p, as 16 bits. Their sums stay in 16 bits: a lane gets 126 elements of a block, at most
 * 126 * 255 in all.
 */
INLINE void add_8(vec *sum, vec *sq, const unsigned char *p, int is_signed)
{
	/* Hides that v_load() reads the same bytes: clang 14 would cut up that register byte by byte. */
	__asm__("" : "+r"(p));
	UNROLL for (int i = 0; i < V; i += V / 2)
	{
		vec x = is_signed ? _mm512_cvtepi8_epi16(load_256(p + i))
				  : _mm512_cvtepu8_epi16(load_256(p + i));

		*sum = _mm512_add_epi16(*sum, x);
		*sq = _mm512_add_epi32(*sq, _mm512_madd_epi16(x, x));
	}
}

INLINE int64_t total_sum_8(vec acc)
{
	return (int32_t)sum_of_32(_mm512_madd_epi16(acc, v_set_16(1)));
}

INLINE int64_t total_sq_8(vec acc)
{
	return sum_of_32(acc);
}

INLINE vec sum_16(vec acc, vec y)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(y, v_set_16(1)));
}

INLINE int64_t total_sum_16(vec acc)
{
	return (int32_t)sum_of_32(acc);
}

/* The sum of two squares is 2^31 at most: an unsigned number of 32 bits. */
INLINE vec sq_16(vec acc, vec y)
{
	vec two = _mm512_madd_epi16(y, y);

	acc = _mm512_add_epi64(acc, v_high(two));
	return _mm512_add_epi64(acc, _mm512_and_si512(two, v_set_64(UINT32_MAX)));
}

INLINE int64_t total_sq_16(vec acc)
{
	return (int64_t)v_sum_64(acc);
}

#include "stats/simd.h"

const struct stats_kernels stats_avx512 = SIMD_KERNELS("avx512");

#else
typedef int stats_avx512_is_for_x86; /* a translation unit must not be empty */
#endif
