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
 * Describes the tensor of that TensorImpl. False: it is undefined, or its shape is not known (sparse, nested, symbolic and
 * similar): no row. Sets v->nostats if its elements cannot be read on the host. The caller sets v->io and v->index. The view
 * points into the tensor, which must live as long.
 */
bool torch_tensor_buffer(const void *impl, struct buffer *v);

/*
 * For a tensor described by torch_tensor_buffer(): sets v->base and v->device to its address in the memory of a CUDA device.
 * False: it is not on one. v->nostats then no longer forbids reading it: but only a stream may read it.
 */
bool torch_place_tensor(const void *impl, struct buffer *v);

/* The exported function of that name; NULL: none, or one that is selected on first use (IFUNC). */
void *torch_function_at(const char *name);

/* True if the layout of tensors has been decided, known or not. */
bool torch_tensor_decided(void);

/* Bytes that a TensorImpl begins with, before its storage; 0: the layout is not known (yet). */
int torch_header_bytes(void);
/* ---- tensors as objects of Python; the caller holds the GIL, or a reference ---- */

/* The TensorImpl of an instance of torch.Tensor; NULL: its offset is not known. */
const void *torch_tensor_of_object(const void *object);

/* Its Python object, NULL: none. */
const void *torch_tensor_object(const void *impl);

bool torch_tensor_requires_grad(const void *impl);

/* Stores whether a gradient is computed for it in v->arg, if that is needed. */
void torch_note_grad(const void *impl, struct buffer *v);

/* In a forked child. */
void torch_tensor_forked(void);

/* A std::vector<at::Tensor>, as pointer to TensorImpl each. */
struct torch_list {
	void *const *at;
	uint64_t n;
};
struct torch_list torch_vector(const void *vector);

/* A std::vector<std::vector<at::Tensor>>. */
uint64_t torch_vectors(const void *vectors);
struct torch_list torch_vectors_at(const void *vectors, uint64_t i);

#endif
