/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of a library's enum mean (keys dtype and redop of a spec). */
#ifndef PROBE_SPEC_ENUM_VALUE_H
#define PROBE_SPEC_ENUM_VALUE_H

#include <stdint.h>

struct spec_value {
	int64_t value;
	uint8_t to; /* enum dtype or enum redop */
};

#endif
