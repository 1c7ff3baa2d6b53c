/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of higher layers of wrappers/torch that lower layers call. */
#include "wrappers/torch/tensors/train_observers.h"

#include <stddef.h>

const struct torch_train_observer *const train_observers[] = {
	&names_observer,
	&kinds_observer,
	&scalars_observer,
	&module_call_observer,
	&function_watch_observer,
	&gradients_observer,
	&compiled_observer,
	&flops_observer,
	/*
	 * after all observers that read gradients: it removes them after its begin, and restores
	 * them at its end
	 */
	&withhold_observer,
	&stop_observer, /* raises an exception, after all other observers have seen the end */
	NULL,
};

void (*const torch_gradients_sent)(const struct buffer *b) = torch_record_gradients_sent;
