/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of linear algebra to buffers: matrices with a leading dimension, vectors with an increment
 * (EXT_MATRIX, EXT_VECTOR). Their terms are those of BLAS: matrices are column-major unless the call has an order,
 * their shape is that in which they are stored, and what is multiplied by 0 is not looked at, be the pointer what it may.
 */
#ifndef PROBE_CALL_MATRIX_H
#define PROBE_CALL_MATRIX_H

#include "api/api.h"
#include "call/call.h"

/* Fills in what says where the elements of *v lie; its type is the caller's matter. Lives as long as *c. */
void describe_matrix_buffer(struct call *c, const struct extent *e, struct buffer *v);

/* Is the factor, alpha or beta, other than 0? True where the call has none, or one that cannot be read. */
bool is_factor_set(const struct api_spec *s, const union arg *v, enum extent_where which);

/* Is that element 0, or -0? Of all its components. */
bool is_zero_element(const void *p, unsigned dtype);

/* No library reads an input where the output has no element, or anything where a leading dimension is too small. */
void check_matrices(struct operation *w);

#endif
