/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/scalar.h"

#include <stddef.h>
#include <string.h>

const char *const scalar_names[SCALARS + 1] = {
#define SCALAR(id, name, ranks, unit, source, help) name,
#include "terms/scalars.def"
	NULL,
};

enum scalar_ranks { OWN, EQUAL };

static const enum scalar_ranks on_ranks[SCALARS] = {
#define SCALAR(id, name, ranks, unit, source, help) ranks,
#include "terms/scalars.def"
};

bool scalar_is_equal_on_ranks(const char *name)
{
	size_t n = strcspn(name, "/");

	for (unsigned i = 0; i < SCALARS; i++)
		if (strlen(scalar_names[i]) == n && memcmp(scalar_names[i], name, n) == 0)
			return on_ranks[i] == EQUAL;
	return false;
}
