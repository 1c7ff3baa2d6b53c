/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a tensor (p.grad), read from its TensorImpl: autograd_meta_ -> grad_. The offset is learnt from
 * c10::TensorImpl::grad() const, which returns a reference to it, at the first tensor that has one. No Python and no
 * accessor of a subclass runs.
 */
#ifndef PROBE_WRAPPERS_TORCH_PARAM_GRAD_H
#define PROBE_WRAPPERS_TORCH_PARAM_GRAD_H

#include <stdbool.h>

#include "call/data/view.h"

/* The TensorImpl of the gradient; NULL: there is none (it may be the undefined tensor), or its offset is not known. */
const void *torch_grad_impl(const void *impl);

/* The undefined tensor's TensorImpl, which is unique. NULL: this version does not export it. */
const void *torch_undefined_impl(void);

/* Its elements; false: as above, or the tensor has no known elements (sparse ...). */
bool torch_grad_buffer(const void *impl, struct buffer *b);

/* True if its elements are contiguous, in the order of its dimensions. */
bool torch_buffer_is_dense(const struct buffer *b);

/*
 * Some of the elements of a contiguous tensor, as a tensor of that shape. False: it does not have them. dims must live as long
 * as b is used.
 */
bool torch_window_buffer(
	struct buffer *b, uint64_t at, uint64_t count, const uint64_t *dims, uint8_t ndim);

#endif
