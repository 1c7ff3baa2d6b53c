/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a training in PyTorch: shared by scalars.c (passes and steps) and scalar_ops.c (operators). */
#ifndef PROBE_WRAPPERS_TORCH_SCALARS_H
#define PROBE_WRAPPERS_TORCH_SCALARS_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct torch_function;

/*
 * Reads the value of a one-element tensor of real type in the host's memory. Returns false for
 * other tensors.
 */
bool torch_read_number(const void *impl, double *out);

/* The DataLoader's __next__ has a batch; this thread is still in it. */
void torch_record_batch(void);

/* ---- operators (scalar_ops.c) ---- */

bool torch_is_scalar_op(const char *name); /* name: of the C++ struct; only its `call` */
void torch_register_scalar_op(struct torch_function *r, const char *name);
void torch_record_scalar_op(const struct call *c); /* any operator has returned */

/* ---- total norms (norm_ops.c) ---- */

/* Buffer v is about to be summed over the ranks of a group. */
struct buffer;
void torch_record_sum_buffer(const struct buffer *v);

/*
 * A buffer is about to be summed by a communicator of `ranks` ranks: for DTensors it may contain
 * the norms of the parameters.
 */
void torch_record_norm_sum(int ranks);

/*
 * Called when these operators have returned: stack(), vector_norm(), pow() and sqrt(), item().
 * impl: a number, or an object that is not a plain tensor.
 */
struct torch_list;
void torch_record_stack(const struct torch_list *from, const void *made);
void torch_record_norm(const void *operand, const void *impl);
void torch_record_root(const void *operand, const void *impl);
void torch_record_item(const void *operand);

/* A backward pass begins on this thread: earlier sums are not the norm of its gradients. */
void torch_reset_sums(void);

/* True if a total norm has been found and not used yet, also if its value is to come from a device. */
bool torch_has_clip_norm(void);

/* An optimizer's step has ended, which used the norm. */
void torch_reset_late_norm(void);

/*
 * True if a number that may be the square of the total norm has been summed up, and must be
 * confirmed by torch_match_norm().
 */
bool torch_has_sums(void);

/*
 * squares: the sum of the squares of this rank's gradients at the start of the step; parts: other
 * ranks have the rest. If one of the noted sums agrees with it, that sum is the square of the
 * total norm, which torch_read_and_reset_clip_norm() then returns. Returns false if none agrees.
 */
bool torch_match_norm(double squares, bool parts);

/*
 * Stores the total norm that the program has computed since the last call of this function.
 * Returns false if there was none.
 */
bool torch_read_and_reset_clip_norm(double *norm);

/* The gradient scaler has changed its scale, which is in tensor `scale`. */
void torch_record_scale_update(const void *scale);

/*
 * Stores the loss scale by which the gradients were divided since the last call of this function.
 * Returns false if they were not divided.
 */
bool torch_read_and_reset_loss_scale(double *scale);

#endif
