/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Action `stop` of an alert (training/steps/stop.h): raises ValueError after the outermost step of an optimizer, like the limit
 * of withheld steps (withhold.c). The update has been made by then, and the script's own handlers, checkpoints and exit code
 * take effect.
 */
#include "base/log.h"
#include "training/steps/stop.h"
#include "wrappers/python/change.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/tensors/train_observers.h"

static void stop_job_at_step(const struct torch_train_event *e)
{
	char text[STOP_TEXT_MAX];
	struct py_object_lock hold;
	const char *why;
	bool raised;

	if (!e->outermost)
		return;
	stop_job_offer();
	if (!stop_job_take(text))
		return;
	/* If the GIL is not available, the interpreter is already ending. */
	if (!py_lock_objects(&hold, &why))
		return;
	raised = py_set_value_error(text);
	py_unlock_objects(&hold);
	if (!raised)
		log_info(1, "the job could not be ended: %s", text);
}

const struct torch_train_observer stop_observer = {
	.optimizer_end = stop_job_at_step,
};
