/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a training that have one value a step (scalars.def). */
#ifndef PROBE_BASE_SCALAR_H
#define PROBE_BASE_SCALAR_H

enum scalar {
#define SCALAR(id, name, unit, source, help) SCALAR_##id,
#include "terms/scalars.def"
	SCALARS
};

/* Their names, NULL-terminated. */
extern const char *const scalar_names[SCALARS + 1];

#endif
