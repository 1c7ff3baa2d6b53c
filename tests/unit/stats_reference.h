/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics the slow and obvious way, in long double, from the bits of the formats as their standards define them:
 * the truth that the tests of preload/stats compare with. Shares no code with it. And tensors to try: fill_tensor().
 *
 * long double has 64 (x86) or 113 (aarch64) bits and an exponent of 15 bits: squares of float64 stay in range, and
 * sums of 10^5 elements are good to 10^-14.
 */
#ifndef PROBE_TESTS_STATS_REFERENCE_H
#define PROBE_TESTS_STATS_REFERENCE_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "terms/dtype.h"
#include "stats/stats.h"

struct reference {
	uint64_t n, zeros, nans, infs;
	long double min, max, mean, norm;
	long double
		mean_abs; /* of the finite elements: what the error of the mean is measured with */
};

struct float_format {
	unsigned exp_bits, mant_bits;
	int has_inf;
};

static inline struct float_format float_format(unsigned dt)
{
	switch (dt) {
	case DT_FLOAT8_E4M3FN:
		return (struct float_format){4, 3, 0};
	case DT_FLOAT8_E5M2:
		return (struct float_format){5, 2, 1};
	case DT_BFLOAT16:
		return (struct float_format){8, 7, 1};
	case DT_FLOAT16:
		return (struct float_format){5, 10, 1};
	case DT_FLOAT32:
		return (struct float_format){8, 23, 1};
	default:
		return (struct float_format){11, 52, 1};
	}
}

static inline long double decode_float(struct float_format f, uint64_t bits)
{
	uint64_t ones = (1ull << f.mant_bits) - 1, top = (1ull << f.exp_bits) - 1;
	uint64_t mant = bits & ones, exp = bits >> f.mant_bits & top;
	int bias = (1 << (f.exp_bits - 1)) - 1;
	long double v;

	if (exp == top && (f.has_inf ? mant != 0 : mant == ones))
		return NAN;
	if (exp == top && f.has_inf)
		v = INFINITY;
	else if (exp)
		v = ldexpl((long double)(mant | 1ull << f.mant_bits),
			(int)exp - bias - (int)f.mant_bits);
	else
		v = ldexpl((long double)mant, 1 - bias - (int)f.mant_bits);
	return bits >> (f.exp_bits + f.mant_bits) & 1 ? -v : v;
}

static inline uint64_t bits_at(const unsigned char *p, unsigned size)
{
	uint64_t bits = 0;

	for (unsigned i = size; i--;)
		bits = bits << 8 | p[i]; /* little endian, as all supported machines are */
	return bits;
}

/* OCP's scale of MX formats; the types of AMD, in which 0x80 is NaN and the bias one higher than IEEE's. */
static inline long double decode_byte(unsigned dt, unsigned bits)
{
	int mant_bits = dt == DT_FLOAT8_E4M3FNUZ ? 3 : 2, exp = (int)(bits & 0x7f) >> mant_bits;
	long double mant = bits & ((1u << mant_bits) - 1), one = 1 << mant_bits, v;

	if (dt == DT_FLOAT8_E8M0FNU)
		return bits == 0xff ? NAN : ldexpl(1, (int)bits - 127);
	if (bits == 0x80)
		return NAN;
	v = exp ? 1 + mant / one : 2 * mant / one;
	return ldexpl(bits & 0x80 ? -v : v, exp - (dt == DT_FLOAT8_E4M3FNUZ ? 8 : 16));
}

/* The n-th number of a tensor of float4_e2m1fn_x2. */
static inline long double decode_half_byte(const unsigned char *p, uint64_t n)
{
	static const long double numbers[] = {0, 0.5L, 1, 1.5L, 2, 3, 4, 6};
	unsigned bits = n & 1 ? p[n / 2] >> 4 : p[n / 2] & 15;

	return bits & 8 ? -numbers[bits & 7] : numbers[bits & 7];
}

static inline int is_byte_float(unsigned dt)
{
	return dt >= DT_FLOAT8_E8M0FNU && dt <= DT_FLOAT8_E5M2FNUZ;
}

/* Component dtypes only. */
static inline long double decode(unsigned dt, const unsigned char *p)
{
	unsigned size = get_dtype_info(dt)->size;
	uint64_t bits = bits_at(p, size);

	if (is_byte_float(dt))
		return decode_byte(dt, (unsigned)bits);
	if (dt == DT_BOOL)
		return bits != 0;
	if (get_dtype_info(dt)->cls == DTC_UNSIGNED)
		return (long double)bits;
	if (get_dtype_info(dt)->cls == DTC_SIGNED) {
		bits <<= 64 - 8 * size;
		return (long double)((int64_t)bits >> (64 - 8 * size));
	}
	return decode_float(float_format(dt), bits);
}

