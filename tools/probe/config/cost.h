/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a run per step, from the files that it wrote. */
#ifndef PROBE_TOOLS_COST_H
#define PROBE_TOOLS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/model/read/folders.h"

struct cost {
	uint64_t steps; /* recorded steps that were examined */
	double rows; /* rows of a typical step: the median, so that work done once does not count */
	double step_bytes; /* bytes in files for such a step */
	double step_ns; /* ns that the job's threads spent in libprobe during such a step */
	/*
	 * Bytes of the files that do not grow with the steps: stacks, communicators, modules,
	 * meta.json.
	 */
	double once_bytes;
};

/*
 * Computes the cost for one rank from the first COST_BYTES bytes of its calls files. Returns false
 * if no call was recorded.
 */
bool compute_run_cost(struct cost *c, const struct rank_dir *dir);

#define COST_BYTES (256u << 20)

#endif
