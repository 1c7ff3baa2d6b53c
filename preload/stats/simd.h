/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of the SIMD variants, written once for all instruction sets. avx2.c, avx512.c and neon.c say what a
 * register is and what it can do, then include this file.
 *
 * The same bits as the scalar variant come out: the same 16 lanes, folded in the same order, products rounded where
 * they are not exact. Min, max and zeros do not need lanes and are found in the element type itself, with as many
 * elements in a register as fit:
 *   float64            by comparisons that let a NaN pass unnoticed; it shows in the sum of squares
 *   smaller floats     as integers, with the sign bit looked at separately: the largest as signed and the largest as
 *                      unsigned number mostly say what min and max are, and whether there was a NaN or Inf
 *   integers           as signed ones (unsigned with the top bit flipped, which keeps the order)
 *
 * What an including file defines, V bytes being the size of a register:
 *   vec, vd                       a register of integers (also of bits of float32); one of W doubles
 *   v_load v_xor v_and v_set_<b> v_min_<b> v_max_<b> v_add_<b>      <b>: bits of a lane, 8 to 64, signed
 *   v_umin_<b> v_umax_<b>         8 to 32 bits, unsigned
 *   v_count_<b>(c, x, y)          how often x > y (signed) in a lane of a step, on top of c, a `count` that begins as
 *                                 NO_COUNT; v_total_<b>(c): in all lanes
 *   v_least_<b> v_most_<b> v_uleast_<b> v_umost_<b>                 over all lanes
 *   v_zeros_<b>(c, x)             how often x is 0, counted in the same way
 *   vd_set vd_add vd_mul vd_fma vd_min vd_max vd_abs vd_store       vd_fma: x * y + z; vd_min(x, y) is y where x is NaN
 *   vd_count(c, x, y) vd_keep(x, y, z)                              the same for x < y; x where y <= z, else 0
 *   FMA_SUMS                      1: half of the additions, or all except inexact squares, are fused multiply-adds by 1
 *   widen_<type>(p)               the 8 elements at p as doubles, a d8
 *   STAGED                        1: floats of 8 and 16 bits go through memory as float32. Then there are
 *     stage_<type>(to, p)         64 bytes at p as float32 at `to`; of bf16 spread:
 *     widen_spread(p)             8 elements, 4 at p and 4 from p + V / 4 elements on
 *     SPLIT                       1: too few registers to add elements up and look at them in one loop
 *   sum_8 sq_8                    add unsigned elements, or their squares, to wider lanes; s = total_sum_8(sums),
 *                                 total_sq_8(squares, s)
 *   sum_16 sq_16                  add signed elements, or their squares (a struct squares, which begins as NO_SQUARES),
 *                                 to wider lanes; total_sum_16 total_sq_16
 */
#ifndef PROBE_STATS_SIMD_H
#define PROBE_STATS_SIMD_H

#include <float.h>
#include <string.h>

#include "stats/convert.h"
#include "stats/kernel.h"

_Static_assert(STATS_LANES == 16, "two d8");
_Static_assert(STATS_BLOCK / 16 < 256, "a lane of 8 bits counts one element of each 16 bytes");
_Static_assert(STATS_BLOCK % 64 == 0, "whole steps");

struct sums {
	d8 s[2], q[2];
};

struct bounds {
	vec umax, max;
	count zeros;
};

typedef d8 widen(const unsigned char *p);
typedef void stage(float *to, const unsigned char *p);
typedef void look(struct bounds *b, vec x, vec limit);

INLINE d8 d8_set(double x)
{
	d8 a;

	UNROLL for (int i = 0; i < 8 / W; i++) a.r[i] = vd_set(x);
	return a;
}

INLINE struct sums no_sums(void)
{
	return (struct sums){{d8_set(0), d8_set(0)}, {d8_set(0), d8_set(0)}};
}

/*
 * Adds 16 elements. exact: their squares are exact doubles, so that a fused multiply-add rounds
 * like an addition (as it always does when multiplying by 1).
 */
INLINE void add_lanes(struct sums *l, widen *load8, const unsigned char *p, size_t size, int exact)
{
	UNROLL for (int h = 0; h < 2; h++)
	{
		d8 x = load8(p + 8 * size * (size_t)h), *s = &l->s[h], *q = &l->q[h];

		UNROLL for (int i = 0; i < 8 / W; i++)
		{
			s->r[i] = FMA_SUMS && (i & 1 || !exact) ? vd_fma(x.r[i], vd_set(1), s->r[i])
								: vd_add(s->r[i], x.r[i]);
			if (exact)
				q->r[i] = vd_fma(x.r[i], x.r[i], q->r[i]);
			else
				q->r[i] = vd_add(q->r[i], vd_mul(x.r[i], x.r[i]));
		}
	}
}

