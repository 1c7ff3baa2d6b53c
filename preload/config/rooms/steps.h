/* SPDX-License-Identifier: Apache-2.0 */
/* Keys about when and on which ranks calls are recorded, and what ends a step. */
#ifndef PROBE_CONFIG_ROOMS_STEPS_H
#define PROBE_CONFIG_ROOMS_STEPS_H

#include "config/rooms/room.h"

enum step_boundary { STEP_BOUNDARY_OPTIMIZER, STEP_BOUNDARY_ITERATION };

struct steps_keys {
	/* when and on which ranks */
	struct ranges rank, step; /* empty: all */
	/* the steps and ranks whose calls are recorded; empty: all */
	struct ranges profile_rank, profile_step;
	int64_t start_step, step_interval;
	int64_t collect_times; /* maximum number of recorded steps; 0: no limit, -1: no step */
	bool dynamic_on; /* false: nothing is recorded until it becomes true */
	bool dynamic_monitor; /* dynamic_on is switched as in msprobe's monitor */
	char *armable; /* sections and functions that may be switched on later */
	int64_t ctl_margin_s; /* seconds from `probe ctl` to the step at which all ranks switch */
	char *step_marker; /* function whose call ends a step (config/marker.h), "": none */
	int64_t step_marker_count; /* only every n-th call of step_marker ends a step */
	/* number of the optimizer whose steps count if there are several, or "any" */
	char *step_anchor;
	enum step_boundary step_boundary; /* where a step ends if its optimizer marks it */
	int64_t grad_acc_steps; /* micro steps in a step; 0: counted from events */
	int64_t start_iteration; /* number of the first step */
	/* Not a key: the step from which this configuration is used; collect_times counts from there. */
	uint64_t in_force_from;
};

CONFIG_ROOM(steps)

#endif
