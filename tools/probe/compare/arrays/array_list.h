/* SPDX-License-Identifier: Apache-2.0 */
/* Readers for the list of tensors of a file, one for each file format. Used by arrays.c. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ARRAY_LIST_H
#define PROBE_TOOLS_PROBE_COMPARE_ARRAY_LIST_H

#include "tools/probe/compare/arrays/arrays.h"

/* Return NULL, or the problem, a constant string. */
const char *add_npy_arrays(struct array_file *f);
const char *add_torch_arrays(struct array_file *f);
const char *add_safetensors_arrays(struct array_file *f);

struct array *add_array(struct array_file *f, const char *name);

/*
 * Sets shape and stride of a, whose dtype, at and end must be set. stride NULL: contiguous. Returns
 * false if the tensor does not fit into its storage.
 */
bool set_array_shape(struct array *a, const int64_t *shape, const int64_t *stride, unsigned n);

void read_elements_as_double(double *out, const void *bytes, enum dtype dt, unsigned n);

#endif
