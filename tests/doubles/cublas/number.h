/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of the cuBLAS stand-ins by their cudaDataType, as doubles. */
#ifndef PROBE_TESTS_DOUBLES_CUBLAS_NUMBER_H
#define PROBE_TESTS_DOUBLES_CUBLAS_NUMBER_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { R32, R64, R16, RI8, C32, C64, RU8 = 8, RI32 = 10, RBF16 = 14, CUDA_TYPES };

static const int bytes_of_type[CUDA_TYPES] = {
	4, 8, 2, 1, 8, 16, [RU8] = 1, [RI32] = 4, [RBF16] = 2};

static inline int is_complex_type(int type)
{
	return type == C32 || type == C64;
}

static inline double half_value(uint16_t h)
{
	int e = h >> 10 & 31;
	double v = e == 31 ? (h & 1023 ? NAN : INFINITY)
		   : e	   ? ldexp(1024 + (h & 1023), e - 25)
			   : ldexp(h & 1023, -24);

	return h >> 15 ? -v : v;
}

/* Rounded to the nearest, to an even one where two are. */
static inline uint16_t half_bits(double v)
{
	unsigned sign = signbit(v) ? 0x8000 : 0;
	int e;

	v = fabs(v);
	if (!(v < 65520))
		return (uint16_t)(sign | (isnan(v) ? 0x7e00 : 0x7c00));
	frexp(v, &e);
	e = e > -13 ? e : -13;
	return (uint16_t)(sign | (unsigned)((e + 13) * 1024 + (int)rint(ldexp(v, 11 - e))));
}

static inline double bfloat_value(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Element i of p; of a complex number, the real part. */
static inline double get(int type, const void *p, int64_t i)
{
	switch (type) {
	case R64:
		return ((const double *)p)[i];
	case R16:
		return half_value(((const uint16_t *)p)[i]);
	case RBF16:
		return bfloat_value(((const uint16_t *)p)[i]);
	case RI8:
		return ((const int8_t *)p)[i];
	case RU8:
		return ((const uint8_t *)p)[i];
	case RI32:
		return ((const int32_t *)p)[i];
	case C32:
		return (double)((const float *)p)[2 * i];
	case C64:
		return ((const double *)p)[2 * i];
	default:
		return (double)((const float *)p)[i];
	}
}

/* bfloat16: cut off. */
static inline void put(int type, void *p, int64_t i, double v)
{
	float f = (float)v;
	uint32_t bits;

	switch (type) {
	case R64:
		((double *)p)[i] = v;
		break;
	case RBF16:
		memcpy(&bits, &f, sizeof(bits));
		((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
		break;
	case R16:
		((uint16_t *)p)[i] = half_bits(v);
		break;
	case RU8:
		((uint8_t *)p)[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
		break;
	case RI32:
		((int32_t *)p)[i] = (int32_t)v;
		break;
	default:
		((float *)p)[i] = f;
	}
}

static inline double complex get_complex(int type, const void *p, int64_t i)
{
	if (type == C32)
		return get(R32, p, 2 * i) + I * get(R32, p, 2 * i + 1);
	if (type == C64)
		return get(R64, p, 2 * i) + I * get(R64, p, 2 * i + 1);
	return get(type, p, i);
}

static inline void put_complex(int type, void *p, int64_t i, double complex v)
{
	int part = type == C64 ? R64 : R32;

	if (is_complex_type(type)) {
		put(part, p, 2 * i, creal(v));
		put(part, p, 2 * i + 1, cimag(v));
	} else {
		put(type, p, i, creal(v));
	}
}

/*
 * A factor or an array of addresses "on the device" lies a page after its address, which cannot be read: a read of it crashes
 * without asking.
 */
#define ON_DEVICE 4096

#endif
