/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/step_name.h"

static const char *const names[STEP_SOURCES] = {
	[STEP_NONE] = "none",
	[STEP_OPTIMIZER] = "optimizer",
	[STEP_MARKER] = "marker",
	[STEP_PCONTROL] = "pcontrol",
	[STEP_API] = "api",
};

const char *get_step_source_name(uint32_t s)
{
	return names[s < STEP_SOURCES ? s : STEP_NONE];
}
