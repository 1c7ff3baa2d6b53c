/* SPDX-License-Identifier: Apache-2.0 */
/* Element types; every library's own enum is mapped to them. The names are used in column `dtype`. */
#ifndef PROBE_BASE_DTYPE_H
#define PROBE_BASE_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum dtype {
	DT_OTHER = 0, /* derived, pair, long double ...: bytes only, no statistics */
	DT_BOOL,
	DT_INT8,
	DT_INT16,
	DT_INT32,
	DT_INT64,
	DT_UINT8,
	DT_UINT16,
	DT_UINT32,
	DT_UINT64,
	DT_FLOAT8_E4M3FN,
	DT_FLOAT8_E5M2,
	DT_BFLOAT16,
	DT_FLOAT16,
	DT_FLOAT32,
	DT_FLOAT64,
	DT_COMPLEX64,
	DT_COMPLEX128,
	DT_FLOAT8_E8M0FNU, /* a power of two without a sign: scales of MXFP8 */
	DT_FLOAT8_E4M3FNUZ, /* no -0, no Inf, 0x80 is NaN */
	DT_FLOAT8_E5M2FNUZ,
	/* an element is a byte with two numbers, the first in the lower half */
	DT_FLOAT4_E2M1FN_X2,
	DT_COUNT
};

/* The member of union stats_value that contains min and max of a dtype. */
enum dtype_class { DTC_NONE, DTC_SIGNED, DTC_UNSIGNED, DTC_FLOAT };

struct dtype_info {
	const char *name;
	uint8_t size; /* bytes of one element; 0 for DT_OTHER */
	uint8_t cls; /* enum dtype_class of the real components */
	/*
	 * Enum dtype of one real component: float32 for complex64, otherwise the type itself.
	 * DT_OTHER: the component is half a byte, which is not a dtype.
	 */
	uint8_t component;
	uint8_t wide; /* 1: 64-bit type, printed with 17 digits instead of 9 */
};

extern const struct dtype_info dtype_table[DT_COUNT];

static inline const struct dtype_info *get_dtype_info(unsigned dt)
{
	return &dtype_table[dt < DT_COUNT ? dt : DT_OTHER];
}

/* Returns the dtype with this name (exact match), or -ENOENT. */
int dtype_from_name(const char *name);

#endif