/* Adds the upper half to the lower half, as in scalar.c. */
INLINE double fold(const d8 *a)
{
	double x[8];

	for (int i = 0; i < 8 / W; i++)
		vd_store(x + i * W, vd_add(a[0].r[i], a[1].r[i]));
	for (int j = 0; j < 4; j++)
		x[j] += x[j + 4];
	return (x[0] + x[2]) + (x[1] + x[3]);
}

/*
 * The elements that do not fill a step, followed by zeros. The zeros change no sum, and are
 * subtracted from the count of zeros.
 */
struct tail {
	_Alignas(64) unsigned char bytes[128];
};

INLINE void tail_load(struct tail *t, const unsigned char *p, size_t n)
{
	memset(t, 0, sizeof(*t));
	memcpy(t->bytes, p, n);
}

/* ---- a block that holds NaN, Inf or extreme values ---- */

struct census {
	d8 min, max, top;
	count zeros, pinfs, ninfs, numbers;
};

INLINE void take_census(struct census *c, d8 x, vd eps)
{
	UNROLL for (int i = 0; i < 8 / W; i++)
	{
		vd v = x.r[i], abs = vd_abs(v), most = vd_set(DBL_MAX);

		c->min.r[i] = vd_min(v, c->min.r[i]);
		c->max.r[i] = vd_max(v, c->max.r[i]);
		c->top.r[i] = vd_max(vd_keep(abs, abs, most), c->top.r[i]);
		c->zeros = vd_count(c->zeros, abs, eps);
		c->pinfs = vd_count(c->pinfs, most, v);
		c->ninfs = vd_count(c->ninfs, v, vd_set(-DBL_MAX));
		c->numbers = vd_count(c->numbers, vd_set(-1), abs);
	}
}

INLINE double extreme(d8 a, int largest)
{
	double x[8];

	for (int i = 0; i < 8 / W; i++)
		vd_store(x + i * W, a.r[i]);
	for (int half = 4; half; half /= 2)
		for (int j = 0; j < half; j++)
			x[j] = (largest ? x[j + half] > x[j] : x[j + half] < x[j]) ? x[j + half]
										   : x[j];
	return x[0];
}

/*
 * The last n elements of a block, fewer than 8, as a d8. Missing elements are NaN, which does not
 * contribute to any result.
 */
INLINE d8 widen_rest(const unsigned char *p, size_t n, size_t size, widen *load8)
{
	struct tail t;
	double x[8];
	d8 a;

	tail_load(&t, p, n * size);
	a = load8(t.bytes);
	for (int i = 0; i < 8 / W; i++)
		vd_store(x + i * W, a.r[i]);
	for (; n < 8; n++)
		x[n] = __builtin_nan("");
	return widen_f64((const unsigned char *)x);
}

/* Adds x to *c and, if not above `top`, `scale` times x to half h of the lanes; either may be NULL. */
INLINE void careful_8(struct census *c, struct sums *l, int h, d8 x, vd eps, vd top, vd scale)
{
	if (c)
		take_census(c, x, eps);
	if (!l)
		return;
	UNROLL for (int k = 0; k < 8 / W; k++)
	{
		vd v = vd_keep(vd_mul(x.r[k], scale), vd_abs(x.r[k]), top);

		l->s[h].r[k] = vd_add(l->s[h].r[k], v);
		l->q[h].r[k] = vd_add(l->q[h].r[k], vd_mul(v, v));
	}
}

INLINE void careful_walk(const unsigned char *p, size_t n, size_t size, widen *load8,
	struct census *c, struct sums *l, double eps, double top, double scale)
{
	vd e = vd_set(eps), t = vd_set(top), f = vd_set(scale);
	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		careful_8(c, l, 0, load8(p + i * size), e, t, f);
		careful_8(c, l, 1, load8(p + (i + 8) * size), e, t, f);
	}
	if (i + 8 <= n) {
		careful_8(c, l, 0, load8(p + i * size), e, t, f);
		i += 8;
		if (i < n)
			careful_8(c, l, 1, widen_rest(p + i * size, n - i, size, load8), e, t, f);
	} else if (i < n) {
		careful_8(c, l, 0, widen_rest(p + i * size, n - i, size, load8), e, t, f);
	}
}

