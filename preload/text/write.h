/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the same text as text/text.h, without checking for space: for rows, of which the writer
 * makes two per call and whose maximum length is known. Each function writes at `p`, adds no NUL,
 * and returns the end of the text. Up to WRITE_SLACK bytes after this end may be overwritten.
 */
#ifndef PROBE_BASE_WRITE_H
#define PROBE_BASE_WRITE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WRITE_SLACK 48

char *write_large_u64(char *p, uint64_t v);
char *write_double(char *p, double v, int digits); /* as text_add_double() */
char *write_double_9(char *p, double v); /* ... with nine digits */
char *write_doubles_9(char *p, const double *v, unsigned n); /* ... a comma after each */

/* Returns v, below 10^8, as eight bytes with one digit each, the first digit in the lowest byte. */
static inline uint64_t compute_digits_8(uint32_t v)
{
	/*
	 * All digits at once: halves in lanes of 32 bits, pairs in lanes of 16, digits in lanes of 8. Each lane becomes its
	 * quotient and, above that, its remainder x - 10000 q: that is x shifted, and q times a constant.
	 */
	uint64_t high = v / 10000;
	uint64_t halves = ((uint64_t)v << 32) + high * (1 - (UINT64_C(10000) << 32));
	uint64_t hundreds = (halves * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
	uint64_t pairs = (halves << 16) + hundreds * (1 - (UINT64_C(100) << 16));
	uint64_t tens = (pairs * 103 >> 10) & UINT64_C(0x000f000f000f000f);

	return (pairs << 8) + tens * (1 - (UINT64_C(10) << 8));
}

/* Writes eight digits, leading zeros included. */
static inline char *write_digits_8(char *p, uint32_t v)
{
	uint64_t text = htole64(compute_digits_8(v) | UINT64_C(0x3030303030303030));

	memcpy(p, &text, 8);
	return p + 8;
}

static inline char *write_u64(char *p, uint64_t v)
{
	if (v >= 10)
		return write_large_u64(p, v);
	*p = (char)('0' + v);
	return p + 1;
}

static inline char *write_i64(char *p, int64_t v)
{
	if (v >= 0)
		return write_u64(p, (uint64_t)v);
	*p = '-';
	return write_u64(p + 1, 0 - (uint64_t)v);
}

/* Writes eight hexadecimal digits, leading zeros included. */
static inline char *write_hex_8(char *p, uint32_t v)
{
	/*
	 * One hexadecimal digit in each byte, the first one in the highest byte; digits above 9
	 * become letters.
	 */
	uint64_t x = (v | (uint64_t)v << 16) & UINT64_C(0x0000ffff0000ffff);

	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x += UINT64_C(0x3030303030303030) +
	     ((x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101)) * 39;
	x = htobe64(x);
	memcpy(p, &x, 8);
	return p + 8;
}

static inline char *write_hex_16(char *p, uint64_t v)
{
	return write_hex_8(write_hex_8(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static inline char *write_char(char *p, char c)
{
	*p = c;
	return p + 1;
}

/* Writes a short word. */
static inline char *write_word(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

static inline char *write_bytes(char *p, const char *s, size_t n)
{
	memcpy(p, s, n);
	return p + n;
}

#endif
