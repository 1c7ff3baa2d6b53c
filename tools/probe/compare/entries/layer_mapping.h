/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_LAYER_MAPPING_H
#define PROBE_TOOLS_PROBE_COMPARE_LAYER_MAPPING_H

#include "tools/probe/compare/entries/mapping.h"

/*
 * Maps each call of A to the corresponding call of B in m. rules: a file; "": no file. Returns 0 or
 * STATUS_USAGE (reported).
 */
int map_layers(struct mapping *m, const char *rules, struct dump *a, struct dump *b);

#endif
