/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a tensor into blocks, combines the results of the kernels, and computes the final results,
 * in the same way for all variants; kernel.h explains the exactness.
 */
#include "stats/stats.h"

#include <errno.h>
#include <float.h>
#include <stdatomic.h>
#include <string.h>

#include "stats/convert.h"
#include "stats/kernel.h"
#include "stats/sum.h"

static _Atomic(const struct stats_kernels *) selected;
_Atomic(stats_share_fn *) stats_share;

/* If several threads come here first at the same time, they choose the same variant. */
static const struct stats_kernels *find_kernels(void)
{
	const struct stats_kernels *k = atomic_load_explicit(&selected, memory_order_relaxed);

	if (!k) {
		k = stats_get_variant(STATS_AUTO);
		atomic_store_explicit(&selected, k, memory_order_relaxed);
	}
	return k;
}

int stats_select(enum stats_isa isa)
{
	const struct stats_kernels *k = stats_get_variant(isa);

	atomic_store_explicit(
		&selected, k ? k : stats_get_variant(STATS_AUTO), memory_order_relaxed);
	return k ? 0 : -ENOTSUP;
}

const char *stats_selected(void)
{
	return find_kernels()->name;
}

/* Returns the largest integer below eps; 0 if there is none. */
static uint64_t find_integer_below(double eps)
{
	uint64_t whole;

	if (!(eps > 0))
		return 0;
	if (eps >= 0x1p64)
		return UINT64_MAX;
	whole = (uint64_t)eps;
	return (double)whole == eps ? whole - 1 : whole;
}

/*
 * Returns the number of magnitudes (exponent and mantissa as one number) below eps, for a float
 * type of at most 32 bits with `mant` bits of mantissa. `top` is the first magnitude that is not
 * a finite number.
 */
static uint64_t find_magnitudes_below(double eps, unsigned mant, int bias, uint32_t top)
{
	/* scales so that the smallest magnitude is 1 */
	uint64_t scale = (uint64_t)(1023 + bias - 1 + (int)mant) << 52;
	uint64_t bits, drop = 52 - mant;
	double least = eps * double_of(scale);

	if (!(eps > 0))
		return 0;
	if (least < (double)(1u << (mant + 1))) /* denormal, or of the smallest exponent */
		return find_integer_below(least) + 1;
	memcpy(&bits, &eps, sizeof(bits));
	bits = (bits - ((uint64_t)(1023 - bias) << 52) + ((uint64_t)1 << drop) - 1) >> drop;
	return bits < top ? bits : top;
}

static uint64_t find_whole_limit(double eps, enum dtype dt)
{
	switch (dt) {
	case DT_FLOAT64: /* not used */
		return 0;
	case DT_FLOAT32:
		return find_magnitudes_below(eps, 23, 127, 0x7f800000);
	case DT_BFLOAT16:
		return find_magnitudes_below(eps, 7, 127, 0x7f80);
	case DT_FLOAT16:
		return find_magnitudes_below(eps, 10, 15, 0x7c00);
	case DT_FLOAT8_E5M2:
		return find_magnitudes_below(eps, 2, 15, 0x7c);
	case DT_FLOAT8_E4M3FN:
		return find_magnitudes_below(eps, 3, 7, 0x7f);
	default:
		return find_integer_below(eps);
	}
}

/*
 * The result of stats_end() for a tensor of one block, whose squares are all in the middle range.
 */
static inline void describe_block(
	unsigned cls, double eps, const struct stats_block *b, uint64_t n, struct stats *out)
{
	double min, max, m = (b->sum.hi + b->sum.lo) / (double)n;

	out->n = n;
	out->zeros = eps > 0 ? b->zeros : 0;
	out->nans = out->infs = 0;
	out->min = b->min;
	out->max = b->max;
	if (cls == DTC_FLOAT) {
		out->min.f += 0.0;
		out->max.f += 0.0;
	}
	min = stats_value_as_double(cls, out->min);
	max = stats_value_as_double(cls, out->max);
	m = m < min ? min : m;
	out->mean = (m > max ? max : m) + 0.0;
	out->norm = stats_sqrt(b->sq.hi);
}

bool stats_measure_few(const void *p, uint64_t n, enum dtype dt, double eps, struct stats *out)
{
	const struct dtype_info *info = get_dtype_info(dt);
	struct stats_eps limit = {eps, 0};
	struct stats_block b;

	if (info->cls == DTC_NONE || info->component != dt || !n || n > STATS_FEW)
		return false;
	limit.u = find_whole_limit(eps, dt);
	stats_kernel_of(find_kernels(), dt)(p, n, p, &limit, &b);
	if (b.range != STATS_MID || b.nans | b.pinfs | b.ninfs)
		return false;
	describe_block(info->cls, eps, &b, n, out);
	return true;
}

