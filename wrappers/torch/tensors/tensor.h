/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads PyTorch's tensors (at::Tensor: a pointer to a TensorImpl) directly from memory.
 *
 * No function of PyTorch is called for a tensor: its accessors may throw, print a backtrace, warn, run Python or
 * materialise a lazy copy, depending on the kind of tensor. The fields are read directly instead. Their offsets depend
 * on the version, so they are learnt from the first plain tensor: the layout must be consistent, and agree with the
 * library's own C functions (aoti_torch_*, or DLPack if it has none) for that tensor. Until then, and if that never
 * succeeds, tensors have no statistics.
 */
#ifndef PROBE_WRAPPERS_TORCH_TENSOR_H
#define PROBE_WRAPPERS_TORCH_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

/*
 * Describes the tensor of a TensorImpl in *v. Returns false if it is undefined, or its shape is
 * not known (sparse, nested, symbolic and similar): then it has no row. Sets v->nostats if its
 * elements cannot be read on the host. The caller sets v->io and v->index. *v points into the
 * tensor, which must live as long.
 */
bool torch_read_tensor(const void *impl, struct buffer *v);

/*
 * For a tensor described by torch_read_tensor(): sets v->base and v->device to its address in
 * the memory of a CUDA device, and clears v->nostats: but only a stream may read it. Returns
 * false if the tensor is not on such a device.
 */
bool torch_set_device_address(const void *impl, struct buffer *v);

/* Returns the exported function `name`; NULL if there is none, or it is an IFUNC. */
void *torch_find_function(const char *name);

/* True if it has been decided whether the layout of tensors is known. */
bool torch_tensor_decided(void);

/*
 * Returns the number of bytes before the storage in a TensorImpl; 0: the layout is not known
 * (yet).
 */
int torch_get_header_bytes(void);
/* ---- tensors as objects of Python; the caller holds the GIL, or a reference ---- */

/* Returns the TensorImpl of an instance of torch.Tensor; NULL: the offset is not known. */
const void *torch_get_tensor_of_object(const void *object);

/* Returns the Python object of a TensorImpl, NULL: none. */
const void *torch_get_python_object(const void *impl);

bool torch_is_grad_required(const void *impl);

/* Stores in v->arg whether the tensor requires a gradient, if that is needed. */
void torch_set_grad_flag(const void *impl, struct buffer *v);

/* In a forked child. */
void torch_tensor_forked(void);

/* Iterates over a std::vector<at::Tensor>, as pointers to TensorImpl. */
struct torch_list {
	void *const *at;
	uint64_t n;
};
struct torch_list torch_read_vector(const void *vector);

/* Iterates over a std::vector<std::vector<at::Tensor>>. */
uint64_t torch_get_vector_count(const void *vectors);
struct torch_list torch_get_vector(const void *vectors, uint64_t i);

#endif
