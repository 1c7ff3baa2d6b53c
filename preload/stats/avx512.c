/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 (F, BW, DQ, VL) with F16C: registers of 64 bytes. Compiled with its own flags; stats.c calls it only where
 * the CPU and the kernel support that.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#include "stats/x86.h"

#define V 64
#define W 8
#ifndef FAR
#define FAR 3072
#define FAR_LOCALITY 3
#endif

typedef __m512i vec;
typedef __m512d vd;
typedef struct {
	vd r[1];
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

#define LANES(b, set)                                                                      \
	INLINE vec v_set_##b(int##b##_t x)                                                 \
	{                                                                                  \
		return set(x);                                                             \
	}                                                                                  \
	INLINE vec v_min_##b(vec x, vec y)                                                 \
	{                                                                                  \
		return _mm512_min_epi##b(x, y);                                            \
	}                                                                                  \
	INLINE vec v_max_##b(vec x, vec y)                                                 \
	{                                                                                  \
		return _mm512_max_epi##b(x, y);                                            \
	}                                                                                  \
	INLINE vec v_add_##b(vec x, vec y)                                                 \
	{                                                                                  \
		return _mm512_add_epi##b(x, y);                                            \
	}                                                                                  \
	INLINE vec v_count_##b(vec c, vec x, vec y)                                        \
	{                                                                                  \
		__mmask64 m = (__mmask64)_mm512_cmpgt_epi##b##_mask(x, y);                 \
                                                                                           \
		return _mm512_mask_sub_epi##b(c, (__mmask##b##_lanes)m, c, v_set_##b(-1)); \
	}

typedef __mmask64 __mmask8_lanes;
typedef __mmask32 __mmask16_lanes;
typedef __mmask16 __mmask32_lanes;
typedef __mmask8 __mmask64_lanes;
LANES(8, _mm512_set1_epi8)
LANES(16, _mm512_set1_epi16)
LANES(32, _mm512_set1_epi32)
LANES(64, _mm512_set1_epi64)

#define HALVES(op, x) _mm256_##op(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1))

INLINE vec v_umin_8(vec x, vec y)
{
	return _mm512_min_epu8(x, y);
}

INLINE vec v_umax_8(vec x, vec y)
{
	return _mm512_max_epu8(x, y);
}

INLINE vec v_umin_16(vec x, vec y)
{
	return _mm512_min_epu16(x, y);
}

INLINE vec v_umax_16(vec x, vec y)
{
	return _mm512_max_epu16(x, y);
}

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
REDUCE(v_total_32, uint32_t, vec, HALVES, add_epi32, 32)
REDUCE(v_least_64, int64_t, vec, HALVES, min_epi64, 64)
REDUCE(v_most_64, int64_t, vec, HALVES, max_epi64, 64)
REDUCE(v_total_64, uint64_t, vec, HALVES, add_epi64, 64)

INLINE uint64_t v_total_8(vec c)
{
	return v_total_64(_mm512_sad_epu8(c, _mm512_setzero_si512()));
}

INLINE uint64_t v_total_16(vec c)
{
	return v_total_32(_mm512_madd_epi16(c, v_set_16(1)));
}

/* ---- float32 ---- */

INLINE vec f_min(vec x, vec y)
{
	return _mm512_castps_si512(_mm512_min_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y)));
}

INLINE vec f_max(vec x, vec y)
{
	return _mm512_castps_si512(_mm512_max_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y)));
}

INLINE vec f_count(vec c, vec x, vec y)
{
	__mmask16 m =
		_mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), _CMP_LT_OQ);

	return _mm512_mask_sub_epi32(c, m, c, v_set_32(-1));
}

#define FLOAT_HALVES(op, x) _mm256_##op(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1))
REDUCE_FLOAT(f_least, _mm512_castsi512_ps, FLOAT_HALVES, min)
REDUCE_FLOAT(f_most, _mm512_castsi512_ps, FLOAT_HALVES, max)

/* ---- doubles ---- */

INLINE vd vd_set(double x)
{
	return _mm512_set1_pd(x);
}

INLINE vd vd_add(vd x, vd y)
{
	return _mm512_add_pd(x, y);
}

