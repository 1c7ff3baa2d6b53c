/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of PyTorch's upper rooms that lower rooms call. */
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
	/* after all that read gradients: they are removed after its begin, and restored at its end */
	&withhold_observer,
	&stop_observer, /* raises, when all others have seen the end */
	NULL,
};

void (*const torch_gradients_sent)(const struct buffer *b) = torch_record_gradients_sent;
