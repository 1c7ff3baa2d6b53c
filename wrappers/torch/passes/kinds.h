/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of a PyTorch training: what kinds.c and kinds_accumulate.c share. */
#ifndef PROBE_WRAPPERS_TORCH_KINDS_H
#define PROBE_WRAPPERS_TORCH_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/param.h"

#define TORCH_DTYPE_PREFIX "torch." /* of the types' names in files of kinds */

/* A backward pass has ended: what it measured is written, with monitor_mbs_grad. */
void torch_gradients_of_pass(void);

/* The step of an optimizer begins that has this parameter: what was measured last is written, and the next pass is its first. */
void torch_gradient_of_step(const struct train_params *all, uint32_t id);

/* An optimizer's step goes on. Any thread. */
bool torch_step_is_open(void);

/* In a forked child. */
void torch_kinds_forked(void);

#endif
