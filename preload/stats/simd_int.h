/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels for integers; part of simd.h. Elements are handled as signed numbers: y = x, or for unsigned types y = x
 * - 2^(bits - 1), which is x with the top bit flipped.
 *
 * Zeros are elements with |x| <= u, that is 0 <= x + u <= 2u in unsigned arithmetic (which wraps); for unsigned types 0
 * <= x <= u. AVX2 has no unsigned comparison, but flipping the top bit of both sides makes it a signed one.
 */
#ifndef PROBE_STATS_SIMD_INT_H
#define PROBE_STATS_SIMD_INT_H

struct zero_range {
	/* y + shift > most, as signed numbers of the type: the element does not count as zero */
	int64_t shift;
	int64_t most;
};

INLINE struct zero_range zero_range(uint64_t u, unsigned bits, int is_signed)
{
	uint64_t top = (uint64_t)1 << (bits - 1), all = top - 1 + top;

	if (is_signed && u < top)
		return (struct zero_range){(int64_t)(u + top), (int64_t)(2 * u ^ top)};
	return (struct zero_range){0, (int64_t)((!is_signed && u < all ? u : all) ^ top)};
}

/*
 * Number of the n elements that count as zeros if eps is above 1. Otherwise only elements equal
 * to 0 do, which have been counted already.
 */
#define NEAR_ZERO(bits)                                                                 \
	static uint32_t near_zero_##bits(                                               \
		const unsigned char *p, size_t n, uint64_t u, int is_signed)            \
	{                                                                               \
		const size_t size = bits / 8, lanes = V / size;                         \
		struct zero_range z = zero_range(u, bits, is_signed);                   \
		vec flip = v_set_##bits(is_signed ? 0 : INT##bits##_MIN);               \
		vec shift = v_set_##bits((int##bits##_t)z.shift);                       \
		vec most = v_set_##bits((int##bits##_t)z.most), y;                      \
		const count none = NO_COUNT;                                            \
		uint64_t others = 0;                                                    \
		struct tail t;                                                          \
                                                                                        \
		for (size_t i = 0; i < n; i += lanes) {                                 \
			const unsigned char *at = p + i * size;                         \
                                                                                        \
			if (i + lanes > n) { /* zeros of the padding are not counted */ \
				tail_load(&t, at, (n - i) * size);                      \
				at = t.bytes;                                           \
			}                                                               \
			y = v_add_##bits(v_xor(v_load(at), flip), shift);               \
			others += v_total_##bits(v_count_##bits(none, y, most));        \
		}                                                                       \
		return (uint32_t)(n - others);                                          \
	}

NEAR_ZERO(8)
NEAR_ZERO(16)
NEAR_ZERO(32)
NEAR_ZERO(64)

struct look {
	vec min, max;
	count zeros;
};

/*
 * One step: the elements at `at` for sums and zeros, those at `last` for min and max. Usually
 * both are the same. In the last step the elements at `at` are padded with zeros, and `last` is
 * the last full register instead.
 */
typedef void step(void *state, const unsigned char *at, const unsigned char *last);

/* Handles bytes i to end at p; returns the position at which a full last step would end. */
INLINE size_t steps(const unsigned char *p, size_t i, size_t end, const unsigned char *ahead,
	size_t each, step *one, void *state)
{
	for (; i + each <= end; i += each) {
		fetch(ahead + i, each);
		one(state, p + i, p + i);
	}
	if (i < end) {
		struct tail t;

		tail_load(&t, p + i, end - i);
		one(state, t.bytes, p + end - each);
		i += each;
	}
	return i;
}

/*
 * 8 bits, exact; sums are over unsigned z: x of uint8, x + t of int8 with t = 128. sum x = sum z - n t,
 * sum x^2 = sum z^2 - 2 t sum x - n t^2. n includes the padding, whose x is 0.
 */
struct bytes {
	struct look l;
	vec sum, sq;
};