/* n elements of dtype dt, complex ones included. */
static inline void ref_measure(
	unsigned dt, const void *data, uint64_t n, double eps, struct reference *r)
{
	int halves = dt == DT_FLOAT4_E2M1FN_X2;
	unsigned comp = get_dtype_info(dt)->component,
		 size = halves ? 1 : get_dtype_info(comp)->size;
	const unsigned char *p = data;
	long double sum = 0, sq = 0, abs = 0;
	uint64_t finite = 0;

	*r = (struct reference){.min = INFINITY, .max = -INFINITY};
	n *= halves ? 2 : get_dtype_info(dt)->size / size;
	r->n = n;
	for (uint64_t i = 0; i < n; i++) {
		long double x = halves ? decode_half_byte(p, i) : decode(comp, p + i * size);

		r->zeros += fabsl(x) < (long double)eps;
		if (isnan(x)) {
			r->nans++;
			continue;
		}
		r->min = x < r->min ? x : r->min;
		r->max = x > r->max ? x : r->max;
		sum += x;
		sq += x * x;
		if (isinf(x)) {
			r->infs++;
			continue;
		}
		finite++;
		abs += fabsl(x);
	}
	r->mean = sum / (long double)(r->n - r->nans);
	r->norm = sqrtl(sq);
	r->mean_abs = finite ? abs / (long double)finite : 0;
	if (r->nans == r->n)
		r->min = r->max = r->mean = r->norm = NAN;
}

static inline long double stats_value_of(unsigned dt, union stats_value v)
{
	switch (get_dtype_info(dt)->cls) {
	case DTC_SIGNED:
		return (long double)v.i;
	case DTC_UNSIGNED:
		return (long double)v.u;
	default:
		return v.f;
	}
}

/* The same special value, of NaN the positive one; or both finite. */
static inline int same_kind(long double got, long double want)
{
	if (isnan(want))
		return isnan(got) && !signbit(got);
	if (isinf(want))
		return got == want;
	return isfinite(got) && !(got == 0 && signbit(got));
}

/* Describes an error in *s; NULL: none. The tolerances have a second term, as results may be denormal doubles. */
static inline const char *ref_compare(unsigned dt, const struct stats *s, const struct reference *r)
{
	static char text[400];
	long double min = stats_value_of(dt, s->min), max = stats_value_of(dt, s->max);
	long double least = 0x1p-1075L, norm = r->norm;
	const char *what = NULL;

	if (s->n != r->n)
		what = "n";
	else if (!r->n)
		return NULL;
	else if (s->zeros != r->zeros)
		what = "zeros";
	else if (s->nans != r->nans)
		what = "nans";
	else if (s->infs != r->infs)
		what = "infs";
	else if (!same_kind(min, r->min) || (!isnan(min) && min != r->min))
		what = "min";
	else if (!same_kind(max, r->max) || (!isnan(max) && max != r->max))
		what = "max";
	else if (!same_kind(s->mean, r->mean))
		what = "mean";
	else if (isfinite(s->mean) && fabsl(s->mean - r->mean) > 1e-12L * r->mean_abs + least)
		what = "mean";
	if (isfinite(norm) && norm > DBL_MAX * (1 - 1e-12L) && isinf(s->norm))
		norm = INFINITY; /* the true norm is no double */
	if (!what && (!same_kind(s->norm, norm) ||
			     (isfinite(norm) && fabsl(s->norm - norm) > 1e-12L * norm + least)))
		what = "norm";
	if (!what)
		return NULL;
	snprintf(text, sizeof(text),
		"%s of %s: got n %llu zeros %llu nans %llu infs %llu min %Lg max %Lg mean %.17g "
		"norm %.17g, want "
		"%llu %llu %llu %llu %Lg %Lg %.19Lg %.19Lg",
		what, get_dtype_info(dt)->name, (unsigned long long)s->n,
		(unsigned long long)s->zeros, (unsigned long long)s->nans,
		(unsigned long long)s->infs, min, max, s->mean, s->norm, (unsigned long long)r->n,
		(unsigned long long)r->zeros, (unsigned long long)r->nans,
		(unsigned long long)r->infs, r->min, r->max, r->mean, r->norm);
	return text;
}

/* ---- tensors to try ---- */

