/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a training that have one value per step (scalars.def). */
#ifndef PROBE_BASE_SCALAR_H
#define PROBE_BASE_SCALAR_H

#include <stdbool.h>

enum scalar {
#define SCALAR(id, name, ranks, unit, source, help) SCALAR_##id,
#include "terms/scalars.def"
	SCALARS
};

/* Names of the scalars, NULL-terminated. */
extern const char *const scalar_names[SCALARS + 1];

/*
 * True if the ranks of one model must have the same value of scalar `name`: the name in
 * scalars_<a>-<b>.csv, with or without a part after a slash.
 */
bool scalar_is_equal_on_ranks(const char *name);

#endif
