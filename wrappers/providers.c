/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries whose functions have no compiled wrappers; to add one, add a line. */
#include "entry/stubs/provider.h"

extern const struct runtime_provider torch_provider; /* wrappers/torch/registry.c */
extern const struct runtime_provider ms_provider; /* wrappers/mindspore/registry.c */

extern const struct runtime_provider ms_kernel_provider; /* wrappers/mindspore/kernel_entry.c */
extern const struct runtime_provider aclnn_provider; /* wrappers/aclnn/aclnn.c */

const struct runtime_provider *const wrapper_providers[] = {
	&torch_provider, &ms_provider, &ms_kernel_provider, &aclnn_provider, NULL};
