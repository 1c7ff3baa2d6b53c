/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digits are those of the integer N nearest to v * 10^n, with n such that N has as many digits as are wanted. v is
 * m * 2^e with m in 64 bits; 10^n is used with 128 bits, truncated. Their product is off by less than m units of its
 * last place. So N is certain unless the product's fraction is within that distance below one half; then 0 is returned.
 * For n from 0 to 55 the power is exact, ties included (they go to the even N, as in printf).
 *
 * Powers are computed on first use, by multiplication and long division of large integers, and kept: a table would be
 * longer than the code.
 */
#include "text/decimal.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text/nine_digits.h"
#include "text/write.h"

const char decimal_pairs[201] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
	"4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
	"888990919293949596979899";

#define POWER_MIN (-308)
#define POWER_MAX 342 /* the smallest denormal with 17 digits needs 323 + 16; plus a wrong guess */
#define POWER_EXACT 55 /* 5^55 < 2^128 < 5^56 */

/* 10^n = (hi * 2^64 + lo) * 2^exp, truncated; the top bit of hi is set. */
struct power {
	uint64_t hi, lo;
	int32_t exp;
	_Atomic uint32_t ready;
};

static struct power powers[POWER_MAX - POWER_MIN + 1];

#define LIMBS 14 /* 5^342 has 795 bits, and the remainder of a division needs one more */

static uint64_t compute_5_times(uint64_t *a, int n)
{
	uint64_t carry = 0;

	for (int i = 0; i < n; i++) {
		u128 t = (u128)a[i] * 5 + carry;

		a[i] = (uint64_t)t;
		carry = (uint64_t)(t >> 64);
	}
	return carry;
}

static int get_bit_length(const uint64_t *a)
{
	for (int i = LIMBS; i-- > 0;)
		if (a[i])
			return i * 64 + 64 - __builtin_clzll(a[i]);
	return 0;
}

static bool get_bit(const uint64_t *a, int i)
{
	return i >= 0 && (a[i / 64] >> (i % 64) & 1);
}

static bool is_limbs_less(const uint64_t *a, const uint64_t *b)
{
	for (int i = LIMBS; i-- > 0;)
		if (a[i] != b[i])
			return a[i] < b[i];
	return false;
}

static void compute_difference(uint64_t *a, const uint64_t *b)
{
	uint64_t borrow = 0;

	for (int i = 0; i < LIMBS; i++) {
		u128 t = (u128)a[i] - b[i] - borrow;

		a[i] = (uint64_t)t;
		borrow = (uint64_t)(t >> 64) & 1;
	}
}

static void compute_2_times(uint64_t *a)
{
	for (int i = LIMBS; i-- > 1;)
		a[i] = a[i] << 1 | a[i - 1] >> 63;
	a[0] <<= 1;
}

static void compute_power_of_10(struct power *p, int n)
{
	uint64_t five[LIMBS] = {1}, rest[LIMBS] = {0};
	u128 top = 0;
	int bits;

	for (int i = 0; i < (n < 0 ? -n : n); i++)
		compute_5_times(five, LIMBS);
	bits = get_bit_length(five);
	if (n >= 0) {
		for (int i = 1; i <= 128; i++)
			top = top << 1 | get_bit(five, bits - i);
		p->exp = n + bits - 128;
	} else {
		/* 2^(bits - 1 + 128) / 5^-n: its quotient has 128 bits. */
		rest[(bits - 1) / 64] = UINT64_C(1) << ((bits - 1) % 64);
		for (int i = 0; i < 128; i++) {
			compute_2_times(rest);
			top <<= 1;
			if (!is_limbs_less(rest, five)) {
				compute_difference(rest, five);
				top |= 1;
			}
		}
		p->exp = n - (bits - 1 + 128);
	}
	p->hi = (uint64_t)(top >> 64);
	p->lo = (uint64_t)top;
}

