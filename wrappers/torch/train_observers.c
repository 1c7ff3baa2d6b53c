/* SPDX-License-Identifier: Apache-2.0 */
/* What rooms of PyTorch have for those below them. */
#include "wrappers/torch/tensors/train_observers.h"

#include <stddef.h>

const struct torch_train_observer *const train_observers[] = {
	&names_observer,
	&kinds_observer,
	&scalars_observer,
	&module_call_observer,
	&gradients_observer,
	&compiled_observer,
	&flops_observer,
	&withhold_observer, /* behind all that read them: gradients are gone behind its begin, and there again behind its end */
	&stop_observer, /* raises, when all others have seen the end */
	NULL,
};

void (*const torch_gradients_sent)(const struct buffer *b) = torch_record_gradients_sent;
