/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter statistics of a PyTorch training: shared by kinds.c and kinds_accumulate.c. */
#ifndef PROBE_WRAPPERS_TORCH_KINDS_H
#define PROBE_WRAPPERS_TORCH_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "training/params/param.h"

#define TORCH_DTYPE_PREFIX "torch." /* prefix of type names in files of parameter statistics */

/* A backward pass has ended: with monitor_mbs_grad, writes the gradients measured in it. */
void torch_write_pass_gradients(void);

/*
 * The step of an optimizer with parameter `id` begins: writes its last measurement; the next pass
 * counts as its first.
 */
void torch_write_step_gradient(const struct train_params *all, uint32_t id);

/* True if an optimizer's step is in progress. Any thread. */
bool torch_step_is_open(void);

/* In a forked child. */
void torch_kinds_forked(void);
void torch_accumulate_forked(void);

#endif
