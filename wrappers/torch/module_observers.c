/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the table module_observers. */
#include "wrappers/torch/passes/module_call.h"

#include <stddef.h>

const struct torch_module_observer *const module_observers[] = {
	&activations_observer,
	&module_dump_observer,
	&attention_observer,
	&expert_routing_observer,
	&batch_observer,
	&module_stacks_observer,
	NULL,
};
