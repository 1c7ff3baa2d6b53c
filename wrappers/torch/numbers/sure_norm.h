/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The norm of the gradients at the beginning of a step, only if it is certain and equal on all
 * ranks: for withholding steps (withhold.c). The norm in scalars.c may be a guess, and is not
 * used here. It is one of:
 *
 * - the norm computed by torch.nn.utils.clip_grad_norm_ and its parts: for a DTensor the local part
 *   of a replica, after a sum over all ranks; for plain gradients if DDP has reduced them over all
 *   ranks in the last pass;
 * - else the norm of the gradients themselves, if each is complete: computed in a fixed order, so
 *   that equal gradients have an equal norm.
 */
#ifndef PROBE_WRAPPERS_TORCH_SURE_NORM_H
#define PROBE_WRAPPERS_TORCH_SURE_NORM_H

#include <stdbool.h>
#include <stddef.h>

struct torch_optimizer_view;

/* The result for a step's norm. */
enum sure_norm {
	SURE_NORM, /* *norm is set */
	NO_GRADIENTS, /* there is nothing to withhold */
	UNSURE_NORM, /* not certain; *why is the reason */
};

/* A backward pass that accumulates gradients begins: earlier observations do not belong to its gradients. */
void sure_norm_reset(void);

/*
 * clip_grad.py has computed a total norm. value: NULL if it cannot be read; replica: the norm of
 * DTensors.
 */
void sure_norm_record_clip(const double *value, bool replica);

/*
 * Gradients are divided by the loss scale: a norm computed before is not that of the divided
 * gradients.
 */
void sure_norm_record_unscale(void);

/* A norm, or its parts, were passed to a communicator of `ranks` ranks to be summed. */
void sure_norm_record_sum(int ranks);

/* DDP reduces the gradients of n parameters (TensorImpl) over `ranks` ranks. */
void sure_norm_record_reduced(const void *const *impl, size_t n, int ranks);

/*
 * To be called when the step of optimizer v begins. The norm is used up: it does not apply to
 * another optimizer's step.
 */
enum sure_norm sure_norm_read(const struct torch_optimizer_view *v, double *norm, const char **why);

void sure_norm_forked(void);

#endif
