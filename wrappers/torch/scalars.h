/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a training in PyTorch: what scalars.c (passes and steps) and scalar_ops.c (operators) share. */
#ifndef PROBE_WRAPPERS_TORCH_SCALARS_H
#define PROBE_WRAPPERS_TORCH_SCALARS_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct torch_function;

/* The value of a tensor of one real element in the host's memory. False: it is another one. */
bool torch_number_of(const void *impl, double *out);

/* The DataLoader's __next__ that this thread stands in has a batch. */
void torch_note_batch(void);

/* ---- operators (scalar_ops.c) ---- */

bool torch_is_scalar_op(const char *name); /* of the C++ struct; `call` only */
void torch_watch_scalar_op(struct torch_function *r, const char *name);
void torch_note_scalar_op(const struct call *c); /* it has returned; any operator */

/*
 * What a backward pass begins at on this thread: the value of the tensor whose gradient `grad` is that of the first root.
 * divisor: what the program divided it by before it scaled it, 0: not known. False: not seen.
 */
bool torch_root_of(const void *grad, double *value, double *divisor);

/* That buffer is about to be summed up over the ranks of a group. */
struct buffer;
void torch_note_summed(const struct buffer *v);

/* Has a total norm been found that has not been taken? */
bool torch_has_clip_norm(void);

/* The total norm of the gradients that clip_grad_norm_() found since this was asked. False: it found none. */
bool torch_take_clip_norm(double *norm);

/* The scaler has changed its scale, which that tensor holds. */
void torch_note_scale_update(const void *scale);

/* The loss scale that the gradients were freed of since this was asked. False: there was none. */
bool torch_take_loss_scale(double *scale);

#endif