static const struct power *get_power(int n)
{
	struct power *p = &powers[n - POWER_MIN], own;

	if (!atomic_load_explicit(&p->ready, memory_order_acquire)) {
		/* If two threads compute the power at the same time, both store the same value. */
		compute_power_of_10(&own, n);
		__atomic_store_n(&p->hi, own.hi, __ATOMIC_RELAXED);
		__atomic_store_n(&p->lo, own.lo, __ATOMIC_RELAXED);
		__atomic_store_n(&p->exp, own.exp, __ATOMIC_RELAXED);
		atomic_store_explicit(&p->ready, 1, memory_order_release);
	}
	return p;
}

static const uint64_t tens[DECIMAL_DIGITS_MAX + 1] = {1, 10, 100, 1000, 10000, 100000, 1000000,
	10000000, 100000000, 1000000000, UINT64_C(10000000000), UINT64_C(100000000000),
	UINT64_C(1000000000000), UINT64_C(10000000000000), UINT64_C(100000000000000),
	UINT64_C(1000000000000000), UINT64_C(10000000000000000), UINT64_C(100000000000000000)};

/*
 * Computes m * 2^e * 10^n, which is between 1 and 2^60: its whole part, and whether it is rounded
 * up. Returns false if that is not certain.
 */
static bool compute_digits(uint64_t m, int e, int n, uint64_t *whole, bool *up)
{
	const struct power *p = get_power(n);
	u128 low = (u128)m * p->lo, high = (u128)m * p->hi + (low >> 64);
	/* The product is high * 2^64 + (uint64_t)low. `fraction` is the number of fraction bits in `high`: 66 to 127. */
	int fraction = -(e + p->exp) - 64;
	uint64_t top = (uint64_t)(high >> 64), top_half = UINT64_C(1) << (fraction - 65);
	uint64_t top_part = top & (top_half * 2 - 1);

	*whole = top >> (fraction - 64);
	if (__builtin_expect(top_part != top_half && top_part + 1 != top_half, 1)) {
		*up = top_part > top_half;
		return true;
	}

	u128 half = (u128)1 << (fraction - 1), part;

	part = high & (half * 2 - 1);
	if (part != half) {
		*up = part > half;
		/* The truncated part and `low` are less than 2 in units of `part`. */
		return *up || part + 1 < half || (n >= 0 && n <= POWER_EXACT);
	}
	if (n < 0 || n > POWER_EXACT || (uint64_t)low)
		*up = true; /* something was truncated, so the fraction is above one half */
	else
		*up = *whole & 1;
	return true;
}

#define ZEROS_OF_8 UINT64_C(0x3030303030303030)

/* Writes the digits of v, leading zeros included. Returns the number of digits without zeros at the end, at least 1. */
static int write_digits(char *at, uint64_t v, int n)
{
	/* Two at a time, in 32 bits if they fit: divisions dominate the cost. */
	int i = n;

	for (; i >= 2 && v > UINT32_MAX; v /= 100)
		memcpy(at + (i -= 2), decimal_pairs + v % 100 * 2, 2);

	uint32_t w = (uint32_t)v;

	for (; i >= 2; w /= 100)
		memcpy(at + (i -= 2), decimal_pairs + w % 100 * 2, 2);
	if (i)
		at[0] = (char)('0' + w);
	while (n > 1 && at[n - 1] == '0')
		n--;
	return n;
}

/* Like write_digits(), for 9 digits. */
static inline int write_9_digits(char *at, uint32_t v)
{
	uint64_t low = compute_digits_8(v % 100000000), text = htole64(low | ZEROS_OF_8);

	at[0] = (char)('0' + v / 100000000);
	memcpy(at + 1, &text, 8);
	return low ? 9 - __builtin_clzll(low) / 8 : 1;
}

/* Like write_digits(), for 17 digits. */
static inline int write_17_digits(char *at, uint64_t v)
{
	uint64_t low = compute_digits_8((uint32_t)(v % 100000000)),
		 text = htole64(low | ZEROS_OF_8);
	int n = write_9_digits(at, (uint32_t)(v / 100000000));

	memcpy(at + 9, &text, 8);
	return low ? 17 - __builtin_clzll(low) / 8 : n;
}

/*
 * Number of bytes copied in place of DECIMAL_DIGITS_MAX: a length known at compile time costs a few moves and no call.
 */
