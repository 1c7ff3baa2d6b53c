/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading tensors of PyTorch (at::Tensor: a pointer to a TensorImpl) as they lie in memory.
 *
 * Nothing of PyTorch is called for a tensor: its accessors may throw, print a backtrace, warn, run Python or make a
 * lazy copy real, depending on what kind of tensor it is. The fields are read directly instead. Where they lie depends on
 * the version, so the first plain tensor that comes along is used to find out: the layout must hold together in itself,
 * and agree with what the library's own C functions (aoti_torch_*, or DLPack where it has none) say of that tensor.
 * Until then, and if it never does, tensors have no rows' statistics.
 */
#ifndef PROBE_WRAPPERS_TORCH_TENSOR_H
#define PROBE_WRAPPERS_TORCH_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

/*
 * Describes the tensor whose TensorImpl that is. False: it is undefined, or nothing is known of its shape (sparse, nested,
 * symbolic and the like): no row. v->nostats where its elements cannot be read on the host. v->io and v->index are the
 * caller's. The view points into the tensor, which must live as long.
 */
bool torch_tensor_buffer(const void *impl, struct buffer *v);

/*
 * Of a tensor that torch_tensor_buffer() has described: where it lies in the memory of a CUDA device, v->base and v->device. False: it
 * does not. v->nostats says no longer that it must not be read: only a stream may be asked to.
 */
bool torch_place_tensor(const void *impl, struct buffer *v);

/* The function of that name that the library exports; NULL: none, or one that is chosen when it is first called. */
void *torch_function_at(const char *name);

/* Is it decided how tensors are laid out, one way or the other? */
bool torch_tensor_decided(void);

/* Bytes that a TensorImpl begins with, before its storage; 0: the layout is not known (yet). */
int torch_header_bytes(void);
/* ---- tensors as objects of Python; the caller holds the GIL, or a reference ---- */

/* The TensorImpl of an instance of torch.Tensor; NULL: it lies in an unknown place. */
const void *torch_tensor_of_object(const void *object);

/* The object that stands for it, NULL: none does. */
const void *torch_tensor_object(const void *impl);

/* Its .grad, NULL: it has none. Runs no code of a subclass. */
const void *torch_tensor_grad(const void *impl);
bool torch_tensor_requires_grad(const void *impl);

/* The same into v->arg, where somebody wants it. */
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
