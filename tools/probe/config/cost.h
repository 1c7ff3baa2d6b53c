/* SPDX-License-Identifier: Apache-2.0 */
/* What a run cost per step, from the files that it left. */
#ifndef PROBE_TOOLS_COST_H
#define PROBE_TOOLS_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/model/read/folders.h"

struct cost {
	uint64_t steps; /* recorded ones that were looked at */
	double rows; /* of a typical step: the median, so that what is done once does not count */
	double step_bytes; /* of files, for such a step */
	double step_ns; /* of the job's threads in our code */
	double once_bytes; /* of the files that do not grow with the steps: stacks, communicators, modules, meta.json */
};

/* Of a rank, as far as its first files of calls say (COST_BYTES). False: no call was recorded. */
bool cost_of(struct cost *c, const struct rank_dir *dir);

#define COST_BYTES (256u << 20)

#endif
