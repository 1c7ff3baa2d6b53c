/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of library `module` (terms/module_part.h): several for each module, made when it is called for the first time. GIL held.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_ROWS_H
#define PROBE_WRAPPERS_TORCH_MODULE_ROWS_H

#include "terms/module_part.h"

struct api;
struct module_rows;
struct named_module;

/* Returns NULL if there are too many rows, or no memory. */
struct module_rows *find_or_add_module_rows(struct named_module *m, const char *class_name);

/* part: FORWARD, OUTPUT, GRADIENT. */
struct api *get_module_row(const struct module_rows *r, enum module_part part);

/* For the other parts, which have a name of their own. Returns NULL as find_or_add_module_rows(). */
struct api *find_or_add_keyed_row(struct module_rows *r, enum module_part part, const char *name);

#endif
