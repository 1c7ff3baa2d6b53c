/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python functions named in key `watch_functions`: the numbers that they are called with and give back become rows of kind `watched`,
 * such as losses that a program keeps apart (Megatron's save_to_aux_losses_tracker). A function is hooked from the first moment at
 * which it is defined and PyTorch does something that is seen: gradients switched on or off, a backward pass, an
 * optimizer's step.
 */
#ifndef PROBE_WRAPPERS_TORCH_FUNCTION_WATCH_H
#define PROBE_WRAPPERS_TORCH_FUNCTION_WATCH_H

#include <stdbool.h>

/* True if the configuration names any. */
bool torch_watches_functions(void);

/* Looks for those that are not hooked yet, if the calling thread holds the GIL. */
void torch_watch_functions_now(void);

#endif
