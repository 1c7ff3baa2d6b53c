/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_LAYER_MAPPING_H
#define PROBE_TOOLS_PROBE_COMPARE_LAYER_MAPPING_H

#include "tools/probe/compare/entries/mapping.h"

/* Puts each call of A and the corresponding call of B into m. rules: a file; "": none. Returns 0 or STATUS_USAGE (reported). */
int map_layers(struct mapping *m, const char *rules, struct dump *a, struct dump *b);

#endif
