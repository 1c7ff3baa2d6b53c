/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar variant: plain C for every CPU, and the reference for the SIMD variants. */
#include <float.h>

#include "stats/convert.h"
#include "stats/kernel.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * Elements are converted to double one chunk at a time, so that all other code exists once, for
 * double. A chunk is small because it is on the stack of a thread of the job.
 */
#define CHUNK 256
_Static_assert(CHUNK % STATS_LANES == 0, "each chunk begins with lane 0");

typedef void convert(double *x, const unsigned char *p, size_t n);

#define CONVERT(name, size, load)                                     \
	static void name(double *x, const unsigned char *p, size_t n) \
	{                                                             \
		for (size_t i = 0; i < n; i++)                        \
			x[i] = load(p + i * (size));                  \
	}

CONVERT(from_e4m3fn, 1, load_e4m3fn)
CONVERT(from_e5m2, 1, load_e5m2)
CONVERT(from_e8m0fnu, 1, load_e8m0fnu)
CONVERT(from_e4m3fnuz, 1, load_e4m3fnuz)
CONVERT(from_e5m2fnuz, 1, load_e5m2fnuz)
CONVERT(from_bf16, 2, load_bf16)
CONVERT(from_f16, 2, load_f16)
CONVERT(from_f32, 4, load_f32)
CONVERT(from_f64, 8, load_f64)

/* Converts n numbers, where n is even: each byte contains two. */
static void from_e2m1fn(double *x, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		x[2 * i] = e2m1_of(p[i]);
		x[2 * i + 1] = e2m1_of(p[i] >> 4);
	}
}

INLINE double smaller(double a, double b)
{
	return a < b ? a : b;
}

INLINE double larger(double a, double b)
{
	return a > b ? a : b;
}

struct lanes {
	double sum[STATS_LANES], sq[STATS_LANES];
};

/*
 * Reads the chunk once per four lanes: their accumulators fit into registers, and four independent chains hide the
 * latency of an addition.
 */
static void sum_chunk(struct lanes *l, const double *x, size_t n)
{
	for (size_t g = 0; g < STATS_LANES; g += 4) {
		double *s = l->sum + g, *q = l->sq + g;
		double s0 = s[0], s1 = s[1], s2 = s[2], s3 = s[3];
		double q0 = q[0], q1 = q[1], q2 = q[2], q3 = q[3];
		size_t i;

		for (i = g; i + 3 < n; i += STATS_LANES) {
			s0 += x[i];
			s1 += x[i + 1];
			s2 += x[i + 2];
			s3 += x[i + 3];
			q0 += x[i] * x[i];
			q1 += x[i + 1] * x[i + 1];
			q2 += x[i + 2] * x[i + 2];
			q3 += x[i + 3] * x[i + 3];
		}
		s[0] = s0, s[1] = s1, s[2] = s2, s[3] = s3;
		q[0] = q0, q[1] = q1, q[2] = q2, q[3] = q3;
		for (; i < n; i++) { /* at most three */
			l->sum[i % STATS_LANES] += x[i];
			l->sq[i % STATS_LANES] += x[i] * x[i];
		}
	}
}

/* Folds in the same order as wide registers: the upper half is added to the lower half. */
static double fold(double *lane)
{
	for (unsigned half = STATS_LANES / 2; half; half /= 2)
		for (unsigned j = 0; j < half; j++)
			lane[j] += lane[j + half];
	return lane[0];
}

/* Min, max and zeros of the elements that are not NaN, combined with those in *b. */
static void bound_chunk(struct stats_block *b, const double *x, size_t n, double eps)
{
	double min0 = b->min.f, min1 = min0, min2 = min0, min3 = min0;
	double max0 = b->max.f, max1 = max0, max2 = max0, max3 = max0;
	uint32_t zeros = 0;
	size_t i;

	for (i = 0; i + 3 < n; i += 4) {
		min0 = smaller(min0, x[i]);
		min1 = smaller(min1, x[i + 1]);
		min2 = smaller(min2, x[i + 2]);
		min3 = smaller(min3, x[i + 3]);
		max0 = larger(max0, x[i]);
		max1 = larger(max1, x[i + 1]);
		max2 = larger(max2, x[i + 2]);
		max3 = larger(max3, x[i + 3]);
		zeros += __builtin_fabs(x[i]) < eps;
		zeros += __builtin_fabs(x[i + 1]) < eps;
		zeros += __builtin_fabs(x[i + 2]) < eps;
		zeros += __builtin_fabs(x[i + 3]) < eps;
	}
	for (; i < n; i++) {
		min0 = smaller(min0, x[i]);
		max0 = larger(max0, x[i]);
		zeros += __builtin_fabs(x[i]) < eps;
	}
	b->min.f = smaller(smaller(min0, min1), smaller(min2, min3));
	b->max.f = larger(larger(max0, max1), larger(max2, max3));
	b->zeros += zeros;
}

