/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/telling.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tools/probe/model/join/meet.h"

#define TELLING_BITS 24 /* numbers below 10^SIDE_TELLING_DIGITS have at most 24 bits */
/* Bits of two counts together. Chance of a random number to look like their quotient: 2^-18 and, for a float, 2^-6. */
#define QUOTIENT_BITS 32
#define FLOAT_QUOTIENT_BITS 18
#define SUM_BITS 20 /* a sum of few bits has at most these */
#define WHOLE_ERROR 1e-8 /* relative; nine digits are known, and a margin */
#define SUM_ERROR 0.02 /* of a unit of the last of them: nine digits are known, and a margin */

/* Returns true if v is, up to the relative error, the quotient of two whole numbers that have `bits` together. */
static bool is_quotient(double v, int bits, double error)
{
	/* Each turn adds a term of the continued fraction p / q. */
	double p = 1, q = 0, old_p = 0, old_q = 1, rest = fabs(v);

	while (true) {
		double whole = floor(rest), next_p = whole * p + old_p, next_q = whole * q + old_q;

		old_p = p;
		old_q = q;
		p = next_p;
		q = next_q;
		if (!(p * q < ldexp(1, bits)))
			return false;
		if (fabs(p / q - fabs(v)) <= error * fabs(v))
			return true;
		rest = 1 / (rest - whole);
	}
}

/*
 * Returns false for a number with at most TELLING_BITS bits as a double, or with half of a float's as a float (its digits
 * are rounded): whole numbers, powers of two.
 */
static bool has_many_bits(double v)
{
	float rounded = (float)v;
	uint32_t bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return bits & ((1u << FLT_MANT_DIG / 2) - 1) &&
	       compute_double_key(v) & ((UINT64_C(1) << (DBL_MANT_DIG - TELLING_BITS)) - 1);
}

/* Also false for quotients of counts, such as means and decimal constants. */
static bool has_telling_bits(double v)
{
	return has_many_bits(v) && !is_quotient(v, QUOTIENT_BITS, 8 * DBL_EPSILON) &&
	       !is_quotient(v, FLOAT_QUOTIENT_BITS, FLT_EPSILON);
}

bool has_telling_sum(double sum)
{
	int exponent;
	double parts = ldexp(frexp(sum, &exponent), SUM_BITS);

	return fabs(parts - rint(parts)) > SUM_ERROR;
}

/* has_bits: whether the least or the largest number has enough bits. */
static bool is_proof_with(const struct call *c, bool (*has_bits)(double))
{
	/* The least and the largest of two are all of them. */
	return c->in.count >= TELLING_COUNT || (c->in.count > 2 && has_telling_sum(c->in.sum)) ||
	       (c->in.telling && (has_bits(c->in.least) || has_bits(c->in.most)));
}

bool is_proof(const struct call *c)
{
	return is_proof_with(c, has_telling_bits);
}

static bool is_whole(double v)
{
	return fabs(v - rint(v)) <= WHOLE_ERROR * fabs(v);
}

bool is_proof_against_zero(const struct call *c)
{
	/* Among many, the largest may be a number of a cell or an item. Many counts have a whole sum. */
	bool is_count = is_whole(side_get_largest_absolute(&c->in)) &&
			(c->in.count < TELLING_COUNT || is_whole(c->in.sum));

	return is_proof_with(c, has_many_bits) && !is_count;
}