#define DIGITS_ROOM 24

static inline char *write_exponent(char *at, int exp)
{
	int e = exp < 0 ? -exp : exp;

	*at++ = 'e';
	*at++ = exp < 0 ? '-' : '+';
	if (e >= 100)
		*at++ = (char)('0' + e / 100);
	memcpy(at, decimal_pairs + e % 100 * 2, 2);
	return at + 2;
}

/* Writes d.ddd as %g does. `exp`: the decimal exponent of the first digit; n digits are left of the `wanted` ones. */
static inline int write_decimal_text(char *buf, const char *digits, int n, int exp, int wanted)
{
	char *at = buf;

	if (exp < -4 || exp >= wanted) {
		*at++ = digits[0];
		*at = '.';
		memcpy(at + 1, digits + 1, DIGITS_ROOM);
		at = write_exponent(at + (n > 1 ? n : 0), exp);
	} else if (exp < 0) {
		memcpy(at, "0.000", 5);
		at += 1 - exp;
		memcpy(at, digits, DIGITS_ROOM);
		at += n;
	} else {
		int whole = exp + 1;

		memcpy(at, digits, DIGITS_ROOM);
		at += whole;
		if (n > whole) {
			*at = '.';
			memcpy(at + 1, digits + whole, DIGITS_ROOM);
			at += 1 + n - whole;
		}
	}
	return (int)(at - buf);
}

struct nines decimal_nines[2048];

static void init_nines(struct nines *k, int e)
{
	int exp = (int)(((int64_t)e * 1292913986) >> 32);
	const struct power *next = get_power(exp + 1);
	bool exact = !next->lo && exp + 1 >= 0 && exp + 1 <= POWER_EXACT;

	/* 10^(exp + 1) is hi * 2^(exp + 64), or a little more: the first m that is not below it. */
	for (int i = 0; i < 2; i++) {
		const struct power *p = get_power(8 - exp - i);

		__atomic_store_n(&k->of[i].hi, p->hi, __ATOMIC_RELAXED);
		/* With m's top bit set, the product has 63 or 64 bits in its upper half, 27 to 31 of them whole. */
		__atomic_store_n(&k->of[i].shift, (uint32_t)((-160 - (e - 63) - p->exp) & 63),
			__ATOMIC_RELAXED);
		__atomic_store_n(&k->of[i].exp, exp + i, __ATOMIC_RELAXED);
	}
	/* 10^(exp + 1) is hi * 2^(exp + 64), or a little more: the first m that is not below it. */
	atomic_store_explicit(&k->cut, next->exp + 127 == e ? next->hi + !exact : UINT64_MAX,
		memory_order_release);
}

/*
 * Writes nine digits, `first` and the eight in `rest` (as made by compute_digits_8()), as %.9g does; `exp` is the decimal
 * exponent of the first. Stores pieces of fixed length; excess bytes are overwritten, or are after the end.
 */
static inline __attribute__((always_inline)) char *write_9_digit_text(
	char *at, uint32_t first, uint64_t rest, int64_t exp)
{
	int64_t n = __builtin_expect(rest != 0, 1) ? 2 + (63 - __builtin_clzll(rest)) / 8 : 1;
	uint64_t text = rest | ZEROS_OF_8, digits = htole64(text), shifted;

	if (__builtin_expect((uint64_t)exp < 9, 1)) {
		shifted = htole64(text >> (8 * exp & 63));
		at[0] = (char)('0' + first);
		memcpy(at + 1, &digits, 8);
		at[exp + 1] = '.';
		memcpy(at + exp + 2, &shifted, 8);
		return at + (n > exp + 1 ? n : exp) + 1;
	}
	if (exp < 0 && exp >= -4) {
		const uint64_t zeros = htole64(UINT64_C(0x303030302e30));

		memcpy(at, &zeros, 8);
		at -= exp;
		at[1] = (char)('0' + first);
		memcpy(at + 2, &digits, 8);
		return at + 1 + n;
	}
	at[0] = (char)('0' + first);
	at[1] = '.';
	memcpy(at + 2, &digits, 8);
	return write_exponent(at + n + (n > 1), (int)exp);
}

