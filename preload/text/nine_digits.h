/* SPDX-License-Identifier: Apache-2.0 */
/* The nine digits of a number, for functions that are called millions of times. */
#ifndef PROBE_TEXT_NINE_DIGITS_H
#define PROBE_TEXT_NINE_DIGITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/*
 * Data for writing nine digits of numbers from 2^e to 2^(e + 1), by the number's own exponent:
 * the two decimal exponents that occur, the second from m = cut on. Made on first use, as the
 * powers are.
 *
 * m, which has 53 bits, is shifted so that 32 bits of the upper half of m * hi are fraction: one
 * multiplication. The result is too small by at most one unit for the power's lower half and one
 * for the product's. So the rounding is certain unless the fraction is within two units below one
 * half, or at it.
 */
struct nines {
	/* the first m of the second decimal exponent; UINT64_MAX: there is none; 0: not made yet */
	_Atomic uint64_t cut;
	struct nine {
		uint64_t hi; /* of 10^(8 - exp) */
		int32_t exp;
		uint32_t shift;
	} of[2];
};

/* Indexed by the bits of the exponent. */
extern struct nines decimal_nines[2048];

/*
 * Finds the nine digits of nearly all numbers. Returns false if they are not certain for this
 * one, or its data has not been made yet.
 */
static inline __attribute__((always_inline)) bool decimal_find_9_quickly(
	uint64_t bits, uint32_t *n, int *exp)
{
	const struct nines *k = &decimal_nines[bits >> 52 & 2047];
	uint64_t m = bits << 11 | UINT64_C(1) << 63, half = UINT64_C(1) << 31, top;
	uint64_t cut = atomic_load_explicit(&k->cut, memory_order_acquire);
	const struct nine *of;

	/* 0, denormal and infinite numbers and NaN have no data. */
	if (__builtin_expect(!cut, 0))
		return false;
	of = &k->of[m >= cut];
	top = (uint64_t)((u128)(m >> of->shift) * of->hi >> 64);
	*n = (uint32_t)((top + half) >> 32);
	*exp = of->exp;
	/* A number just below the next exponent is rounded up to ten digits. */
	return __builtin_expect((uint32_t)top - (uint32_t)(half - 2) > 2 && *n < 1000000000, 1);
}

/* Like decimal_find_9_quickly(), for a number whose data may not have been made yet. */
bool decimal_find_first_9(uint64_t bits, uint32_t *digits, int *exponent);

/*
 * Finds the digits that %.9g shows: v is `digits` (100,000,000 to 999,999,999) * 10^(exponent - 8), rounded. Returns
 * false if they are not certain, and for 0, NaN, infinite and denormal numbers.
 */
static inline __attribute__((always_inline)) bool decimal_find_digits_9(
	double v, uint32_t *digits, int *exponent)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return __builtin_expect(decimal_find_9_quickly(bits, digits, exponent), 1) ||
	       decimal_find_first_9(bits, digits, exponent);
}

#endif
