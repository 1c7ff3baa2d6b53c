/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels for integers; part of simd.h. Elements are looked at as signed ones: y = x, or of unsigned types
 * y = x - 2^(bits - 1), which is x with the top bit flipped.
 *
 * Zeros are those with |x| <= u, that is 0 <= x + u <= 2u in unsigned arithmetic (which wraps); of unsigned types
 * 0 <= x <= u. There is no unsigned comparison in AVX2, but flipping the top bit of both sides makes it a signed one.
 */
#ifndef PROBE_STATS_SIMD_INT_H
#define PROBE_STATS_SIMD_INT_H

struct zero_range {
	int64_t shift; /* y + shift > most, as signed numbers of the type: no zero */
	int64_t most;
};

INLINE struct zero_range zero_range(uint64_t u, unsigned bits, int is_signed)
{
	uint64_t top = (uint64_t)1 << (bits - 1), all = top - 1 + top;

	if (is_signed && u < top)
		return (struct zero_range){(int64_t)(u + top), (int64_t)(2 * u ^ top)};
	return (struct zero_range){0, (int64_t)((!is_signed && u < all ? u : all) ^ top)};
}

#define INT_LOOK(bits)                                                                             \
	struct look_##bits {                                                                       \
		vec min, max, flip, shift, limit;                                                  \
		count others;                                                                      \
	};                                                                                         \
	INLINE struct look_##bits look_begin_##bits(const struct stats_eps *eps, int is_signed)    \
	{                                                                                          \
		struct zero_range z = zero_range(eps->u, bits, is_signed);                         \
                                                                                                   \
		return (struct look_##bits){                                                       \
			v_set_##bits(INT##bits##_MAX),                                             \
			v_set_##bits(INT##bits##_MIN),                                             \
			v_set_##bits(is_signed ? 0 : INT##bits##_MIN),                             \
			v_set_##bits((int##bits##_t)z.shift),                                      \
			v_set_##bits((int##bits##_t)z.most),                                       \
			NO_COUNT,                                                                  \
		};                                                                                 \
	}                                                                                          \
	/* One register at `at` for zeros, one at `p` for min and max; mostly the same. */         \
	INLINE void look_##bits(struct look_##bits *l, const unsigned char *p,                     \
		const unsigned char *at, int is_signed)                                            \
	{                                                                                          \
		vec y = v_load(p), x = v_load(at);                                                 \
                                                                                                   \
		if (!is_signed) {                                                                  \
			y = v_xor(y, l->flip);                                                     \
			x = v_xor(x, l->flip);                                                     \
		}                                                                                  \
		l->min = v_min_##bits(y, l->min);                                                  \
		l->max = v_max_##bits(y, l->max);                                                  \
		l->others = v_count_##bits(                                                        \
			l->others, is_signed ? v_add_##bits(x, l->shift) : x, l->limit);           \
	}                                                                                          \
	INLINE void look_end_##bits(                                                               \
		const struct look_##bits *l, struct stats_block *b, size_t n, int is_signed)       \
	{                                                                                          \
		int64_t least = v_least_##bits(l->min), most = v_most_##bits(l->max);              \
                                                                                                   \
		*b = (struct stats_block){.min.i = least, .max.i = most};                          \
		if (!is_signed) {                                                                  \
			b->min.u = (uint##bits##_t)least ^ (uint##bits##_t)INT##bits##_MIN;        \
			b->max.u = (uint##bits##_t)most ^ (uint##bits##_t)INT##bits##_MIN;         \
		}                                                                                  \
		b->zeros =                                                                         \
			(uint32_t)(n - v_total_##bits(l->others)); /* zeros of padding are none */ \
	}

INT_LOOK(16)
INT_LOOK(32)
INT_LOOK(64)

/*
 * 8 bits, exact; sums are over unsigned z: x of uint8, x + t of int8 with t = 128. sum x = sum z - n t,
 * sum x^2 = sum z^2 - 2 t sum x - n t^2. n includes the padding, whose x is 0. Zeros are those with z - first <= span.
 */
#define BYTES(name, dt, is_signed, member)                                                   \
	static void name##_block(const void *data, size_t n, const void *ahead,              \
		const struct stats_eps *eps, struct stats_block *b)                          \
	{                                                                                    \
		const int64_t t = is_signed ? 128 : 0;                                       \
		const unsigned char *p = data;                                               \
		int64_t u = eps->u < 255 ? (int64_t)eps->u : 255;                            \
		int64_t first = t > u ? t - u : 0, end = t + u < 255 ? t + u : 255;          \
		vec flip = v_set_8(INT8_MIN), span = v_set_8((int8_t)(end - first));         \
		vec min = v_set_8(is_signed ? INT8_MAX : -1),                                \
		    max = v_set_8(is_signed ? INT8_MIN : 0);                                 \
		vec back = v_set_8((int8_t)-first);                                          \
		vec sum = v_set_64(0), sq = v_set_64(0);                                     \
		count others = NO_COUNT;                                                     \
		size_t i = 0;                                                                \
		struct tail tail;                                                            \
		int64_t s;                                                                   \
                                                                                             \
		if (n < 64) {                                                                \
			stats_scalar.block[dt](p, n, ahead, eps, b);                         \
			return;                                                              \
		}                                                                            \
		for (; i < n; i += 64, p += 64) {                                            \
			const unsigned char *last = p, *at = p;                              \
                                                                                             \
			if (i + 64 > n) {                                                    \
				tail_load(&tail, p, n - i);                                  \
				last = p - (i + 64 - n);                                     \
				at = tail.bytes;                                             \
			}                                                                    \
			fetch((const unsigned char *)ahead + i, 64);                         \
			UNROLL for (int k = 0; k < 64; k += V)                               \
			{                                                                    \
				vec z = v_load(at + k), y = v_load(last + k);                \
                                                                                             \
				z = is_signed ? v_xor(z, flip) : z;                          \
				min = is_signed ? v_min_8(y, min) : v_umin_8(y, min);        \
				max = is_signed ? v_max_8(y, max) : v_umax_8(y, max);        \
				sum = sum_8(sum, z);                                         \
				sq = sq_8(sq, z);                                            \
				z = is_signed ? v_add_8(z, back) : z;                        \
				others = v_above_8(others, z, span);                         \
			}                                                                    \
		}                                                                            \
		s = total_sum_8(sum) - (int64_t)i * t;                                       \
		*b = (struct stats_block){.zeros = (uint32_t)(n - v_total_8(others)),        \
			.min.member = is_signed ? v_least_8(min) : (uint8_t)v_uleast_8(min), \
			.max.member = is_signed ? v_most_8(max) : (uint8_t)v_umost_8(max),   \
			.sum.hi = (double)s,                                                 \
			.sq.hi = (double)(total_sq_8(sq) - 2 * t * s - (int64_t)i * t * t)}; \
	}

BYTES(int8, DT_INT8, 1, i)
BYTES(uint8, DT_UINT8, 0, u)

/*
 * 16 bits: exact, in integers. Unsigned: from sums over y to sums over x = y + t, with t = 2^15:
 * sum x = sum y + n t, sum x^2 = sum y^2 + 2 t sum y + n t^2. n includes the padding, whose x is 0.
 */
#define SHORTS(name, dt, is_signed)                                               \
	static void name##_block(const void *data, size_t n, const void *ahead,   \
		const struct stats_eps *eps, struct stats_block *b)               \
	{                                                                         \
		const int64_t t = is_signed ? 0 : 1 << 15;                        \
		const unsigned char *p = data;                                    \
		struct look_16 l = look_begin_16(eps, is_signed);                 \
		vec sum = v_set_64(0);                                            \
		struct squares sq = NO_SQUARES;                                   \
		int64_t s, seen;                                                  \
		size_t i = 0;                                                     \
		struct tail tail;                                                 \
                                                                                  \
		if (n < 32) {                                                     \
			stats_scalar.block[dt](p, n, ahead, eps, b);              \
			return;                                                   \
		}                                                                 \
		for (; i < n; i += 32, p += 64) {                                 \
			const unsigned char *last = p, *at = p;                   \
                                                                                  \
			if (i + 32 > n) {                                         \
				tail_load(&tail, p, (n - i) * 2);                 \
				last = p - (i + 32 - n) * 2;                      \
				at = tail.bytes;                                  \
			}                                                         \
			fetch((const unsigned char *)ahead + i * 2, 64);          \
			UNROLL for (int k = 0; k < 64; k += V)                    \
			{                                                         \
				vec y = v_load(at + k);                           \
                                                                                  \
				look_16(&l, last + k, at + k, is_signed);         \
				y = is_signed ? y : v_xor(y, l.flip);             \
				sum = sum_16(sum, y);                             \
				sq_16(&sq, y);                                    \
			}                                                         \
		}                                                                 \
		look_end_16(&l, b, n, is_signed);                                 \
		seen = (int64_t)i;                                                \
		s = total_sum_16(sum);                                            \
		b->sum.hi = (double)(s + seen * t);                               \
		b->sq.hi = (double)(total_sq_16(&sq) + 2 * t * s + seen * t * t); \
	}

SHORTS(int16, DT_INT16, 1)
SHORTS(uint16, DT_UINT16, 0)

/*
 * 32 and 64 bits: squares as double, in lanes. Sums of 32 bits are exact as double; those of 64 bits are added up as
 * halves, as in scalar.c: high of x with the top bit flipped if x is signed, so that it is not negative.
 */
#define WIDE(name, dt, bits, is_signed, load8)                                               \
	static void name##_block(const void *data, size_t n, const void *ahead,              \
		const struct stats_eps *eps, struct stats_block *b)                          \
	{                                                                                    \
		const unsigned char *p = data;                                               \
		const size_t size = bits / 8;                                                \
		struct look_##bits l = look_begin_##bits(eps, is_signed);                    \
		struct sums sums = NO_SUMS;                                                  \
		vec high = v_set_64(0), low = v_set_64(0), top = v_set_64(INT64_MIN);        \
		size_t i = 0;                                                                \
		struct tail tail;                                                            \
                                                                                             \
		if (n < 16) {                                                                \
			stats_scalar.block[dt](p, n, ahead, eps, b);                         \
			return;                                                              \
		}                                                                            \
		for (; i < n; i += 16, p += 16 * size) {                                     \
			const unsigned char *last = p, *at = p;                              \
                                                                                             \
			if (i + 16 > n) {                                                    \
				tail_load(&tail, p, (n - i) * size);                         \
				last = p - (i + 16 - n) * size;                              \
				at = tail.bytes;                                             \
			}                                                                    \
			fetch((const unsigned char *)ahead + i * size, 16 * size);           \
			add_lanes(&sums, load8, at, size, 0);                                \
			UNROLL for (size_t k = 0; k < 16 * size; k += V)                     \
			{                                                                    \
				look_##bits(&l, last + k, at + k, is_signed);                \
				if (bits == 64) {                                            \
					vec x = v_load(at + k);                              \
                                                                                             \
					low = v_add_64(low, v_and(x, v_set_64(UINT32_MAX))); \
					x = v_high(is_signed ? v_xor(x, top) : x);           \
					high = v_add_64(high, x);                            \
				}                                                            \
			}                                                                    \
		}                                                                            \
		look_end_##bits(&l, b, n, is_signed);                                        \
		if (bits == 64) {                                                            \
			int64_t flipped = is_signed ? (int64_t)i << 31 : 0;                  \
                                                                                             \
			b->sum.hi = (double)((int64_t)v_sum_64(high) - flipped) * 0x1p32;    \
			b->sum.lo = (double)v_sum_64(low);                                   \
		} else {                                                                     \
			b->sum.hi = fold(sums.s);                                            \
		}                                                                            \
		b->sq.hi = fold(sums.q);                                                     \
	}