/*
 * Adds up the elements that are not above the largest finite one found, instead of testing each
 * for Inf: the job may be writing to the tensor meanwhile.
 */
INLINE void careful_block(const unsigned char *p, size_t n, size_t size, widen *load8, double eps,
	struct stats_block *b)
{
	struct census c = {d8_set(__builtin_inf()), d8_set(-__builtin_inf()), d8_set(0), NO_COUNT,
		NO_COUNT, NO_COUNT, NO_COUNT};
	struct sums l = no_sums();
	uint32_t range = STATS_MID;
	double top, scale = 1;

	if (size < 8) { /* all squares are in range */
		careful_walk(p, n, size, load8, &c, &l, eps, DBL_MAX, 1);
	} else {
		careful_walk(p, n, size, load8, &c, NULL, eps, 0, 0);
		top = extreme(c.top, 1);
		if (top > STATS_MID_MAX) {
			range = STATS_BIG;
			scale = STATS_DOWN;
		} else if (top < STATS_MID_MIN && top > 0) {
			range = STATS_SMALL;
			scale = STATS_UP;
		}
		careful_walk(p, n, size, load8, NULL, &l, eps, top, scale);
	}
	*b = (struct stats_block){.range = range,
		.min.f = extreme(c.min, 0),
		.max.f = extreme(c.max, 1),
		.sum.hi = fold(l.s),
		.sq.hi = fold(l.q)};
	b->zeros = (uint32_t)v_total_64(c.zeros);
	b->nans = (uint32_t)(n - v_total_64(c.numbers));
	b->pinfs = (uint32_t)v_total_64(c.pinfs);
	b->ninfs = (uint32_t)v_total_64(c.ninfs);
	if (range == STATS_SMALL)
		b->sum.hi *= STATS_DOWN;
}

/* ---- any type whose sums are kept as double ---- */

INLINE void fetch(const unsigned char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(p + i);
}

/* Number of elements in a step: whole cache lines, and at least the 16 lanes. */
#define STEP(size) ((size) > 4 ? (size_t)16 : 64 / (size))

/*
 * Min and max of a step at p, zeros of a step at `at`. Usually both are the same; in the last
 * step p repeats some elements.
 */
INLINE void look_at(struct bounds *b, const unsigned char *p, const unsigned char *at, size_t bytes,
	look *bound, look *zero, vec limit)
{
	UNROLL for (size_t i = 0; i < bytes; i += V)
	{
		vec x = v_load(at + i);

		bound(b, at == p ? x : v_load(p + i), limit);
		zero(b, x, limit);
	}
}

/* Prevents the compiler from keeping x in registers at this point. */
#define IN_MEMORY(x) __asm__("" : "+m"(x))

/*
 * Measures n elements, at least one step. Returns the number of elements that were tested for
 * zero, including the tail's padding.
 */
INLINE size_t walk(const unsigned char *p, size_t n, const unsigned char *ahead, size_t size,
	widen *load8, look *bound, look *zero, vec limit, struct sums *l, struct bounds *b)
{
	const size_t step = STEP(size) * size;
	size_t at = 0, end = n * size;

	for (; at + step <= end; at += step) {
		fetch(ahead + at, step);
		UNROLL for (size_t i = 0; i < step; i += 16 * size)
			add_lanes(l, load8, p + at + i, size, 1);
		look_at(b, p + at, p + at, step, bound, zero, limit);
	}
	if (at < end) {
		struct tail t;

		tail_load(&t, p + at, end - at);
		UNROLL for (size_t i = 0; i < step; i += 16 * size)
			add_lanes(l, load8, t.bytes + i, size, 1);
		look_at(b, p + end - step, t.bytes, step, bound, zero, limit);
		at += step;
	}
	return at / size;
}

#if STAGED
/*
 * Like walk(), for types of less than 32 bits if doubles are made much faster from float32 in
 * memory than from a register (x86.h). Elements are first stored as float32, and added up RING
 * steps later, so that no load waits for its store. Meanwhile the next elements are compared:
 * addition alone would spend half of the time waiting for the latency of its chains. With SPLIT
 * there are too few registers for both, so each of the two runs alone for RING steps.
 */
#define RING 8 /* steps; the buffer is on a stack of the job */
#define IN_ORDER __asm__ volatile("" ::: "memory")