/* Counts NaN and Inf. Returns the largest finite |x|, at least `top`. */
static double classify_chunk(
	struct stats_block *b, const double *x, size_t n, double eps, double top)
{
	for (size_t i = 0; i < n; i++) {
		double abs = __builtin_fabs(x[i]);

		/*
		 * Comparisons with NaN are false: it counts as not zero and becomes neither min
		 * nor max.
		 */
		b->nans += x[i] != x[i];
		b->pinfs += x[i] > DBL_MAX;
		b->ninfs += x[i] < -DBL_MAX;
		b->zeros += abs < eps;
		b->min.f = smaller(x[i], b->min.f);
		b->max.f = larger(x[i], b->max.f);
		if (abs <= DBL_MAX)
			top = larger(abs, top);
	}
	return top;
}

static size_t chunk_length(size_t n, size_t at)
{
	return n - at < CHUNK ? n - at : CHUNK;
}

INLINE void empty_block(struct stats_block *b)
{
	*b = (struct stats_block){.min.f = __builtin_inf(), .max.f = -__builtin_inf()};
}

/*
 * Measures any block: first its min, max and counts, then the sums of its finite elements, in the
 * range that suits the largest.
 */
static void careful_block(const unsigned char *p, size_t n, size_t size, convert *conv, double eps,
	struct stats_block *b)
{
	struct lanes l = {{0}, {0}};
	double x[CHUNK], top = 0, scale = 1;

	empty_block(b);
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t len = chunk_length(n, at);

		conv(x, p + at * size, len);
		top = classify_chunk(b, x, len, eps, top);
	}
	if (top > STATS_MID_MAX) {
		b->range = STATS_BIG;
		scale = STATS_DOWN;
	} else if (top < STATS_MID_MIN && top > 0) {
		b->range = STATS_SMALL;
		scale = STATS_UP;
	}
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t len = chunk_length(n, at);

		conv(x, p + at * size, len);
		/*
		 * Elements are compared with `top`, instead of tested for being finite, because
		 * the job may be writing to the tensor at the same time.
		 */
		for (size_t i = 0; i < len; i++)
			x[i] = __builtin_fabs(x[i]) <= top ? x[i] * scale : 0;
		sum_chunk(&l, x, len);
	}
	b->sum.hi = fold(l.sum);
	b->sq.hi = fold(l.sq);
	if (b->range == STATS_SMALL)
		/* multiplying back is exact: the result equals the sum without scaling */
		b->sum.hi *= STATS_DOWN;
}

/* Measures a block in which no lane has more than one element: the same sums, without loops over empty lanes. */
INLINE void sum_few(struct stats_block *b, const double *x, size_t n)
{
	double s[STATS_LANES], q[STATS_LANES];
	size_t lanes = n <= 4 ? 4 : STATS_LANES;

	for (size_t i = 0; i < lanes; i++)
		s[i] = q[i] = 0;
	for (size_t i = 0; i < n; i++) {
		s[i] += x[i]; /* not -0 */
		q[i] = x[i] * x[i];
	}
	if (n <= 4) {
		b->sum.hi = (s[0] + s[2]) + (s[1] + s[3]);
		b->sq.hi = (q[0] + q[2]) + (q[1] + q[3]);
		return;
	}
	b->sum.hi = fold(s);
	b->sq.hi = fold(q);
}

/* True for a block without NaN and Inf, and without a square out of range. */
INLINE bool is_usual_block(const struct stats_block *b)
{
	double top = larger(-b->min.f, b->max.f);

	return b->sq.hi <= DBL_MAX && top <= STATS_MID_MAX && (top >= STATS_MID_MIN || top == 0);
}

/*
 * Measures a block as if it had only finite elements and no square out of range, as usual; if
 * that turns out to be wrong, measures it again. NaN and Inf need no test: they make the sum of
 * squares NaN or Inf.
 */
static void float_block(const unsigned char *p, size_t n, size_t size, convert *conv,
	const struct stats_eps *eps, struct stats_block *b)
{
	double x[CHUNK];

	empty_block(b);
	if (n <= STATS_LANES) {
		conv(x, p, n);
		sum_few(b, x, n);
		bound_chunk(b, x, n, eps->f);
	} else {
		struct lanes l = {{0}, {0}};

		for (size_t at = 0; at < n; at += CHUNK) {
			size_t len = chunk_length(n, at);

			conv(x, p + at * size, len);
			sum_chunk(&l, x, len);
			bound_chunk(b, x, len, eps->f);
		}
		b->sum.hi = fold(l.sum);
		b->sq.hi = fold(l.sq);
	}
	if (!is_usual_block(b))
		careful_block(p, n, size, conv, eps->f, b);
}

