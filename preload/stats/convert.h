/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts elements in memory, of any alignment, to double. Exact for every type; NaN stays NaN,
 * Inf stays Inf.
 */
#ifndef PROBE_STATS_CONVERT_H
#define PROBE_STATS_CONVERT_H

#include <stdint.h>
#include <string.h>

static inline double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline uint64_t bits_of_double(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

static inline uint16_t load_u16(const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load_u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Converts a small format with `mant` bits of mantissa. mag: exponent and mantissa; sign: only
 * the sign bit, at its position in a double. The mantissa is converted as an integer and
 * multiplied by a power of two. This needs no branch (signs are unpredictable), and no arithmetic
 * on denormal doubles, which costs a microcode assist per element on many CPUs.
 */
static inline double small_float(uint64_t sign, uint32_t mag, unsigned mant, unsigned bias)
{
	uint32_t exponent = mag >> mant;
	uint32_t denormal = exponent == 0;
	uint32_t digits = (mag & ((1u << mant) - 1)) + ((1 - denormal) << mant);
	uint64_t scale = (uint64_t)(exponent + denormal + 1023 - bias - mant) << 52;

	return (double)(int32_t)digits * double_of(sign | scale);
}

static inline double half_of(uint32_t h)
{
	uint32_t mag = h & 0x7fff;
	uint64_t sign = (uint64_t)(h & 0x8000) << 48;

	if (__builtin_expect(mag >= 0x7c00, 0))
		return double_of(sign | 0x7ff0000000000000 | (uint64_t)mag << 42);
	return small_float(sign, mag, 10, 15);
}

static inline double load_f16(const unsigned char *p)
{
	return half_of(load_u16(p));
}

/* float8_e5m2 is the upper half of float16. */
static inline double load_e5m2(const unsigned char *p)
{
	return half_of((uint32_t)*p << 8);
}

/* e4m3fn has no Inf: the largest exponent is an ordinary one, and only all ones is NaN. */
static inline double load_e4m3fn(const unsigned char *p)
{
	uint32_t mag = *p & 0x7f;

	if (__builtin_expect(mag == 0x7f, 0))
		return __builtin_nan("");
	return small_float((uint64_t)(*p & 0x80) << 56, mag, 3, 7);
}

/* fnuz formats: the bias is one higher than that of e4m3fn and e5m2; the code of -0 is NaN. */
static inline double load_fnuz(const unsigned char *p, unsigned mant, unsigned bias)
{
	if (__builtin_expect(*p == 0x80, 0))
		return __builtin_nan("");
	return small_float((uint64_t)(*p & 0x80) << 56, *p & 0x7f, mant, bias);
}

static inline double load_e4m3fnuz(const unsigned char *p)
{
	return load_fnuz(p, 3, 8);
}

static inline double load_e5m2fnuz(const unsigned char *p)
{
	return load_fnuz(p, 2, 16);
}

/* e8m0fnu is 2^(x - 127): no sign, no zero, no Inf. */
static inline double load_e8m0fnu(const unsigned char *p)
{
	if (__builtin_expect(*p == 0xff, 0))
		return __builtin_nan("");
	return double_of((uint64_t)(*p + 1023 - 127) << 52);
}

/* e2m1 in the low 4 bits of x: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and a sign. */
static inline double e2m1_of(uint32_t x)
{
	return small_float((uint64_t)(x & 8) << 60, x & 7, 1, 1);
}

static inline double single_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline double load_f32(const unsigned char *p)
{
	return single_of(load_u32(p));
}

/* bfloat16 is the upper half of float32. */
static inline double load_bf16(const unsigned char *p)
{
	return single_of((uint32_t)load_u16(p) << 16);
}

static inline double load_f64(const unsigned char *p)
{
	return double_of(load_u64(p));
}

#endif
