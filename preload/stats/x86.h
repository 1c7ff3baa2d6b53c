/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that avx2.c and avx512.c share: conversions of 8 elements, arithmetic of 4 doubles, and
 * folding a register to one lane. They define V, the bytes of a register, before they include it.
 */
#ifndef PROBE_STATS_X86_H
#define PROBE_STATS_X86_H

INLINE __m128i load_64(const unsigned char *p)
{
	return _mm_loadl_epi64((const __m128i *)p);
}

INLINE __m128i load_128(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

INLINE __m256i load_256(const unsigned char *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

/* bfloat16 is the upper half of float32. */
INLINE __m256 eight_bf16(const unsigned char *p)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_128(p)), 16));
}

/* float8_e5m2 is the upper half of float16. */
INLINE __m128i half_of_e5m2(const unsigned char *p)
{
	return _mm_unpacklo_epi8(_mm_setzero_si128(), load_64(p));
}

/*
 * Exponent and mantissa, moved to their positions in float16, give a number that is 2^8 too
 * small, because the bias is 7, not 15; this holds for denormals too. Only the code of all ones
 * is NaN: it becomes 480 here and is made NaN afterwards.
 */
INLINE __m256 eight_e4m3fn(const unsigned char *p)
{
	__m128i x = _mm_cvtepi8_epi16(load_64(p)), mag = _mm_and_si128(x, _mm_set1_epi16(0x7f));
	__m128i half =
		_mm_or_si128(_mm_slli_epi16(mag, 7), _mm_and_si128(x, _mm_set1_epi16(INT16_MIN)));
	__m128i nan = _mm_cmpeq_epi16(mag, _mm_set1_epi16(0x7f));

	return _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(half, nan)), _mm256_set1_ps(256));
}

#define LANE_8(x) _mm_extract_epi8(x, 0)
#define LANE_16(x) _mm_extract_epi16(x, 0)
#define LANE_32(x) _mm_cvtsi128_si32(x)
#define LANE_64(x) _mm_cvtsi128_si64(x)

/*
 * vcvtps2pd takes one operation if its operand is in memory, and two if it is in a register, plus
 * those that move the upper half of a register down. So it costs less to store the results of 64
 * bytes and load them again.
 */
#define STAGED 1

INLINE void stage_f16(float *to, const unsigned char *p)
{
	UNROLL for (int i = 0; i < 4; i++)
		_mm256_store_ps(to + 8 * i, _mm256_cvtph_ps(load_128(p + 16 * i)));
}

INLINE void stage_e5m2(float *to, const unsigned char *p)
{
	__m128i zero = _mm_setzero_si128();

	UNROLL for (int i = 0; i < 4; i++)
	{
		__m128i x = load_128(p + 16 * i);

		_mm256_store_ps(to + 16 * i, _mm256_cvtph_ps(_mm_unpacklo_epi8(zero, x)));
		_mm256_store_ps(to + 16 * i + 8, _mm256_cvtph_ps(_mm_unpackhi_epi8(zero, x)));
	}
}

/* halves(op, x): applies op to the upper and the lower half of x, 256 bits each. */
#define REDUCE(name, type, reg, halves, op, bits)                                                \
	INLINE type name(reg v)                                                                  \
	{                                                                                        \
		__m256i y = halves(op, v);                                                       \
		__m128i x = _mm_##op(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)); \
                                                                                                 \
		x = _mm_##op(x, _mm_srli_si128(x, 8));                                           \
		if (bits <= 32)                                                                  \
			x = _mm_##op(x, _mm_srli_si128(x, 4));                                   \
		if (bits <= 16)                                                                  \
			x = _mm_##op(x, _mm_srli_si128(x, 2));                                   \
		if (bits <= 8)                                                                   \
			x = _mm_##op(x, _mm_srli_si128(x, 1));                                   \
		return (type)LANE_##bits(x);                                                     \
	}

/* Minimum, maximum and sum of the lanes of a register. halves: as in REDUCE(). */
#define REDUCTIONS(halves)                                        \
	REDUCE(v_least_8, int8_t, vec, halves, min_epi8, 8)       \
	REDUCE(v_most_8, int8_t, vec, halves, max_epi8, 8)        \
	REDUCE(v_uleast_8, uint8_t, vec, halves, min_epu8, 8)     \
	REDUCE(v_umost_8, uint8_t, vec, halves, max_epu8, 8)      \
	REDUCE(v_least_16, int16_t, vec, halves, min_epi16, 16)   \
	REDUCE(v_most_16, int16_t, vec, halves, max_epi16, 16)    \
	REDUCE(v_uleast_16, uint16_t, vec, halves, min_epu16, 16) \
	REDUCE(v_umost_16, uint16_t, vec, halves, max_epu16, 16)  \
	REDUCE(v_least_32, int32_t, vec, halves, min_epi32, 32)   \
	REDUCE(v_most_32, int32_t, vec, halves, max_epi32, 32)    \
	REDUCE(v_uleast_32, uint32_t, vec, halves, min_epu32, 32) \
	REDUCE(v_umost_32, uint32_t, vec, halves, max_epu32, 32)  \
	REDUCE(sum_of_32, uint32_t, vec, halves, add_epi32, 32)   \
	REDUCE(v_least_64, int64_t, vec, halves, min_epi64, 64)   \
	REDUCE(v_most_64, int64_t, vec, halves, max_epi64, 64)    \
	REDUCE(v_sum_64, uint64_t, vec, halves, add_epi64, 64)

/* ---- doubles ---- */

typedef __m256d vd;
typedef struct {
	vd r[2];
} d8;

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

/* Reads the elements in the order in which stage_bf16() stored them. */
INLINE d8 widen_spread(const unsigned char *p)
{
	return (d8){{_mm256_cvtps_pd(_mm_load_ps((const float *)p)),
		_mm256_cvtps_pd(_mm_load_ps((const float *)p + V / 4))}};
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

#endif
