/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a batch, from the arguments with which the model is called: for trainings whose batches come from no DataLoader.
 */
#include <stddef.h>

#include "training/steps/step_times.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/passes/module_call.h"

static void record_model_input(const struct torch_module_call *c)
{
	uint64_t samples = 0, tokens = 0;
	struct py_object_lock hold;
	bool found = false;
	const char *why;

	if (c->depth || c->again || !c->training || !py_lock_objects(&hold, &why))
		return;
	for (uint32_t i = 0; i < c->nargs && !found; i++)
		found = tree_compute_batch(c->args[i], &samples, &tokens);
	py_unlock_objects(&hold);
	if (found && samples)
		record_input_size(samples, tokens);
}

const struct torch_module_observer batch_observer = {
	.wanted = step_is_batch_wanted,
	.begin = record_model_input,
};