enum pattern {
	FILL_BITS, /* anything */
	FILL_USUAL, /* around 1, both signs; small integers */
	FILL_HUGE, /* the largest exponents, Inf and NaN */
	FILL_TINY, /* denormals, zeros and what lies just above */
	FILL_MAX, /* finite, close to the largest; INT64_MAX */
	FILL_EXTREME, /* the largest, the smallest, -0, Inf, NaN, 1 */
	FILL_CANCEL, /* pairs of x, -x, and now and then 1 */
	FILL_NAN,
	FILL_PATTERNS
};

static inline uint64_t random_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline uint64_t random_float(unsigned dt, enum pattern pattern, uint64_t i, uint64_t *state)
{
	struct float_format f = float_format(dt);
	uint64_t r = random_bits(state), pick = random_bits(state);
	uint64_t top = (1ull << f.exp_bits) - 1, sign = 1ull << (f.exp_bits + f.mant_bits);
	uint64_t inf = top << f.mant_bits, one = top / 2 << f.mant_bits;
	uint64_t max = f.has_inf ? inf - 1 : inf | ((1ull << f.mant_bits) - 2);
	uint64_t low = r & (sign | ((1ull << f.mant_bits) - 1));
	uint64_t extreme[] = {0, sign, 1, sign | 1, max, sign | max, inf, sign | inf, inf | 1, one,
		1ull << f.mant_bits};

	switch (pattern) {
	case FILL_USUAL:
		return low | (top / 2 - pick % 4) << f.mant_bits;
	case FILL_HUGE:
		return low | (top - pick % 3) << f.mant_bits;
	case FILL_TINY:
		return pick % 8 ? low | (pick & 8 ? 1ull : 0) << f.mant_bits : r & sign;
	case FILL_MAX:
		return max - (pick & 1);
	case FILL_EXTREME:
		return extreme[pick % (sizeof(extreme) / sizeof(*extreme))];
	case FILL_CANCEL:
		return i % 16 == 15 ? one : max ^ (i & 1 ? sign : 0);
	case FILL_NAN:
		return inf | ((1ull << f.mant_bits) - 1) | (r & sign);
	default:
		return r;
	}
}

static inline uint64_t random_int(unsigned size, enum pattern pattern, uint64_t i, uint64_t *state)
{
	uint64_t r = random_bits(state), top = 1ull << (8 * size - 1);
	uint64_t extreme[] = {0, 1, -1ull, top, top - 1, top + 1, top / 2};

	switch (pattern) {
	case FILL_USUAL:
		return r % 21 - 10;
	case FILL_TINY:
		return r & 1;
	case FILL_MAX:
		return top - 1;
	case FILL_HUGE:
	case FILL_EXTREME:
		return extreme[r % (sizeof(extreme) / sizeof(*extreme))];
	case FILL_CANCEL:
		return i % 16 == 15 ? 1 : (top - 1) ^ (i & 1 ? -1ull : 0);
	default:
		return r;
	}
}

static inline uint64_t random_byte(enum pattern pattern, uint64_t i, uint64_t *state)
{
	static const uint8_t extreme[] = {0, 0x80, 1, 0x81, 0x7e, 0x7f, 0xfe, 0xff, 0x40};
	uint64_t r = random_bits(state);

	switch (pattern) {
	case FILL_USUAL:
		return 0x3c + r % 8 + (r & 0x80);
	case FILL_HUGE:
		return 0xff - r % 4;
	case FILL_TINY:
		return r % 3;
	case FILL_MAX:
		return 0x7f;
	case FILL_EXTREME:
		return extreme[r % sizeof(extreme)];
	case FILL_CANCEL:
		return i % 16 == 15 ? 0x40 : 0x7f ^ (i & 1 ? 0x80 : 0);
	case FILL_NAN:
		return 0x80 | (r % 2 ? 0x7f : 0);
	default:
		return r;
	}
}

static inline void fill_tensor(
	unsigned dt, void *data, uint64_t n, enum pattern pattern, uint64_t *state)
{
	int bytes = is_byte_float(dt) || dt == DT_FLOAT4_E2M1FN_X2;
	unsigned comp = get_dtype_info(dt)->component,
		 size = bytes ? 1 : get_dtype_info(comp)->size;
	unsigned char *p = data;

	n *= get_dtype_info(dt)->size / size;
	for (uint64_t i = 0; i < n; i++, p += size) {
		uint64_t bits = bytes ? random_byte(pattern, i, state)
				: get_dtype_info(dt)->cls == DTC_FLOAT
					? random_float(comp, pattern, i, state)
					: random_int(size, pattern, i, state);

		memcpy(p, &bits, size);
	}
}

#endif
