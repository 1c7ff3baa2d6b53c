/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the user that map names in A to other names in B. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_MAPPING_H
#define PROBE_TOOLS_PROBE_COMPARE_MAPPING_H

#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/compare/entries/dump.h"

struct mapping *make_mapping(void);

/* YAML, names of A as keys: full names of tensors ("...input.0"). NULL: reported. */
struct mapping *read_data_mapping(const char *path);
void free_mapping(struct mapping *m);

/* Maps a whole call of A to its partner in B; NULL: it has none. */
void map_call_name(struct mapping *m, const char *from, const char *to);

/* The name in B of an item of the call `call`; NULL: it has none. */
const char *map_item_name(struct mapping *m, const char *call, const struct item *i);

#endif
