/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/stub.h"
#include "life/life.h"
#include "life/settings.h"
#include "session/state.h"
#include "training/steps/step_times.h"
#include "writer/writer.h"

const struct session_hooks session_hooks = {
	.configure = life_configure,
	.start = life_start,
	.wake_writer = writer_wake,
	.help_writer = writer_help,
	.config_changed = life_config_changed,
	.step_ending = step_times_close,
	.step_ended = writer_step,
	.window_changed = stub_rest_unwanted,
	.step_unrecorded = life_step_unrecorded,
	.look_at_config = life_check_config,
	.describe_late = life_describe_late,
	.end = session_end,
	.exiting = life_exiting,
	.aborting = life_aborting,
};
