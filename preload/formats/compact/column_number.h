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

/* True if a float32 represents the double exactly. */
static inline bool is_float32(uint64_t bits, uint32_t *out)
{
	unsigned e = (unsigned)(bits >> 52 & 2047);
	uint32_t f = (uint32_t)(bits >> 32 & 0x80000000u) | (uint32_t)(bits >> 29 & 0x7fffff);

	if (bits & 0x1fffffff)
		return false;
	if (__builtin_expect(e - 897 > 1150 - 897, 0)) {
		*out = e ? f | 0x7f800000u : 0;
		return e == 2047 || !bits;
	}
	*out = f | (e - 896) << 23;
	return true;
}

static inline void write_column_bytes(struct column *c, const void *p, size_t n)
{
	memcpy(c->at, p, n);
	c->at += n;
}

/*
 * Writes a real number, of which rows of CSV files show only nine digits unless `wide`. Returns
 * the width.
 */
static __attribute__((noinline)) unsigned write_real(struct column *c, double v, bool wide)
{
	uint64_t bits;
	uint32_t narrow, digits;
	int exponent;

	memcpy(&bits, &v, 8);
	if (is_float32(bits, &narrow)) {
		write_column_bytes(c, &narrow, 4);
		return CW_FOUR;
	}
	if (!wide && decimal_find_digits_9(v, &digits, &exponent) &&
		exponent >= -COMPACT_EXPONENT_BIAS && exponent < COMPACT_EXPONENT_BIAS) {
		uint64_t d = (digits - COMPACT_DIGITS_MIN) | (bits >> 63) << COMPACT_SIGN_BIT |
			     (uint64_t)(exponent + COMPACT_EXPONENT_BIAS) << COMPACT_EXPONENT_BIT;

		memcpy(c->at, &d, 5);
		c->at += 5;
		return CW_DECIMAL;
	}
	write_column_bytes(c, &bits, 8);
	return CW_EIGHT;
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

static inline unsigned write_block_value(
	struct column *c, union stats_value v, uint64_t *before, const struct dtype_info *d)
{
	if (v.u == *before)
		return CW_BEFORE;
	*before = v.u;
	return compact_has_integers(d) ? write_integer(c, v, d->cls == DTC_SIGNED)
				       : write_real(c, v.f, d->wide);
}

static inline uint64_t get_bits(double v)
{
	return (union stats_value){.f = v}.u;
}

static inline unsigned write_real_value(struct column *c, double v, uint64_t *before, bool wide)
{
	if (get_bits(v) == *before)
		return CW_BEFORE;
	*before = get_bits(v);
	return write_real(c, v, wide);
}

#endif