INLINE vd vd_mul(vd x, vd y)
{
	return _mm512_mul_pd(x, y);
}

INLINE vd vd_fma(vd x, vd y, vd z)
{
	return _mm512_fmadd_pd(x, y, z);
}

INLINE vd vd_min(vd x, vd y)
{
	return _mm512_min_pd(x, y);
}

INLINE vd vd_max(vd x, vd y)
{
	return _mm512_max_pd(x, y);
}

INLINE vd vd_abs(vd x)
{
	return _mm512_abs_pd(x);
}

INLINE void vd_store(double *p, vd x)
{
	_mm512_storeu_pd(p, x);
}

INLINE vec vd_count(vec c, vd x, vd y)
{
	return _mm512_mask_sub_epi64(c, _mm512_cmp_pd_mask(x, y, _CMP_LT_OQ), c, v_set_64(-1));
}

INLINE vd vd_keep(vd x, vd y, vd z)
{
	return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(y, z, _CMP_LE_OQ), x);
}

INLINE d8 widen_f64(const unsigned char *p)
{
	return (d8){{_mm512_loadu_pd(p)}};
}

INLINE d8 widen_f32(const unsigned char *p)
{
	return (d8){{_mm512_cvtps_pd(_mm256_loadu_ps((const float *)p))}};
}

INLINE d8 widen_bf16(const unsigned char *p)
{
	return (d8){{_mm512_cvtps_pd(eight_bf16(p))}};
}

INLINE d8 widen_f16(const unsigned char *p)
{
	return (d8){{_mm512_cvtps_pd(_mm256_cvtph_ps(load_128(p)))}};
}

INLINE d8 widen_e5m2(const unsigned char *p)
{
	return (d8){{_mm512_cvtps_pd(_mm256_cvtph_ps(half_of_e5m2(p)))}};
}

INLINE d8 widen_e4m3fn(const unsigned char *p)
{
	return (d8){{_mm512_cvtps_pd(eight_e4m3fn(p))}};
}

INLINE d8 widen_i32(const unsigned char *p)
{
	return (d8){{_mm512_cvtepi32_pd(load_256(p))}};
}

INLINE d8 widen_u32(const unsigned char *p)
{
	return (d8){{_mm512_cvtepu32_pd(load_256(p))}};
}

INLINE d8 widen_i64(const unsigned char *p)
{
	return (d8){{_mm512_cvtepi64_pd(v_load(p))}};
}

INLINE d8 widen_u64(const unsigned char *p)
{
	return (d8){{_mm512_cvtepu64_pd(v_load(p))}};
}

/* ---- sums of narrow integers ---- */

/* vpsadbw adds up unsigned bytes: with the top bit flipped, each is larger by 128. */
INLINE vec sum_8(vec acc, vec y)
{
	vec u = _mm512_xor_si512(y, v_set_8(INT8_MIN));

	return _mm512_add_epi64(acc, _mm512_sad_epu8(u, _mm512_setzero_si512()));
}

INLINE int64_t total_sum_8(vec acc, int64_t n)
{
	return (int64_t)v_total_64(acc) - 128 * n;
}

INLINE vec sq_8(vec acc, vec y)
{
	vec odd = _mm512_srai_epi16(y, 8), even = _mm512_srai_epi16(_mm512_slli_epi16(y, 8), 8);

	acc = _mm512_add_epi32(acc, _mm512_madd_epi16(odd, odd));
	return _mm512_add_epi32(acc, _mm512_madd_epi16(even, even));
}

INLINE int64_t total_sq_8(vec acc)
{
	return v_total_32(acc);
}

INLINE vec sum_16(vec acc, vec y)
{
	return _mm512_add_epi32(acc, _mm512_madd_epi16(y, v_set_16(1)));
}

INLINE int64_t total_sum_16(vec acc, int64_t n)
{
	(void)n;
	return (int32_t)v_total_32(acc);
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
	return (int64_t)v_total_64(acc);
}

#include "stats/simd.h"

const struct stats_kernels stats_avx512 = SIMD_KERNELS("avx512");

#else
typedef int stats_avx512_is_for_x86; /* a translation unit must not be empty */
#endif
