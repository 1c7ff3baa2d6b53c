/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRAPPERS_TORCH_OPTIMIZER_IDENTITY_H
#define PROBE_WRAPPERS_TORCH_OPTIMIZER_IDENTITY_H

#include <stdint.h>

/*
 * Returns a number for the optimizer whose step begins on this thread: not 0, and equal for all
 * steps of one optimizer. place: a hash of its class and of the line that called step().
 * Optimizers that step from one line (a loop over a pair, a function that gets one of them) are
 * distinguished as long as both exist; one that replaced another counts as the same.
 */
uint64_t find_optimizer_identity(uint64_t place);

#endif
