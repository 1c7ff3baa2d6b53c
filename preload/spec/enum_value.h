/* SPDX-License-Identifier: Apache-2.0 */
/* Meaning of the numbers of a library's enum (keys dtype and redop of a spec). */
#ifndef PROBE_SPEC_ENUM_VALUE_H
#define PROBE_SPEC_ENUM_VALUE_H

#include <stdint.h>

struct spec_value {
	int64_t value;
	uint8_t to; /* enum dtype or enum redop */
};

/* A list in the order of the spec; the position of a row has no meaning. The generator makes <library>_dtypes, _redops. */
struct spec_values {
	uint32_t n;
	struct spec_value row[];
};

/*
 * Returns the meaning of `value` in the library's enum; `other` if the spec does not list it.
 * values: NULL for a library without such a table. A C enum is an int: if an argument was passed
 * as one, only its low 32 bits are defined, so the caller passes (int32_t)value.
 */
uint8_t spec_value_find(const struct spec_values *values, int64_t value, uint8_t other);

#endif
