/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a row as the columns min, max, mean and norm have them; included by block.c alone. */
#ifndef PROBE_FORMATS_COMPACT_COLUMN_NUMBER_H
#define PROBE_FORMATS_COMPACT_COLUMN_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/compact/compact_layout.h"
#include "stats/stats.h"
#include "text/nine_digits.h"

struct column {
	unsigned char *from, *at, *end;
};

static inline void write_column_bytes(struct column *c, const void *p, size_t n)
{
	memcpy(c->at, p, n);
	c->at += n;
}

/* Writes the bits of a real number as a float32. Returns false if that does not represent it exactly. */
static inline bool write_float32(struct column *c, uint64_t bits)
{
	unsigned e = (unsigned)(bits >> 52 & 2047);
	uint32_t f = (uint32_t)(bits >> 32 & 0x80000000u) | (uint32_t)(bits >> 29 & 0x7fffff);

	if (__builtin_expect(e - 897 > 1150 - 897, 0)) {
		if (e != 2047 && bits)
			return false;
		f = e ? f | 0x7f800000u : 0;
	} else {
		f |= (e - 896) << 23;
	}
	write_column_bytes(c, &f, 4);
	return true;
}

static inline bool write_decimal(struct column *c, uint64_t bits, uint32_t digits, int exponent)
{
	uint64_t d = (digits - COMPACT_DIGITS_MIN) | (bits >> 63) << COMPACT_SIGN_BIT |
		     (uint64_t)(exponent + COMPACT_EXPONENT_BIAS) << COMPACT_EXPONENT_BIT;

	if (__builtin_expect(
		    exponent + COMPACT_EXPONENT_BIAS < 0 || exponent >= COMPACT_EXPONENT_BIAS, 0))
		return false;
	/* Five of the eight bytes belong to the number. The next number overwrites the other three. */
	memcpy(c->at, &d, 8);
	c->at += 5;
	return true;
}

static __attribute__((noinline)) unsigned write_unusual_real(
	struct column *c, uint64_t bits, bool wide)
{
	uint32_t digits;
	int exponent;

	if (!wide && decimal_find_first_9(bits, &digits, &exponent) &&
		write_decimal(c, bits, digits, exponent))
		return CW_DECIMAL;
	write_column_bytes(c, &bits, 8);
	return CW_EIGHT;
}

/*
 * Writes the bits of a real number, of which rows of CSV files show only nine digits unless
 * `wide`. Returns the width. Three bytes after the number may be overwritten.
 */
static __attribute__((noinline)) unsigned write_real(struct column *c, uint64_t bits, bool wide)
{
	uint32_t digits;
	int exponent;

	if (!(bits & 0x1fffffff) && write_float32(c, bits))
		return CW_FOUR;
	if (__builtin_expect(!wide && decimal_find_9_quickly(bits, &digits, &exponent) &&
				     write_decimal(c, bits, digits, exponent),
		    1))
		return CW_DECIMAL;
	return write_unusual_real(c, bits, wide);
}

static inline unsigned write_integer(struct column *c, union stats_value v, bool is_signed)
{
	if (is_signed ? v.i == (int32_t)v.i : v.u == (uint32_t)v.u) {
		write_column_bytes(c, &v, 4);
		return CW_FOUR;
	}
	write_column_bytes(c, &v, 8);
	return CW_EIGHT;
}

static inline unsigned write_real_value(
	struct column *c, uint64_t bits, uint64_t *before, bool wide)
{
	if (bits == *before)
		return CW_BEFORE;
	*before = bits;
	return write_real(c, bits, wide);
}

static inline unsigned write_block_value(
	struct column *c, union stats_value v, uint64_t *before, const struct dtype_info *d)
{
	if (!compact_has_integers(d))
		return write_real_value(c, v.u, before, d->wide);
	if (v.u == *before)
		return CW_BEFORE;
	*before = v.u;
	return write_integer(c, v, d->cls == DTC_SIGNED);
}

static inline uint64_t get_bits(const double *v)
{
	uint64_t bits;

	memcpy(&bits, v, sizeof(bits));
	return bits;
}

#endif
