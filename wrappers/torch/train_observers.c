/* SPDX-License-Identifier: Apache-2.0 */
/* The table, and nothing else. */
#include "wrappers/torch/train_observers.h"

#include <stddef.h>

const struct torch_train_observer *const train_observers[] = {
	&names_observer,
	&kinds_observer,
	&scalars_observer,
	&module_call_observer,
	&gradients_observer,
	&compiled_observer,
	&flops_observer,
	&withhold_observer, /* the last: gradients are gone behind its begin, and there again behind its end */
	NULL,
};
