/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the list of tensors of a file, by its format; shared by arrays.c and these readers. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ARRAY_LIST_H
#define PROBE_TOOLS_PROBE_COMPARE_ARRAY_LIST_H

#include "tools/probe/compare/arrays/arrays.h"

/* NULL: success; otherwise the problem, a constant text. */
const char *list_npy_array(struct array_file *f);
const char *list_torch_arrays(struct array_file *f);
const char *list_safetensors(struct array_file *f);

struct array *add_array(struct array_file *f, const char *name);

/* dtype, at and end are set. stride NULL: contiguous. False: the tensor does not fit into its storage. */
bool set_array_shape(struct array *a, const int64_t *shape, const int64_t *stride, unsigned n);

void convert_elements(double *out, const void *bytes, enum dtype dt, unsigned n);

#endif