/* Makes the data for a number's exponent. Returns false if it exists already, or cannot be made. */
static bool add_nines(uint64_t bits)
{
	unsigned e = (unsigned)(bits >> 52 & 2047);

	if (e - 1 > 2045 || atomic_load_explicit(&decimal_nines[e].cut, memory_order_acquire))
		return false;
	init_nines(&decimal_nines[e], (int)e - 1023);
	return true;
}

__attribute__((noinline)) bool decimal_find_first_9(uint64_t bits, uint32_t *digits, int *exponent)
{
	return add_nines(bits) && decimal_find_9_quickly(bits, digits, exponent);
}

/*
 * decimal_format() for nine digits, for nearly all numbers. Returns NULL if the digits are not
 * certain for this one.
 */
static inline __attribute__((always_inline)) char *format_9_quickly(char *p, uint64_t bits)
{
	uint32_t n, first;
	int exp;

	if (__builtin_expect(!decimal_find_9_quickly(bits, &n, &exp), 0))
		return NULL;
	*p = '-';
	p += bits >> 63;
	first = n / 100000000;
	return write_9_digit_text(p, first, compute_digits_8(n - first * 100000000), exp);
}

static __attribute__((noinline)) char *format_9_first(char *p, uint64_t bits)
{
	return add_nines(bits) ? format_9_quickly(p, bits) : NULL;
}

static __attribute__((noinline)) char *write_rare_9(char *p, double v)
{
	uint64_t bits;
	char *end;

	memcpy(&bits, &v, sizeof(bits));
	end = format_9_first(p, bits);
	return end ? end : write_double(p, v, 9);
}

char *write_double_9(char *p, double v)
{
	uint64_t bits;
	char *end;

	memcpy(&bits, &v, sizeof(bits));
	end = format_9_quickly(p, bits);
	return __builtin_expect(end != NULL, 1) ? end : write_rare_9(p, v);
}

char *write_doubles_9(char *p, const double *v, unsigned n)
{
	for (const double *last = v + n; v < last; v++) {
		uint64_t bits;
		char *end;

		memcpy(&bits, v, sizeof(bits));
		end = format_9_quickly(p, bits);
		if (__builtin_expect(end == NULL, 0))
			end = bits ? write_rare_9(p, *v) : write_char(p, '0');
		p = write_char(end, ',');
	}
	return p;
}

int decimal_format(char *buf, double v, int digits)
{
	char text[DECIMAL_DIGITS_MAX + DIGITS_ROOM];
	uint64_t bits, m, n;
	int e, exp, left, sign = 0;
	bool up;

	memcpy(&bits, &v, sizeof(bits));
	if (digits == 9) {
		const char *end = format_9_quickly(buf, bits);

		if (!end)
			end = format_9_first(buf, bits);
		if (end)
			return (int)(end - buf);
	}
	if (bits >> 63) {
		buf[0] = '-';
		sign = 1;
	}
	m = bits & ((UINT64_C(1) << 52) - 1);
	e = (int)(bits >> 52 & 2047);
	if (e)
		m |= UINT64_C(1) << 52;
	else
		e = 1;
	e -= 1075;
	if (!m) {
		buf[sign] = '0';
		return sign + 1;
	}
	e -= __builtin_clzll(m);
	m <<= __builtin_clzll(m);
	/* log10(2^(e + 63)), rounded down, exact for every e. v is less than twice that: exp may be one too low. */
	exp = (int)(((int64_t)(e + 63) * 1292913986) >> 32);
	for (;;) {
		if (!compute_digits(m, e, digits - 1 - exp, &n, &up))
			return 0;
		if (n < tens[digits])
			break;
		exp++;
	}
	n += up;
	if (n == tens[digits]) {
		n /= 10;
		exp++;
	}
	left = digits == 9    ? write_9_digits(text, (uint32_t)n)
	       : digits == 17 ? write_17_digits(text, n)
			      : write_digits(text, n, digits);
	return sign + write_decimal_text(buf + sign, text, left, exp, digits);
}
