/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2 with FMA and F16C: registers of 32 bytes. Compiled with its own flags; stats.c calls it
 * only if the CPU and the kernel support these.
 */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdint.h>

#include "stats/unroll.h"

#define V 32
#define W 4
#define SPLIT 1
#define FMA_SUMS 0

#include "stats/x86.h"

typedef __m256i vec, count;
#define NO_COUNT _mm256_setzero_si256()

INLINE vec v_load(const void *p)
{
	return _mm256_loadu_si256(p);
}

INLINE vec v_xor(vec x, vec y)
{
	return _mm256_xor_si256(x, y);
}

INLINE vec v_and(vec x, vec y)
{
	return _mm256_and_si256(x, y);
}

INLINE vec v_high(vec x)
{
	return _mm256_srli_epi64(x, 32);
}

/* Operations that AVX2 lacks. */
#define _mm_min_epi64(x, y) _mm_blendv_epi8(x, y, _mm_cmpgt_epi64(x, y))
#define _mm_max_epi64(x, y) _mm_blendv_epi8(y, x, _mm_cmpgt_epi64(x, y))
#define _mm256_min_epi64(x, y) _mm256_blendv_epi8(x, y, _mm256_cmpgt_epi64(x, y))
#define _mm256_max_epi64(x, y) _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi64(x, y))

#define LANES(b, set)                                                   \
	INLINE vec v_set_##b(int##b##_t x)                              \
	{                                                               \
		return set(x);                                          \
	}                                                               \
	INLINE vec v_min_##b(vec x, vec y)                              \
	{                                                               \
		return _mm256_min_epi##b(x, y);                         \
	}                                                               \
	INLINE vec v_max_##b(vec x, vec y)                              \
	{                                                               \
		return _mm256_max_epi##b(x, y);                         \
	}                                                               \
	INLINE vec v_add_##b(vec x, vec y)                              \
	{                                                               \
		return _mm256_add_epi##b(x, y);                         \
	}                                                               \
	INLINE count v_count_##b(count c, vec x, vec y)                 \
	{                                                               \
		return _mm256_sub_epi##b(c, _mm256_cmpgt_epi##b(x, y)); \
	}                                                               \
	INLINE count v_zeros_##b(count c, vec x)                        \
	{                                                               \
		x = _mm256_cmpeq_epi##b(x, _mm256_setzero_si256());     \
		return _mm256_sub_epi##b(c, x);                         \
	}

LANES(8, _mm256_set1_epi8)
LANES(16, _mm256_set1_epi16)
LANES(32, _mm256_set1_epi32)
LANES(64, _mm256_set1_epi64x)

#define WHOLE(op, x) (x)

#define UNSIGNED_LANES(b)                       \
	INLINE vec v_umin_##b(vec x, vec y)     \
	{                                       \
		return _mm256_min_epu##b(x, y); \
	}                                       \
	INLINE vec v_umax_##b(vec x, vec y)     \
	{                                       \
		return _mm256_max_epu##b(x, y); \
	}

UNSIGNED_LANES(8)
UNSIGNED_LANES(16)
UNSIGNED_LANES(32)

REDUCTIONS(WHOLE)

INLINE uint64_t v_total_8(count c)
{
	return v_sum_64(_mm256_sad_epu8(c, _mm256_setzero_si256()));
}

INLINE uint64_t v_total_16(count c)
{
	return sum_of_32(_mm256_madd_epi16(c, v_set_16(1)));
}

INLINE uint64_t v_total_32(count c)
{
	return sum_of_32(c);
}

INLINE uint64_t v_total_64(count c)
{
	return v_sum_64(c);
}

/* ---- doubles ---- */

INLINE count vd_count(count c, vd x, vd y)
{
	return _mm256_sub_epi64(c, _mm256_castpd_si256(_mm256_cmp_pd(x, y, _CMP_LT_OQ)));
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

		_mm256_store_si256((void *)(to + V / 2 * i), _mm256_unpacklo_epi16(zero, x));
		_mm256_store_si256(
			(void *)(to + V / 2 * i + V / 4), _mm256_unpackhi_epi16(zero, x));
	}
}

