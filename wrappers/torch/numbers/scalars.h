/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a training in PyTorch: shared by scalars.c (passes and steps) and scalar_ops.c (operators). */
#ifndef PROBE_WRAPPERS_TORCH_SCALARS_H
#define PROBE_WRAPPERS_TORCH_SCALARS_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct torch_function;

/* The value of a tensor of one real element in the host's memory. False: it is another one. */
bool torch_number_of(const void *impl, double *out);

/* The DataLoader's __next__ in which this thread is has a batch. */
void torch_note_batch(void);

/* ---- operators (scalar_ops.c) ---- */

bool torch_is_scalar_op(const char *name); /* of the C++ struct; `call` only */
void torch_watch_scalar_op(struct torch_function *r, const char *name);
void torch_note_scalar_op(const struct call *c); /* it has returned; any operator */

/* ---- total norms (norm_ops.c) ---- */

/* That buffer is about to be summed up over the ranks of a group. */
struct buffer;
void torch_note_summed(const struct buffer *v);

/* Something is about to be summed up by a communicator of that many ranks: of DTensors the norms of each parameter are. */
void torch_note_norm_sum(int ranks);

/*
 * Operators that have returned: stack(), vector_norm(), pow() and sqrt(), item(). impl: of a number, or of something
 * that is no plain tensor.
 */
struct torch_list;
void torch_note_stack(const struct torch_list *from, const void *made);
void torch_note_norm_of(const void *of, const void *impl);
void torch_note_root(const void *of, const void *impl);
void torch_note_item(const void *of);

/* A backward pass begins on this thread: earlier sums are not the norm of its gradients. */
void torch_forget_sums(void);

/* True if a total norm has been found and not used yet. */
bool torch_has_clip_norm(void);

/* True if a number that may be the square of the total norm has been summed up; it then has to be confirmed. */
bool torch_has_sums(void);

/*
 * squares: the sum of those of the gradients that the step begins with, as far as this rank has them; parts: other ranks have
 * the rest. A sum that agrees with it is the square of the total norm: torch_take_clip_norm() gives that. False: none does.
 */
bool torch_settle_norm(double squares, bool parts);

/* The total norm that the program has found since this was asked. False: it found none. */
bool torch_take_clip_norm(double *norm);

/* The scaler has changed its scale, which that tensor holds. */
void torch_note_scale_update(const void *scale);

/* The loss scale that the gradients were freed of since this was asked. False: there was none. */
bool torch_take_loss_scale(double *scale);

#endif