/* Integers of up to 16 bits, as int64_t: all arithmetic is in integers, so it is exact. */
typedef int64_t load_int(const unsigned char *p);

INLINE void int_block(const unsigned char *p, size_t n, size_t size, load_int *load,
	const struct stats_eps *eps, struct stats_block *b)
{
	int64_t min = INT64_MAX, max = INT64_MIN, sum = 0, sq = 0;
	uint64_t limit = eps->u;
	uint32_t zeros = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t x = load(p + i * size);

		min = x < min ? x : min;
		max = x > max ? x : max;
		sum += x;
		sq += x * x;
		zeros += (uint64_t)(x < 0 ? -x : x) <= limit;
	}
	*b = (struct stats_block){.zeros = zeros};
	b->min.i = min; /* of an unsigned type: never negative, so it has the same bits as min.u */
	b->max.i = max;
	b->sum = (struct stats_sum){(double)sum, 0};
	b->sq = (struct stats_sum){(double)sq, 0};
}

/* 32 bits: squares have up to 64 bits and are all positive, so double is accurate enough. */
INLINE void mid_block(const unsigned char *p, size_t n, load_int *load, const struct stats_eps *eps,
	struct stats_block *b)
{
	int64_t min = INT64_MAX, max = INT64_MIN, sum = 0;
	uint64_t limit = eps->u;
	double sq[STATS_LANES] = {0};
	uint32_t zeros = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t x = load(p + i * 4);
		double d = (double)x;

		min = x < min ? x : min;
		max = x > max ? x : max;
		sum += x;
		sq[i % STATS_LANES] += d * d;
		zeros += (uint64_t)(x < 0 ? -x : x) <= limit;
	}
	*b = (struct stats_block){.zeros = zeros};
	b->min.i = min;
	b->max.i = max;
	b->sum = (struct stats_sum){(double)sum, 0};
	b->sq = (struct stats_sum){fold(sq), 0};
}

/*
 * 64-bit integers. Their halves are summed separately and exactly: a double containing a whole
 * element would lose the digits that remain when large elements cancel. Squares are all positive,
 * so double is accurate enough for them.
 */
INLINE void wide_block(const unsigned char *p, size_t n, int is_signed, const struct stats_eps *eps,
	struct stats_block *b)
{
	/* makes signed numbers compare like unsigned ones */
	const uint64_t flip = is_signed ? (uint64_t)1 << 63 : 0;
	uint64_t min = UINT64_MAX, max = 0, low = 0, limit = eps->u;
	double sq[STATS_LANES] = {0};
	uint32_t zeros = 0;
	int64_t high = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = load_u64(p + i * sizeof(x));
		uint64_t mag = is_signed && x >> 63 ? -x : x;
		double d = (double)(int64_t)(mag >> 32) * 0x1p32 + (double)(int64_t)(uint32_t)mag;

		min = (x ^ flip) < min ? x ^ flip : min;
		max = (x ^ flip) > max ? x ^ flip : max;
		high += is_signed ? (int64_t)x >> 32 : (int64_t)(x >> 32);
		low += (uint32_t)x;
		sq[i % STATS_LANES] += d * d;
		zeros += mag <= limit;
	}
	*b = (struct stats_block){.zeros = zeros};
	b->min.u = min ^ flip;
	b->max.u = max ^ flip;
	b->sum = (struct stats_sum){(double)high * 0x1p32, (double)low};
	b->sq = (struct stats_sum){fold(sq), 0};
}

INLINE int64_t load_bool(const unsigned char *p)
{
	return *p != 0;
}

INLINE int64_t load_i8(const unsigned char *p)
{
	return (int8_t)*p;
}

INLINE int64_t load_i16(const unsigned char *p)
{
	return (int16_t)load_u16(p);
}

INLINE int64_t load_i32(const unsigned char *p)
{
	return (int32_t)load_u32(p);
}

INLINE int64_t load_c8(const unsigned char *p)
{
	return *p;
}

INLINE int64_t load_c16(const unsigned char *p)
{
	return load_u16(p);
}

INLINE int64_t load_c32(const unsigned char *p)
{
	return load_u32(p);
}