_Static_assert(STATS_TINY == STATS_LANES, "no lane has more than one");

/*
 * stats_measure_tiny() for up to four numbers, such as a loss or a norm: the sums of
 * stats_scalar_tiny(), without a block in between. Missing ones add 0. Returns false if there is
 * NaN or Inf, or a square out of range.
 */
static inline __attribute__((always_inline)) bool measure_four(const unsigned char *p, unsigned n,
	double (*load)(const unsigned char *), unsigned size, double eps, struct stats *out)
{
	double x[4], top, square, sum, min, max, m;
	unsigned zeros;

	x[0] = load(p);
	min = max = x[0];
	sum = x[0] + 0.0; /* not -0 */
	square = x[0] * x[0];
	zeros = __builtin_fabs(x[0]) < eps;
	if (n > 1) {
		x[1] = load(p + size);
		min = min < x[1] ? min : x[1];
		max = max > x[1] ? max : x[1];
		zeros += __builtin_fabs(x[1]) < eps;
		if (n > 2) {
			double s[2] = {sum, x[1] + 0.0}, q[2] = {square, x[1] * x[1]};

			for (unsigned i = 2; i < n; i++) {
				x[i] = load(p + (size_t)i * size);
				s[i & 1] += x[i];
				q[i & 1] += x[i] * x[i];
				min = min < x[i] ? min : x[i];
				max = max > x[i] ? max : x[i];
				zeros += __builtin_fabs(x[i]) < eps;
			}
			sum = s[0] + s[1];
			square = q[0] + q[1];
		} else {
			sum += x[1];
			square += x[1] * x[1];
		}
	}
	top = -min > max ? -min : max;
	if (!(square <= DBL_MAX && top <= STATS_MID_MAX && (top >= STATS_MID_MIN || top == 0)))
		return false;
	m = sum / n;
	out->n = n;
	out->zeros = zeros;
	out->nans = out->infs = 0;
	out->min.f = min + 0.0;
	out->max.f = max + 0.0;
	m = m < out->min.f ? out->min.f : m;
	out->mean = (m > out->max.f ? out->max.f : m) + 0.0;
	out->norm = stats_sqrt(square);
	return true;
}

/* A function of its own, because the block needs a frame. */
__attribute__((noinline)) static bool measure_tiny_block(
	const void *p, uint64_t n, enum dtype dt, double eps, struct stats *out)
{
	unsigned cls = get_dtype_info(dt)->cls;
	struct stats_eps limit = {eps, cls == DTC_FLOAT ? 0 : find_integer_below(eps)};
	struct stats_block b;

	if (!n || n > STATS_TINY || !stats_scalar_tiny(p, n, dt, &limit, &b))
		return false;
	describe_block(cls, eps, &b, n, out);
	return true;
}

bool stats_measure_tiny(const void *p, uint64_t n, enum dtype dt, double eps, struct stats *out)
{
	if (n - 1 < 4 && dt == DT_FLOAT32)
		return measure_four(p, (unsigned)n, load_f32, 4, eps, out);
	if (n - 1 < 4 && dt == DT_FLOAT64)
		return measure_four(p, (unsigned)n, load_f64, 8, eps, out);
	return measure_tiny_block(p, n, dt, eps, out);
}

int stats_begin(struct stats_acc *a, enum dtype dt, double eps)
{
	const struct dtype_info *info = get_dtype_info(dt);

	memset(a, 0, sizeof(*a));
	a->cls = info->cls;
	if (a->cls == DTC_NONE)
		return -ENOTSUP;
	a->kernel = stats_kernel_of(find_kernels(), dt);
	a->packed = info->component == DT_OTHER;
	a->size = a->packed ? 1 : get_dtype_info(info->component)->size;
	a->parts = info->size / a->size;
	a->eps.f = eps;
	a->eps.u = find_whole_limit(eps, info->component);
	if (a->cls == DTC_FLOAT) {
		a->min.f = __builtin_inf();
		a->max.f = -__builtin_inf();
	} else if (a->cls == DTC_SIGNED) {
		a->min.i = INT64_MAX;
		a->max.i = INT64_MIN;
	} else {
		a->min.u = UINT64_MAX;
		a->max.u = 0;
	}
	return 0;
}

