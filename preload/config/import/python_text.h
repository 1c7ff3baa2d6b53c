/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a value of a training's own file as Python's str() prints it: MindSpore Transformers
 * writes its configuration this way.
 */
#ifndef PROBE_CONFIG_PYTHON_TEXT_H
#define PROBE_CONFIG_PYTHON_TEXT_H

#include "text/text.h"
#include "config/config_tree.h"

/* n NULL is printed as None. Keys of maps are texts. */
void python_write_text(struct text *out, const struct tree_node *n);

/* Writes a float as repr() does: the fewest digits that identify the number, `1e-08`, `270.0`. */
void python_write_float(struct text *out, double v);

#endif
