/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a tensor (p.grad), read from its TensorImpl: autograd_meta_ -> grad_. The
 * offset is learnt from c10::TensorImpl::grad() const, which returns a reference to grad_, at the
 * first tensor that has a gradient. No Python and no accessor of a subclass runs.
 */
#ifndef PROBE_WRAPPERS_TORCH_PARAM_GRAD_H
#define PROBE_WRAPPERS_TORCH_PARAM_GRAD_H

#include <stdbool.h>

#include "call/data/view.h"

/*
 * Returns the TensorImpl of the gradient (which may be the undefined tensor); NULL: there is
 * none, or the offset is not known.
 */
const void *torch_get_grad(const void *impl);

/*
 * Returns the TensorImpl of the undefined tensor, which is unique. NULL: this version does not
 * export it.
 */
const void *torch_get_undefined(void);

/*
 * Describes the gradient. Returns false if there is none, or its elements are not known (sparse
 * ...).
 */
bool torch_get_grad_buffer(const void *impl, struct buffer *b);

/* True if the elements are contiguous, in the order of the dimensions. */
bool torch_buffer_is_dense(const struct buffer *b);

/*
 * Reduces *b, a contiguous tensor, to `count` of its elements from number `at` on, with the given
 * shape. Returns false if it does not have them. dims must live as long as b is used.
 */
bool torch_set_buffer_range(
	struct buffer *b, uint64_t at, uint64_t count, const uint64_t *dims, uint8_t ndim);

#endif
