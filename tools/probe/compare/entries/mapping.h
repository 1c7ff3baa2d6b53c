/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings from names in A to names in B, given by the user. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_MAPPING_H
#define PROBE_TOOLS_PROBE_COMPARE_MAPPING_H

#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/compare/entries/dump.h"

struct mapping *mapping_init(void);

/*
 * Reads a YAML file that maps full names of tensors ("...input.0") of A to those of B. Returns NULL
 * if that fails (reported).
 */
struct mapping *read_data_mapping(const char *path);
void free_mapping(struct mapping *m);

/* Maps a call of A to its partner in B; NULL: it has none. */
void map_call_name(struct mapping *m, const char *call, const char *partner);

/* Returns the name in B of item i of A's call `call`, or NULL if it has none. */
const char *map_item_name(struct mapping *m, const char *call, const struct item *i);

#endif