INLINE void add_staged(struct sums *l, const float *x, size_t step, int spread)
{
	UNROLL for (size_t i = 0; i < step; i += 16)
	{
		if (spread)
			add_lanes(l, widen_spread, (const unsigned char *)(x + i * 32 / V), 2, 1);
		else
			add_lanes(l, widen_f32, (const unsigned char *)(x + i), 4, 1);
	}
}

INLINE size_t walk_staged(const unsigned char *p, size_t n, const unsigned char *ahead, size_t size,
	stage *stage64, int spread, look *bound, look *zero, vec limit, struct sums *l,
	struct bounds *b)
{
	const size_t step = STEP(size), space = RING * step;
	_Alignas(64) float x[RING * 64];
	size_t at = 0, end = n * size, slot, left;

	do {
		for (left = 0; left < space && at + 64 <= end; at += 64, left += step) {
			fetch(ahead + at, 64);
			look_at(b, p + at, p + at, 64, bound, zero, limit);
			stage64(x + left, p + at);
		}
		IN_ORDER;
		slot = 0;
		for (; !SPLIT && at + 64 <= end; at += 64) {
			fetch(ahead + at, 64);
			add_staged(l, x + slot, step, spread);
			look_at(b, p + at, p + at, 64, bound, zero, limit);
			stage64(x + slot, p + at);
			slot = (slot + step) % space;
		}
		if (SPLIT) { /* each of the loops has all registers for itself */
			IN_MEMORY(*b);
			IN_MEMORY(*l);
		}
		for (size_t k = SPLIT ? 16 : step; left; left -= k, slot = (slot + k) % space)
			add_staged(l, x + slot, k, spread);
		if (SPLIT)
			IN_MEMORY(*l);
	} while (SPLIT && at + 64 <= end);
	if (at < end) {
		struct tail t;

		tail_load(&t, p + at, end - at);
		look_at(b, p + end - 64, t.bytes, 64, bound, zero, limit);
		stage64(x, t.bytes);
		IN_ORDER;
		add_staged(l, x, step, spread);
		at += 64;
	}
	return at / size;
}
#endif

/* ---- float64 ---- */

static void float64_block(const void *data, size_t n, const void *ahead,
	const struct stats_eps *eps, struct stats_block *b)
{
	const unsigned char *p = data;
	d8 min = d8_set(__builtin_inf()), max = d8_set(-__builtin_inf());
	struct sums l = no_sums();
	count zeros = NO_COUNT;
	struct tail t;
	double top;
	size_t i = 0;

	if (n < 16) {
		stats_scalar.block[DT_FLOAT64](p, n, ahead, eps, b);
		return;
	}
	for (; i < n; i += 16, p += 128) {
		const unsigned char *last = p, *at = p;

		if (i + 16 > n) { /* as in walk() */
			tail_load(&t, p, (n - i) * 8);
			last = p - (i + 16 - n) * 8;
			at = t.bytes;
		}
		fetch((const unsigned char *)ahead + 8 * i, 128);
		add_lanes(&l, widen_f64, at, 8, 0);
		UNROLL for (int h = 0; h < 2; h++)
		{
			d8 x = widen_f64(last + 64 * h), y = widen_f64(at + 64 * h);

			UNROLL for (int k = 0; k < 8 / W; k++)
			{
				min.r[k] = vd_min(x.r[k], min.r[k]);
				max.r[k] = vd_max(x.r[k], max.r[k]);
				zeros = vd_count(zeros, vd_abs(y.r[k]), vd_set(eps->f));
			}
		}
	}
	*b = (struct stats_block){.sum.hi = fold(l.s), .sq.hi = fold(l.q)};
	b->min.f = extreme(min, 0);
	b->max.f = extreme(max, 1);
	top = b->max.f > -b->min.f ? b->max.f : -b->min.f;
	if (!(b->sq.hi <= DBL_MAX) || top > STATS_MID_MAX || (top < STATS_MID_MIN && top != 0))
		careful_block(data, n, 8, widen_f64, eps->f, b);
	else
		b->zeros = (uint32_t)(v_total_64(zeros) - (i - n));
}

/* ---- floats of 8 to 32 bits ---- */

/*
 * As integers: an element that is not negative is the largest if it is the largest signed number. A negative one is the
 * smallest if it is the largest unsigned number. If all elements have the same sign, the smallest unsigned number is
 * the smallest, or the largest, element; only such a block is read again.
 *
 * bits: of the type; inf: the smallest magnitude that is not a finite number; walk_it: walk() or walk_staged().
 */
