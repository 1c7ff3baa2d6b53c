/* SPDX-License-Identifier: Apache-2.0 */
/* Elements as numbers. Sums are formed in rank order in double (integers in 64 bits) and rounded once. */
#include <math.h>
#include <string.h>

#include "double.h"

static const uint8_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

size_t number_size(ncclDataType_t dt)
{
	return (unsigned)dt < sizeof(sizes) ? sizes[dt] : 0;
}

static bool is_integer(ncclDataType_t dt)
{
	return (unsigned)dt <= 5;
}

/* Small floating-point types: sign, e exponent bits, m mantissa bits. e4m3 has no infinity, and one NaN. */
static double small_to_double(unsigned v, int e, int m, bool no_inf)
{
	int bias = (1 << (e - 1)) - 1, max = (1 << e) - 1;
	int exponent = (int)(v >> m) & max, mantissa = (int)(v & ((1u << m) - 1));
	double x;

	if (exponent == max && (!no_inf || mantissa == (1 << m) - 1))
		x = mantissa ? NAN : INFINITY;
	else if (exponent == 0)
		x = ldexp(mantissa, 1 - bias - m);
	else
		x = ldexp(mantissa + (1 << m), exponent - bias - m);
	return v >> (e + m) & 1 ? -x : x;
}

static unsigned small_from_double(double x, int e, int m, bool no_inf)
{
	int bias = (1 << (e - 1)) - 1, max = (1 << e) - 1, exponent;
	unsigned sign = signbit(x) ? 1u << (e + m) : 0, top = (unsigned)max << m;
	unsigned nan = no_inf ? top | ((1u << m) - 1) : top | 1u << (m - 1);
	double a = fabs(x), r;

	if (isnan(x))
		return sign | nan;
	if (a == 0)
		return sign;
	frexp(a, &exponent);
	exponent--;
	if (exponent < 1 - bias)
		exponent = 1 - bias;
	r = isinf(a) ? INFINITY : nearbyint(ldexp(a, m - exponent)); /* to even */
	if (r >= ldexp(1, m + 1)) {
		r /= 2;
		exponent++;
	}
	if (isinf(r) || exponent + bias > (no_inf ? max : max - 1))
		return sign | (no_inf ? nan : top);
	if (r < ldexp(1, m))
		return sign | (unsigned)r;
	return sign | (unsigned)(exponent + bias) << m | ((unsigned)r & ((1u << m) - 1));
}

static double load(const unsigned char *p, ncclDataType_t dt)
{
	uint16_t h;
	float f;
	double d;

	switch ((int)dt) {
	case 6:
		memcpy(&h, p, 2);
		return small_to_double(h, 5, 10, false);
	case 7:
		memcpy(&f, p, 4);
		return f;
	case 8:
		memcpy(&d, p, 8);
		return d;
	case 9:
		memcpy(&h, p, 2);
		return small_to_double(h, 8, 7, false);
	case 10:
		return small_to_double(*p, 4, 3, true);
	default:
		return small_to_double(*p, 5, 2, false);
	}
}

static void store(unsigned char *p, ncclDataType_t dt, double x)
{
	uint16_t h;
	float f;

	switch ((int)dt) {
	case 6:
	case 9:
		h = (uint16_t)((int)dt == 6 ? small_from_double(x, 5, 10, false)
					    : small_from_double(x, 8, 7, false));
		memcpy(p, &h, 2);
		break;
	case 7:
		f = (float)x;
		memcpy(p, &f, 4);
		break;
	case 8:
		memcpy(p, &x, 8);
		break;
	default:
		*p = (unsigned char)((int)dt == 10 ? small_from_double(x, 4, 3, true)
						   : small_from_double(x, 5, 2, false));
	}
}

static int64_t load_int(const unsigned char *p, ncclDataType_t dt)
{
	int32_t i;
	uint32_t u;
	int64_t l;

	switch ((int)dt) {
	case 0:
		return (int8_t)*p;
	case 1:
		return *p;
	case 2:
		memcpy(&i, p, 4);
		return i;
	case 3:
		memcpy(&u, p, 4);
		return u;
	default:
		memcpy(&l, p, 8);
		return l;
	}
}

static int64_t combine_int(int64_t a, int64_t b, int op, bool is_unsigned)
{
	bool less = is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;

	switch (op) {
	case 1:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case 2:
		return less ? b : a;
	case 3:
		return less ? a : b;
	default:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	}
}

static double combine(double a, double b, int op)
{
	switch (op) {
	case 1:
		return a * b;
	case 2:
		return fmax(a, b);
	case 3:
		return fmin(a, b);
	default:
		return a + b;
	}
}

void number_reduce(void *out, const void *const *in, int nin, size_t n, ncclDataType_t dt, int op,
	double scale)
{
	size_t size = number_size(dt);
	bool is_unsigned = dt == 1 || dt == 3 || dt == 5;

	for (size_t i = 0; i < n; i++) {
		unsigned char *to = (unsigned char *)out + i * size;

		if (is_integer(dt)) {
			int64_t acc = load_int((const unsigned char *)in[0] + i * size, dt);

			for (int r = 1; r < nin; r++)
				acc = combine_int(acc,
					load_int((const unsigned char *)in[r] + i * size, dt), op,
					is_unsigned);
			if (op == 4)
				acc = is_unsigned ? (int64_t)((uint64_t)acc / (uint64_t)nin)
						  : acc / nin;
			memcpy(to, &acc, size);
		} else {
			double acc = load((const unsigned char *)in[0] + i * size, dt) * scale;

			for (int r = 1; r < nin; r++)
				acc = combine(acc,
					load((const unsigned char *)in[r] + i * size, dt) * scale,
					op);
			store(to, dt, op == 4 ? acc / nin : acc);
		}
	}
}
