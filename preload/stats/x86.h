/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that avx2.c and avx512.c share: conversions of 8 elements, and folding a register to one
 * lane.
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

#endif
