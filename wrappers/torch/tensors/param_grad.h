/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a tensor (p.grad), read from its TensorImpl: autograd_meta_ -> grad_. Where that lies is learnt from what
 * c10::TensorImpl::grad() const gives back for the first tensor that has one: a reference to it. No Python, no accessor of a
 * subclass runs.
 */
#ifndef PROBE_WRAPPERS_TORCH_PARAM_GRAD_H
#define PROBE_WRAPPERS_TORCH_PARAM_GRAD_H

#include <stdbool.h>

#include "call/data/view.h"

/* The TensorImpl of the gradient; NULL: there is none (which may be the undefined tensor's), or it is not known where it lies. */
const void *torch_grad_impl(const void *impl);

/* What a tensor is that is not defined: of it there is one. NULL: this version does not export it. */
const void *torch_undefined_impl(void);

/* Its elements; false: as above, or it has none that are known (sparse ...). */
bool torch_grad_buffer(const void *impl, struct buffer *b);

/* Do its elements lie one behind the other, in the order of its dimensions? */
bool torch_buffer_is_dense(const struct buffer *b);

/*
 * Some of the elements of a tensor that lie one behind the other, as a tensor of that shape. False: it does not have them. dims
 * live as long as b is used.
 */
bool torch_window_buffer(
	struct buffer *b, uint64_t at, uint64_t count, const uint64_t *dims, uint8_t ndim);

#endif
