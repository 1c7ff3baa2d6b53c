/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums as an unevaluated pair hi + lo of doubles, about 106 bits. Needs IEEE double arithmetic as written: no
 * -ffast-math, round to nearest.
 */
#ifndef PROBE_STATS_SUM_H
#define PROBE_STATS_SUM_H

#include "stats/stats.h"

#if defined(__FAST_MATH__) || __FLT_EVAL_METHOD__ == 2 || __FLT_EVAL_METHOD__ < 0
#error "preload/stats needs IEEE arithmetic: compile it without -ffast-math and without x87"
#endif

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Adds x. The error is at most 2^-104 of the largest of |hi|, |x| and their sum. */
static inline void stats_sum_add(struct stats_sum *s, double x)
{
	/* Knuth's TwoSum: hi + x = t + e exactly, whichever of hi and x is larger. */
	double t = s->hi + x;
	double part = t - s->hi;
	double e = (s->hi - (t - part)) + (x - part);
	double lo = s->lo + e;

	s->hi = t + lo;
	s->lo = lo - (s->hi - t);
}

/* The CPU instruction: sqrt() would make libm a dependency and may set errno. x >= 0. */
static inline double stats_sqrt(double x)
{
#ifdef __SSE2__
	__m128d v = _mm_set_sd(x);

	return _mm_cvtsd_f64(_mm_sqrt_sd(v, v));
#else
	__asm__("fsqrt %d0, %d1" : "=w"(x) : "w"(x));
	return x;
#endif
}

#endif