void stats_combine(struct stats_acc *a, const struct stats_block *b)
{
	struct stats_sum *sum = &a->sum, *sq = &a->sq;

	if (b->range == STATS_BIG) {
		sum = &a->sum_big;
		sq = &a->sq_big;
	} else if (b->range == STATS_SMALL) {
		sq = &a->sq_small;
	}
	a->nans += b->nans;
	a->pinfs += b->pinfs;
	a->ninfs += b->ninfs;
	if (a->eps.f > 0)
		a->zeros += b->zeros;
	if (a->cls == DTC_FLOAT) {
		a->min.f = b->min.f < a->min.f ? b->min.f : a->min.f;
		a->max.f = b->max.f > a->max.f ? b->max.f : a->max.f;
	} else if (a->cls == DTC_SIGNED) {
		a->min.i = b->min.i < a->min.i ? b->min.i : a->min.i;
		a->max.i = b->max.i > a->max.i ? b->max.i : a->max.i;
	} else {
		a->min.u = b->min.u < a->min.u ? b->min.u : a->min.u;
		a->max.u = b->max.u > a->max.u ? b->max.u : a->max.u;
	}
	stats_sum_add(sum, b->sum.hi);
	stats_sum_add(sq, b->sq.hi);
	if (b->sum.lo != 0)
		stats_sum_add(sum, b->sum.lo);
}

void stats_add_piece(struct stats_acc *a, const void *p, uint64_t n, const void *next)
{
	uint64_t bytes = n * a->parts * a->size, at = 0;
	uint64_t most = a->size == 1 && a->cls != DTC_FLOAT ? STATS_BYTES : STATS_BLOCK * a->size;
	/* A piece shorter than this distance is followed by another whole piece. */
	uint64_t lead = bytes < STATS_FAR ? bytes : STATS_FAR;
	stats_share_fn *share = atomic_load_explicit(&stats_share, memory_order_acquire);
	struct stats_block b;

	if (__builtin_expect(share != NULL, 0) && share(a, p, bytes, a->n * a->size)) {
		a->n += n * a->parts;
		return;
	}
	a->n += n * a->parts;
	while (at < bytes) {
		uint64_t len = most < bytes - at ? most : bytes - at;
		const unsigned char *ahead = (const unsigned char *)p + at;

		if (at + lead < bytes)
			ahead += lead;
		else if (next)
			ahead = (const unsigned char *)next + (at + lead - bytes);
		a->kernel((const unsigned char *)p + at, len / a->size, ahead, &a->eps, &b);
		stats_combine(a, &b);
		if (a->add_to_checksum)
			a->checksum = a->add_to_checksum(a->checksum, (const unsigned char *)p + at,
				(size_t)len, a->n * a->size - bytes + at);
		at += len;
	}
}

void stats_add(struct stats_acc *a, const void *p, uint64_t n)
{
	stats_add_piece(a, p, n, NULL);
}

/* n: number of elements that are not NaN, at least 1. */
static double compute_mean(const struct stats_acc *a, double n)
{
	double min = stats_value_as_double(a->cls, a->min),
	       max = stats_value_as_double(a->cls, a->max);
	struct stats_sum total = a->sum_big;
	double m;

	if (a->pinfs && a->ninfs)
		return __builtin_nan("");
	if (a->pinfs || a->ninfs)
		return a->pinfs ? __builtin_inf() : -__builtin_inf();
	if (total.hi == 0) {
		m = a->sum.hi / n;
	} else {
		stats_sum_add(&total, a->sum.hi * STATS_DOWN);
		m = total.hi / n * STATS_UP;
	}
	/*
	 * Rounding must not move the mean past min or max: not to Inf if all elements are
	 * DBL_MAX.
	 */
	if (m < min)
		m = min;
	if (m > max)
		m = max;
	return m + 0.0; /* never -0 */
}

static double compute_norm(const struct stats_acc *a)
{
	struct stats_sum total = a->sq;

	if (a->pinfs || a->ninfs)
		return __builtin_inf();
	if (a->sq_big.hi > 0) {
		/* Compared with a block of the big range, the small range is negligible. */
		total = a->sq_big;
		stats_sum_add(&total, a->sq.hi * STATS_DOWN * STATS_DOWN);
		return stats_sqrt(total.hi) * STATS_UP;
	}
	if (a->sq.hi > 0) {
		stats_sum_add(&total, a->sq_small.hi * STATS_DOWN * STATS_DOWN);
		return stats_sqrt(total.hi);
	}
	return stats_sqrt(a->sq_small.hi) * STATS_DOWN;
}

void stats_end(const struct stats_acc *a, struct stats *out)
{
	memset(out, 0, sizeof(*out));
	if (!a->n)
		return;
	out->n = a->n << a->packed;
	out->zeros = a->zeros;
	out->nans = a->nans;
	out->infs = a->pinfs + a->ninfs;
	if (a->nans == out->n) {
		out->min.f = out->max.f = out->mean = out->norm = __builtin_nan("");
		return;
	}
	out->min = a->min;
	out->max = a->max;
	if (a->cls == DTC_FLOAT) {
		/* -0 becomes +0: the result must not depend on which zero came first. */
		out->min.f += 0.0;
		out->max.f += 0.0;
	}
	out->mean = compute_mean(a, (double)(out->n - a->nans));
	out->norm = compute_norm(a);
}
