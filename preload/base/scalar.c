/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scalar.h"

#include <stddef.h>

const char *const scalar_names[SCALARS + 1] = {
#define SCALAR(id, name, unit, source, help) name,
#include "base/scalars.def"
	NULL,
};
