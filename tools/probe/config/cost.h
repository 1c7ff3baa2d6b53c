/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a run per step, from the files that it wrote. */
#ifndef PROBE_TOOLS_COST_H
#define PROBE_TOOLS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/model/read/folders.h"

struct cost {
	uint64_t steps; /* recorded steps that were examined */
	double rows; /* of a typical step: the median, so that one-time work does not count */
	double step_bytes; /* of files, for such a step */
	double step_ns; /* of the job's threads in libprobe's code */
	double once_bytes; /* of the files that do not grow with the steps: stacks, communicators, modules, meta.json */
};

/* For one rank, from the first part of its calls files (COST_BYTES). False: no call was recorded. */
bool cost_of(struct cost *c, const struct rank_dir *dir);

#define COST_BYTES (256u << 20)

#endif
