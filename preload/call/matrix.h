/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments of linear algebra to buffers: matrices with a leading dimension, vectors with an increment
 * (EXT_MATRIX, EXT_VECTOR). Terms are those of BLAS. Matrices are column-major unless the call has an order; their
 * shape is that in which they are stored. A factor 0 means that its operand is not read, whatever its pointer is.
 */
#ifndef PROBE_CALL_MATRIX_H
#define PROBE_CALL_MATRIX_H

#include "api/api.h"
#include "call/call.h"

/* Sets the fields of *v that tell where its elements are; the caller sets its type. Valid as long as *c. */
void describe_matrix_buffer(struct call *c, const struct extent *e, struct buffer *v);

/* True if the factor, alpha or beta, is not 0. Also if the call has none, or one that cannot be read. */
bool is_factor_set(const struct api_spec *s, const union arg *v, enum extent_where which);

/* True if all components of that element are 0 or -0. */
bool is_zero_element(const void *p, unsigned dtype);

/*
 * Drops buffers that no library reads: inputs if the output has no element, and all if a leading dimension is too
 * small.
 */
void check_matrices(struct operation *w);

#endif