WIDE(int32, DT_INT32, 32, 1, widen_i32)
WIDE(uint32, DT_UINT32, 32, 0, widen_u32)
WIDE(int64, DT_INT64, 64, 1, widen_i64)
WIDE(uint64, DT_UINT64, 64, 0, widen_u64)

/* Any byte but 0 is true: all figures follow from how many there are. */
static void bool_block(const void *data, size_t n, const void *ahead, const struct stats_eps *eps,
	struct stats_block *b)
{
	const unsigned char *p = data;
	vec none = v_set_8(0);
	count ones = NO_COUNT;
	size_t i = 0, trues;

	(void)ahead; /* so little to do that the CPU keeps far enough ahead by itself; fetching only slows it */

	for (; i + 64 <= n; i += 64, p += 64) {
		/* 1 > x as unsigned numbers: min(x, 1) is 0 */
		UNROLL for (int k = 0; k < 64; k += V) ones =
			v_count_8(ones, v_umin_8(v_load(p + k), v_set_8(1)), none);
	}
	trues = v_total_8(ones);
	for (; i < n; i++, p++)
		trues += *p != 0;
	*b = (struct stats_block){.min.u = trues == n, .max.u = trues > 0};
	b->zeros = (uint32_t)(eps->u ? n : n - trues);
	b->sum.hi = b->sq.hi = (double)trues;
}

#define SIMD_KERNELS(isa)                                                                         \
	{                                                                                         \
		.name = isa, .block[DT_BOOL] = bool_block, .block[DT_INT8] = int8_block,          \
		.block[DT_INT16] = int16_block, .block[DT_INT32] = int32_block,                   \
		.block[DT_INT64] = int64_block, .block[DT_UINT8] = uint8_block,                   \
		.block[DT_UINT16] = uint16_block, .block[DT_UINT32] = uint32_block,               \
		.block[DT_UINT64] = uint64_block, .block[DT_FLOAT8_E4M3FN] = float8_e4m3fn_block, \
		.block[DT_FLOAT8_E5M2] = float8_e5m2_block, .block[DT_BFLOAT16] = bfloat16_block, \
		.block[DT_FLOAT16] = float16_block, .block[DT_FLOAT32] = float32_block,           \
		.block[DT_FLOAT64] = float64_block,                                               \
	}

#endif
