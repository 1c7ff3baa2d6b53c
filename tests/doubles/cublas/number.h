/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of the cuBLAS stand-ins by their cudaDataType, as doubles. */
#ifndef PROBE_TESTS_DOUBLES_CUBLAS_NUMBER_H
#define PROBE_TESTS_DOUBLES_CUBLAS_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { R32, R64, R16, RBF16 = 14, CUDA_TYPES };

static const int bytes_of_type[CUDA_TYPES] = {4, 8, 2, [RBF16] = 2};

static inline double half_value(uint16_t h)
{
	int e = h >> 10 & 31;
	double v = e == 31 ? (h & 1023 ? NAN : INFINITY)
		   : e	   ? ldexp(1024 + (h & 1023), e - 25)
			   : ldexp(h & 1023, -24);

	return h >> 15 ? -v : v;
}

static inline double bfloat_value(uint16_t b)
{
	uint32_t bits = (uint32_t)b << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline double get(int type, const void *p, int64_t i)
{
	switch (type) {
	case R64:
		return ((const double *)p)[i];
	case R16:
		return half_value(((const uint16_t *)p)[i]);
	case RBF16:
		return bfloat_value(((const uint16_t *)p)[i]);
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
	default:
		((float *)p)[i] = f;
	}
}

/*
 * A factor or an array of addresses "on the device" lies a page behind its address, which nobody may read: so it shows who does
 * without asking.
 */
#define ON_DEVICE 4096

#endif