#define BYTES(name, dt, is_signed)                                                               \
	INLINE void name##_step(void *state, const unsigned char *at, const unsigned char *last) \
	{                                                                                        \
		struct bytes *s = state;                                                         \
		vec flip = v_set_8(INT8_MIN);                                                    \
                                                                                                 \
		UNROLL for (int k = 0; k < 64; k += V)                                           \
		{                                                                                \
			vec x = v_load(at + k), y = v_load(last + k);                            \
			vec z = is_signed ? v_xor(x, flip) : x;                                  \
                                                                                                 \
			s->l.min = is_signed ? v_min_8(y, s->l.min) : v_umin_8(y, s->l.min);     \
			s->l.max = is_signed ? v_max_8(y, s->l.max) : v_umax_8(y, s->l.max);     \
			s->l.zeros = v_zeros_8(s->l.zeros, x);                                   \
			s->sum = sum_8(s->sum, z);                                               \
			s->sq = sq_8(s->sq, z);                                                  \
		}                                                                                \
	}                                                                                        \
	static void name##_block(const void *p, size_t n, const void *ahead,                     \
		const struct stats_eps *eps, struct stats_block *b)                              \
	{                                                                                        \
		const int64_t t = is_signed ? 128 : 0;                                           \
		struct bytes s = {{v_set_8(is_signed ? INT8_MAX : -1),                           \
					  v_set_8(is_signed ? INT8_MIN : 0), NO_COUNT},          \
			v_set_64(0), v_set_64(0)};                                               \
		const count none = NO_COUNT;                                                     \
		size_t zeros = 0, i = 0;                                                         \
		int64_t sum, seen;                                                               \
                                                                                                 \
		if (n < 64) {                                                                    \
			stats_scalar.block[dt](p, n, ahead, eps, b);                             \
			return;                                                                  \
		}                                                                                \
		while (i < n) { /* 8-bit lanes can count at most one block at once */            \
			size_t end = n - i < STATS_BLOCK ? n : i + STATS_BLOCK;                  \
                                                                                                 \
			s.l.zeros = none;                                                        \
			i = steps(p, i, end, ahead, 64, name##_step, &s);                        \
			zeros += v_total_8(s.l.zeros) + end - i;                                 \
		}                                                                                \
		seen = (int64_t)i;                                                               \
		sum = total_sum_8(s.sum);                                                        \
		*b = (struct stats_block){                                                       \
			.min.i = is_signed ? v_least_8(s.l.min) : (uint8_t)v_uleast_8(s.l.min),  \
			.max.i = is_signed ? v_most_8(s.l.max) : (uint8_t)v_umost_8(s.l.max),    \
			.sq.hi = (double)(total_sq_8(s.sq, sum) - 2 * t * (sum - seen * t) -     \
					  seen * t * t),                                         \
			.sum.hi = (double)(sum - seen * t)};                                     \
		b->zeros = eps->u ? near_zero_8(p, n, eps->u, is_signed) : (uint32_t)zeros;      \
	}

BYTES(int8, DT_INT8, 1)
BYTES(uint8, DT_UINT8, 0)

/*
 * 16 bits: exact, in integers. Unsigned types: from sums over y to sums over x = y + t, with t = 2^15:
 *
 * sum x = sum y + n t, sum x^2 = sum y^2 + 2 t sum y + n t^2. n includes the padding, whose x is 0.
 */
struct shorts {
	struct look l;
	vec sum;
	struct squares sq;
};

#define SHORTS(name, dt, is_signed)                                                              \
	INLINE void name##_step(void *state, const unsigned char *at, const unsigned char *last) \
	{                                                                                        \
		struct shorts *s = state;                                                        \
		vec flip = v_set_16(is_signed ? 0 : INT16_MIN);                                  \
                                                                                                 \
		UNROLL for (int k = 0; k < 64; k += V)                                           \
		{                                                                                \
			vec x = v_load(at + k), y = v_xor(v_load(last + k), flip);               \
                                                                                                 \
			s->l.min = v_min_16(y, s->l.min);                                        \
			s->l.max = v_max_16(y, s->l.max);                                        \
			s->l.zeros = v_zeros_16(s->l.zeros, x);                                  \
			x = v_xor(x, flip);                                                      \
			s->sum = sum_16(s->sum, x);                                              \
			sq_16(&s->sq, x);                                                        \
		}                                                                                \
	}                                                                                        \
	static void name##_block(const void *p, size_t n, const void *ahead,                     \
		const struct stats_eps *eps, struct stats_block *b)                              \
	{                                                                                        \
		const int64_t t = is_signed ? 0 : 1 << 15;                                       \
		struct shorts s = {{v_set_16(INT16_MAX), v_set_16(INT16_MIN), NO_COUNT},         \
			v_set_64(0), NO_SQUARES};                                                \
		int64_t sum, seen;                                                               \
                                                                                                 \
		if (n < 32) {                                                                    \
			stats_scalar.block[dt](p, n, ahead, eps, b);                             \
			return;                                                                  \
		}                                                                                \
		seen = (int64_t)steps(p, 0, n * 2, ahead, 64, name##_step, &s) / 2;              \
		sum = total_sum_16(s.sum);                                                       \
		*b = (struct stats_block){.min.i = v_least_16(s.l.min) + t,                      \
			.max.i = v_most_16(s.l.max) + t,                                         \
			.sum.hi = (double)(sum + seen * t),                                      \
			.sq.hi = (double)(total_sq_16(&s.sq) + 2 * t * sum + seen * t * t)};     \
		b->zeros = eps->u ? near_zero_16(p, n, eps->u, is_signed)                        \
				  : (uint32_t)(v_total_16(s.l.zeros) + n - (size_t)seen);        \
	}

SHORTS(int16, DT_INT16, 1)
SHORTS(uint16, DT_UINT16, 0)

/*
 * 32 and 64 bits: squares as double, in lanes. Sums of 32-bit elements are exact as double. Sums
 * of 64-bit elements are added up modulo 2^64, and separately the upper halves of the elements
 * (of signed ones with the top bit flipped, so that they are not negative). The lower halves add
 * up to far less than 2^64, so their sum follows from the first total.
 */
struct wides {
	struct look l;
	struct sums sums;
	vec all, high;
};

#define WIDE(name, dt, bits, is_signed, load8)                                                    \
	INLINE void name##_step(void *state, const unsigned char *at, const unsigned char *last)  \
	{                                                                                         \
		struct wides *s = state;                                                          \
		const size_t size = bits / 8;                                                     \
		vec top = v_set_##bits(INT##bits##_MIN);                                          \
                                                                                                  \
		add_lanes(&s->sums, load8, at, size, 0);                                          \
		UNROLL for (size_t k = 0; k < 16 * size; k += V)                                  \
		{                                                                                 \
			vec x = v_load(at + k), y = v_load(last + k);                             \
                                                                                                  \
			y = is_signed ? y : v_xor(y, top);                                        \
			s->l.min = v_min_##bits(y, s->l.min);                                     \
			s->l.max = v_max_##bits(y, s->l.max);                                     \
			s->l.zeros = v_zeros_##bits(s->l.zeros, x);                               \
			if (bits == 64) {                                                         \
				s->all = v_add_64(s->all, x);                                     \
				x = is_signed ? v_xor(x, top) : x;                                \
				s->high = v_add_64(s->high, v_high(x));                           \
			}                                                                         \
		}                                                                                 \
	}                                                                                         \
	static void name##_block(const void *p, size_t n, const void *ahead,                      \
		const struct stats_eps *eps, struct stats_block *b)                               \
	{                                                                                         \
		const size_t size = bits / 8;                                                     \
		struct wides s = {                                                                \
			{v_set_##bits(INT##bits##_MAX), v_set_##bits(INT##bits##_MIN), NO_COUNT}, \
			no_sums(), v_set_64(0), v_set_64(0)};                                     \
		const uint64_t flip = is_signed ? 0 : (uint64_t)1 << (bits - 1);                  \
		size_t seen;                                                                      \
                                                                                                  \
		if (n < 16) {                                                                     \
			stats_scalar.block[dt](p, n, ahead, eps, b);                              \
			return;                                                                   \
		}                                                                                 \
		seen = steps(p, 0, n * size, ahead, 16 * size, name##_step, &s) / size;           \
		*b = (struct stats_block){                                                        \
			.min.u = (uint64_t)(int64_t)v_least_##bits(s.l.min) + flip,               \
			.max.u = (uint64_t)(int64_t)v_most_##bits(s.l.max) + flip,                \
			.sum.hi = fold(s.sums.s),                                                 \
			.sq.hi = fold(s.sums.q)};                                                 \
		if (bits == 64) {                                                                 \
			uint64_t high = v_sum_64(s.high) - (is_signed ? seen << 31 : 0);          \
                                                                                                  \
			b->sum.hi = (double)(int64_t)high * 0x1p32;                               \
			b->sum.lo = (double)(v_sum_64(s.all) - (high << 32));                     \
		}                                                                                 \
		b->zeros = eps->u ? near_zero_##bits(p, n, eps->u, is_signed)                     \
				  : (uint32_t)(v_total_##bits(s.l.zeros) + n - seen);             \
	}

WIDE(int32, DT_INT32, 32, 1, widen_i32)
WIDE(uint32, DT_UINT32, 32, 0, widen_u32)
WIDE(int64, DT_INT64, 64, 1, widen_i64)
WIDE(uint64, DT_UINT64, 64, 0, widen_u64)

/* Any byte except 0 is true: all results follow from the number of such bytes. */
static void bool_block(const void *data, size_t n, const void *ahead, const struct stats_eps *eps,
	struct stats_block *b)
{
	const unsigned char *p = data;
	const count none = NO_COUNT;
	size_t i = 0, trues = 0;

	/*
	 * there is so little work that the CPU prefetches far enough by itself; explicit
	 * prefetches only slow it down
	 */
	(void)ahead;

	while (i + 64 <= n) { /* as in BYTES */
		size_t end = n - i < STATS_BLOCK ? n : i + STATS_BLOCK;
		count zeros = none;

		trues += (end - i) / 64 * 64;
		for (; i + 64 <= end; i += 64, p += 64)
			UNROLL for (int k = 0; k < 64; k += V) zeros =
				v_zeros_8(zeros, v_load(p + k));
		trues -= v_total_8(zeros);
	}
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
