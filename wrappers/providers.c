/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries whose functions have no compiled wrappers; a new one is a line here. */
#include "entry/runtime.h"
#include "wrappers/torch/torch.h"

const struct runtime_provider *const wrapper_providers[] = {&torch_provider, NULL};
