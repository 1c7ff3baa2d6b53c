/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python functions named in key `watch_functions`: the numbers that they get and return become
 * rows of kind `watched`, such as losses that a program stores separately (Megatron's
 * save_to_aux_losses_tracker). A function is hooked at the first event after its definition that
 * libprobe sees: gradients switched on or off, a backward pass, an optimizer's step.
 */
#ifndef PROBE_WRAPPERS_TORCH_FUNCTION_WATCH_H
#define PROBE_WRAPPERS_TORCH_FUNCTION_WATCH_H

#include <stdbool.h>

/* True if key watch_functions names a function. */
bool torch_has_watch_list(void);

/* Looks for functions that are not hooked yet, if the calling thread holds the GIL. */
void torch_set_function_hooks_now(void);

#endif