#define KERNEL(name, block, ...)                                                                  \
	static void name(const void *p, size_t n, const void *ahead, const struct stats_eps *eps, \
		struct stats_block *b)                                                            \
	{                                                                                         \
		(void)ahead;                                                                      \
		block(p, n, __VA_ARGS__, eps, b);                                                 \
	}

KERNEL(bool_kernel, int_block, 1, load_bool)
KERNEL(int8_kernel, int_block, 1, load_i8)
KERNEL(int16_kernel, int_block, 2, load_i16)
KERNEL(int32_kernel, mid_block, load_i32)
KERNEL(int64_kernel, wide_block, 1)
KERNEL(uint8_kernel, int_block, 1, load_c8)
KERNEL(uint16_kernel, int_block, 2, load_c16)
KERNEL(uint32_kernel, mid_block, load_c32)
KERNEL(uint64_kernel, wide_block, 0)
KERNEL(float8_e4m3fn_kernel, float_block, 1, from_e4m3fn)
KERNEL(float8_e5m2_kernel, float_block, 1, from_e5m2)
KERNEL(float8_e8m0fnu_kernel, float_block, 1, from_e8m0fnu)
KERNEL(float8_e4m3fnuz_kernel, float_block, 1, from_e4m3fnuz)
KERNEL(float8_e5m2fnuz_kernel, float_block, 1, from_e5m2fnuz)
KERNEL(bfloat16_kernel, float_block, 2, from_bf16)
KERNEL(float16_kernel, float_block, 2, from_f16)
KERNEL(float32_kernel, float_block, 4, from_f32)
KERNEL(float64_kernel, float_block, 8, from_f64)

/*
 * The type has no NaN or Inf, and sums of multiples of 1/2 and 1/4 are exact: no lanes and no
 * second pass are needed.
 */
static void float4_e2m1fn_x2_kernel(const void *p, size_t n, const void *ahead,
	const struct stats_eps *eps, struct stats_block *b)
{
	double x[CHUNK], sum = 0, sq = 0;

	(void)ahead;
	empty_block(b);
	for (size_t at = 0; at < 2 * n; at += CHUNK) {
		size_t len = chunk_length(2 * n, at);

		from_e2m1fn(x, (const unsigned char *)p + at / 2, len);
		bound_chunk(b, x, len, eps->f);
		for (size_t i = 0; i < len; i++) {
			sum += x[i];
			sq += x[i] * x[i];
		}
	}
	b->sum.hi = sum;
	b->sq.hi = sq;
}

bool stats_scalar_tiny(
	const void *p, size_t n, enum dtype dt, const struct stats_eps *eps, struct stats_block *b)
{
	double x[STATS_LANES];

	switch (dt) {
	case DT_FLOAT64:
		from_f64(x, p, n);
		break;
	case DT_FLOAT32:
		from_f32(x, p, n);
		break;
	case DT_BFLOAT16:
		from_bf16(x, p, n);
		break;
	case DT_INT32:
		int32_kernel(p, n, p, eps, b);
		return true;
	case DT_INT64:
		int64_kernel(p, n, p, eps, b);
		return true;
	default:
		return false;
	}
	empty_block(b);
	sum_few(b, x, n);
	bound_chunk(b, x, n, eps->f);
	return is_usual_block(b);
}

const struct stats_kernels stats_scalar = {
	.name = "scalar",
	.block[DT_BOOL] = bool_kernel,
	.block[DT_INT8] = int8_kernel,
	.block[DT_INT16] = int16_kernel,
	.block[DT_INT32] = int32_kernel,
	.block[DT_INT64] = int64_kernel,
	.block[DT_UINT8] = uint8_kernel,
	.block[DT_UINT16] = uint16_kernel,
	.block[DT_UINT32] = uint32_kernel,
	.block[DT_UINT64] = uint64_kernel,
	.block[DT_FLOAT8_E4M3FN] = float8_e4m3fn_kernel,
	.block[DT_FLOAT8_E5M2] = float8_e5m2_kernel,
	.block[DT_FLOAT8_E8M0FNU] = float8_e8m0fnu_kernel,
	.block[DT_FLOAT8_E4M3FNUZ] = float8_e4m3fnuz_kernel,
	.block[DT_FLOAT8_E5M2FNUZ] = float8_e5m2fnuz_kernel,
	.block[DT_FLOAT4_E2M1FN_X2] = float4_e2m1fn_x2_kernel,
	.block[DT_BFLOAT16] = bfloat16_kernel,
	.block[DT_FLOAT16] = float16_kernel,
	.block[DT_FLOAT32] = float32_kernel,
	.block[DT_FLOAT64] = float64_kernel,
};
