/* SPDX-License-Identifier: Apache-2.0 */
/* Names of A that mean other names of B: files that the user gives. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_MAPPING_H
#define PROBE_TOOLS_PROBE_COMPARE_MAPPING_H

#include "tools/probe/compare/compare.h"
#include "tools/probe/compare/dump.h"

/* YAML, names of A as keys: full names of tensors ("...input.0"). NULL: reported. */
struct mapping *read_data_mapping(const char *path);
void free_mapping(struct mapping *m);

/* The name in B of an item of the call `call`; NULL: it has none. */
const char *map_item_name(const struct mapping *m, const char *call, const struct item *i);

#endif