/* Computes 2^52 with the integer in its last digits, minus 2^52. */
INLINE vd of_u32(const unsigned char *p)
{
	__m256i x = _mm256_or_si256(
		_mm256_cvtepu32_epi64(load_128(p)), _mm256_set1_epi64x(0x4330000000000000));

	return _mm256_sub_pd(_mm256_castsi256_pd(x), vd_set(0x1p52));
}

INLINE d8 widen_u32(const unsigned char *p)
{
	return (d8){{of_u32(p), of_u32(p + 16)}};
}

/*
 * The upper half goes into the last digits of 2^84 (in units of 2^32), the lower half into those
 * of 2^52. Subtracting the powers from the first is exact, adding the second rounds once. Signed:
 * the top bit of the upper half is flipped, which adds 2^63.
 */
INLINE vd of_64(const unsigned char *p, int64_t magic, double powers)
{
	__m256i x = load_256(p), high = _mm256_xor_si256(v_high(x), _mm256_set1_epi64x(magic));
	__m256i low = _mm256_blend_epi32(x, _mm256_set1_epi64x(0x4330000000000000), 0xaa);

	return vd_add(
		_mm256_sub_pd(_mm256_castsi256_pd(high), vd_set(powers)), _mm256_castsi256_pd(low));
}

INLINE d8 widen_i64(const unsigned char *p)
{
	const int64_t magic = 0x4530000080000000;
	const double powers = 0x1p84 + 0x1p63 + 0x1p52;

	return (d8){{of_64(p, magic, powers), of_64(p + 32, magic, powers)}};
}

INLINE d8 widen_u64(const unsigned char *p)
{
	const int64_t magic = 0x4530000000000000;
	const double powers = 0x1p84 + 0x1p52;

	return (d8){{of_64(p, magic, powers), of_64(p + 32, magic, powers)}};
}

/* ---- float8_e4m3fn ---- */

INLINE vec v_table_of(const int8_t *p)
{
	return _mm256_broadcastsi128_si256(load_128((const unsigned char *)p));
}

INLINE vec v_table(vec t, vec x)
{
	return _mm256_shuffle_epi8(t, x);
}

INLINE vec v_upper(vec x)
{
	return v_and(_mm256_srli_epi16(x, 4), v_set_8(0x0f));
}

INLINE vec v_pick(vec x, int8_t bits, vec y, vec z)
{
	return _mm256_blendv_epi8(
		y, z, _mm256_cmpeq_epi8(v_and(x, v_set_8(bits)), _mm256_setzero_si256()));
}

INLINE vec dot_8(vec acc, vec x, vec y)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), v_set_16(1)));
}

/* ---- sums of narrow integers ---- */

INLINE vec sum_8(vec acc, vec z)
{
	return _mm256_add_epi64(acc, _mm256_sad_epu8(z, _mm256_setzero_si256()));
}

INLINE int64_t total_sum_8(vec acc)
{
	return (int64_t)v_sum_64(acc);
}

/* A 32-bit lane gets the squares of at most STATS_BLOCK / (V / 4) elements. */
INLINE vec sq_8(vec acc, vec z)
{
	vec even = v_and(z, v_set_16(0xff)), odd = _mm256_srli_epi16(z, 8);

	acc = _mm256_add_epi32(acc, _mm256_madd_epi16(even, even));
	return _mm256_add_epi32(acc, _mm256_madd_epi16(odd, odd));
}

INLINE int64_t total_sq_8(vec acc, int64_t sum)
{
	(void)sum;
	return sum_of_32(acc);
}

INLINE vec sum_16(vec acc, vec y)
{
	return _mm256_add_epi32(acc, _mm256_madd_epi16(y, v_set_16(1)));
}

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
	vec two = _mm256_madd_epi16(y, y);

	acc->all = _mm256_add_epi32(acc->all, two);
	acc->upper = _mm256_add_epi32(acc->upper, _mm256_srli_epi32(two, 16));
}

INLINE int64_t total_sq_16(const struct squares *acc)
{
	vec lower = _mm256_sub_epi32(acc->all, _mm256_slli_epi32(acc->upper, 16));

	return ((int64_t)sum_of_32(acc->upper) << 16) + sum_of_32(lower);
}

#include "stats/simd.h"

const struct stats_kernels stats_avx2 = SIMD_KERNELS("avx2");

#else
typedef int stats_avx2_is_for_x86; /* a translation unit must not be empty */
#endif
