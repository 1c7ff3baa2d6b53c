/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from step.c, which needs a session: the tools print these names too. */
#include "call/step.h"

static const char *const names[STEP_SOURCES] = {
	[STEP_NONE] = "none",
	[STEP_PERIOD] = "period",
	[STEP_OPTIMIZER] = "optimizer",
	[STEP_MARKER] = "marker",
	[STEP_PCONTROL] = "pcontrol",
	[STEP_API] = "api",
};

const char *step_source_name(uint32_t s)
{
	return names[s < STEP_SOURCES ? s : STEP_NONE];
}
