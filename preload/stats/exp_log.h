/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp and log of a double, without libm, which would be a dependency and may set errno. Relative error below 1e-15 in the range of
 * normal numbers (tests/unit/test_experts.c). Round to nearest, as stats/fenv.c sets it.
 */
#ifndef PROBE_STATS_EXP_LOG_H
#define PROBE_STATS_EXP_LOG_H

#include <stdint.h>

#include "stats/convert.h"

/* 33 bits, so that its product with an exponent is exact */
#define EXP_LN2_HI 6.93147180369123816490e-01
#define EXP_LN2_LO 1.90821492927058770002e-10
#define EXP_TERMS 14
#define LOG_TERMS 11

/* e^x; 0 below -708, Inf above 709, NaN of NaN. x = k ln 2 + r, then the Taylor series of r, |r| <= ln 2 / 2. */
static inline double stats_exp(double x)
{
	double r, sum = 1;
	int64_t k;

	if (!(x > -708))
		return x <= -708 ? 0 : x;
	if (x > 709)
		return __builtin_inf();
	k = (int64_t)(x * 1.44269504088896340736 + (x < 0 ? -0.5 : 0.5));
	r = x - (double)k * EXP_LN2_HI - (double)k * EXP_LN2_LO;
	for (int i = EXP_TERMS; i > 0; i--)
		sum = 1 + r * sum / i;
	return sum * double_of((uint64_t)(k + 1023) << 52);
}

/* ln x for a normal x > 0. x = m 2^e with m around 1, then the series of ln((1 + f) / (1 - f)). */
static inline double stats_log(double x)
{
	uint64_t bits = bits_of_double(x);
	int64_t e = (int64_t)(bits >> 52) - 1023;
	double m = double_of((bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52), f, f2,
	       sum = 0;

	if (m > 1.41421356237309504880) {
		m /= 2;
		e++;
	}
	f = (m - 1) / (m + 1);
	f2 = f * f;
	for (int i = LOG_TERMS; i >= 0; i--)
		sum = sum * f2 + 1.0 / (2 * i + 1);
	return (double)e * EXP_LN2_HI + (2 * f * sum + (double)e * EXP_LN2_LO);
}

#endif
