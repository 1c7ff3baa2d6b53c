/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/scalar.h"

#include <stddef.h>

const char *const scalar_names[SCALARS + 1] = {
#define SCALAR(id, name, unit, source, help) name,
#include "terms/scalars.def"
	NULL,
};
