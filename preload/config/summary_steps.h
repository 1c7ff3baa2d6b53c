/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CONFIG_SUMMARY_STEPS_H
#define PROBE_CONFIG_SUMMARY_STEPS_H

#include "config/rooms/room.h"
#include "config/rooms/steps.h"
#include "config/rooms/tensorboard.h"

/*
 * True if the summary of key summary_dir includes `step`: the first step, and each
 * summary_interval-th.
 */
static inline bool config_summary_has(const struct config *c, uint32_t step)
{
	return step == (uint64_t)get_steps_keys(c)->start_iteration ||
	       ((uint64_t)step + 1) % (uint64_t)get_tensorboard_keys(c)->summary_interval == 0;
}

#endif