#define SMALL_FLOAT(name, dt, bits, load8, walk_it, to_double, inf)                              \
	INLINE void bound_##name(struct bounds *b, vec x, vec limit)                             \
	{                                                                                        \
		(void)limit;                                                                     \
		b->max = v_max_##bits(x, b->max);                                                \
		b->umax = v_umax_##bits(x, b->umax);                                             \
	}                                                                                        \
	INLINE void zero_##name(struct bounds *b, vec x, vec limit)                              \
	{                                                                                        \
		vec mag = v_and(x, v_set_##bits(INT##bits##_MAX));                               \
                                                                                                 \
		b->zeros = v_count_##bits(b->zeros, limit, mag);                                 \
	}                                                                                        \
	static uint##bits##_t least_##name(const unsigned char *p, size_t bytes)                 \
	{                                                                                        \
		vec least = v_load(p + bytes - V);                                               \
                                                                                                 \
		for (size_t i = 0; i + V <= bytes; i += V)                                       \
			least = v_umin_##bits(v_load(p + i), least);                             \
		return (uint##bits##_t)v_uleast_##bits(least);                                   \
	}                                                                                        \
	static void name##_block(const void *p, size_t n, const void *ahead,                     \
		const struct stats_eps *eps, struct stats_block *b)                              \
	{                                                                                        \
		struct bounds o = {v_set_##bits(0), v_set_##bits(INT##bits##_MIN), NO_COUNT};    \
		vec limit = v_set_##bits((int##bits##_t)eps->u);                                 \
		struct sums l = no_sums();                                                       \
		uint##bits##_t first, last;                                                      \
		size_t seen;                                                                     \
                                                                                                 \
		if (n < STEP(bits / 8)) {                                                        \
			stats_scalar.block[dt](p, n, ahead, eps, b);                             \
			return;                                                                  \
		}                                                                                \
		seen = walk_it(                                                                  \
			p, n, ahead, bits / 8, load8, bound_##name, zero_##name, limit, &l, &o); \
		last = (uint##bits##_t)v_most_##bits(o.max);                                     \
		first = (uint##bits##_t)v_umost_##bits(o.umax);                                  \
		if (!(first >> (bits - 1)))                                                      \
			first = least_##name(p, n * (bits / 8));                                 \
		else if (last >> (bits - 1))                                                     \
			last = least_##name(p, n * (bits / 8));                                  \
		if ((last & INT##bits##_MAX) >= (inf) || (first & INT##bits##_MAX) >= (inf)) {   \
			careful_block(p, n, bits / 8, load8, eps->f, b);                         \
			return;                                                                  \
		}                                                                                \
		*b = (struct stats_block){.sum.hi = fold(l.s), .sq.hi = fold(l.q)};              \
		b->zeros = (uint32_t)(v_total_##bits(o.zeros) - (seen - n));                     \
		b->min.f = to_double((const unsigned char *)&first);                             \
		b->max.f = to_double((const unsigned char *)&last);                              \
	}

#define WALK_STAGED(type, spread)                                                               \
	INLINE size_t walk_##type(const unsigned char *p, size_t n, const unsigned char *ahead, \
		size_t size, widen *load8, look *bound, look *zero, vec limit, struct sums *l,  \
		struct bounds *b)                                                               \
	{                                                                                       \
		(void)load8;                                                                    \
		return walk_staged(                                                             \
			p, n, ahead, size, stage_##type, spread, bound, zero, limit, l, b);     \
	}

#if STAGED
#include "stats/simd_e4m3.h"
WALK_STAGED(f16, 0)
WALK_STAGED(bf16, 1)
WALK_STAGED(e5m2, 0)
#define WALK(type) walk_##type
#else
#define WALK(type) walk
#endif

SMALL_FLOAT(float32, DT_FLOAT32, 32, widen_f32, walk, load_f32, 0x7f800000)
SMALL_FLOAT(float16, DT_FLOAT16, 16, widen_f16, WALK(f16), load_f16, 0x7c00)
SMALL_FLOAT(bfloat16, DT_BFLOAT16, 16, widen_bf16, WALK(bf16), load_bf16, 0x7f80)
SMALL_FLOAT(float8_e5m2, DT_FLOAT8_E5M2, 8, widen_e5m2, WALK(e5m2), load_e5m2, 0x7c)
SMALL_FLOAT(float8_e4m3fn, DT_FLOAT8_E4M3FN, 8, widen_e4m3fn, WALK(e4m3fn), load_e4m3fn, 0x7f)

#include "stats/simd_int.h"

#endif
