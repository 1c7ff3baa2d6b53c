/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns arguments of linear algebra into buffers: matrices with a leading dimension, vectors with
 * an increment (EXT_MATRIX, EXT_VECTOR). Terms are those of BLAS. Matrices are column-major
 * unless the call has an order argument; the recorded shape is that of the matrix as stored. If a
 * factor (alpha, beta) is 0, the library does not read the operand, whatever its pointer is.
 */
#ifndef PROBE_CALL_MATRIX_H
#define PROBE_CALL_MATRIX_H

#include "api/api.h"
#include "call/call.h"

/*
 * Sets the fields of *v that locate its elements; the caller sets dtype. *v is valid as long as
 * *c.
 */
void describe_matrix_buffer(struct call *c, const struct extent *e, struct buffer *v);

/*
 * False if factor `which` (alpha or beta) is 0. True also if the call has no such factor, or it
 * cannot be read.
 */
bool is_factor_set(const struct api_spec *s, const union arg *v, enum extent_where which);

/* True if all components of the element at p are 0 or -0. */
bool is_zero_element(const void *p, unsigned dtype);

/*
 * Drops buffers that no library reads: the inputs if the output has no element, all if a leading
 * dimension is too small.
 */
void check_matrices(struct operation *w);

#endif
