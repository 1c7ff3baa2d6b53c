/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_EXPORT_MEANS_H
#define PROBE_TOOLS_PROBE_EXPORT_MEANS_H

#include "tools/probe/model/read/folders.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/model/step_numbers.h"

struct means {
	struct step_numbers numbers;
	uint64_t first_ns; /* first time of the run */
};

void means_open(struct means *m);
void means_add(struct means *m, const struct rank_dir *d, const struct overlay *o, uint32_t rank,
	uint64_t step_lo, uint64_t step_hi);

/*
 * Writes the folder `mean` in the folder `to` if there are any means. Returns 0 or STATUS_USAGE
 * (reported).
 */
int means_write(struct means *m, const char *folder);
void means_close(struct means *m);

#endif
