/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a tensor (p.grad), read from its TensorImpl: autograd_meta_ -> grad_. Where that lies is learnt from what
 * c10::TensorImpl::grad() const gives back for the first tensor that has one: a reference to it. No Python, no accessor of a
 * subclass runs.
 */
#ifndef PROBE_WRAPPERS_TORCH_PARAM_GRAD_H
#define PROBE_WRAPPERS_TORCH_PARAM_GRAD_H

#include <stdbool.h>

#include "call/view.h"

/* The TensorImpl of the gradient; NULL: there is none (which may be the undefined tensor's), or it is not known where it lies. */
const void *torch_grad_impl(const void *impl);

/* Its elements; false: as above, or it has none that are known (sparse ...). */
bool torch_grad_buffer(const void *impl, struct buffer *b);

#endif
