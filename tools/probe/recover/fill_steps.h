/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in the column `step` of a rank whose steps were not marked, from the period of its calls
 * (tools/lib/period.h). A step ends with the last call of a period, as if a marker were called
 * after it.
 */
#ifndef PROBE_TOOLS_PROBE_RECOVER_FILL_STEPS_H
#define PROBE_TOOLS_PROBE_RECOVER_FILL_STEPS_H

#include <stdint.h>

enum fill_result {
	FILL_DONE,
	FILL_MARKED, /* steps are marked, so nothing has to be done */
	/* The reason is in `why`; the files are unchanged, or the next run continues the work. */
	FILL_NO_PERIOD,
	FILL_FAILED,
};

struct fill_info {
	enum fill_result result;
	uint64_t steps, rows;
	uint32_t calls; /* number of calls in a period */
	double confidence; /* 0..1 */
	char why[256]; /* for FILL_MARKED: what marked the steps */
};

extern const char *const fill_name[]; /* names of enum fill_result in JSON */

/*
 * Fills in the steps of the rank's folder `path`. No process may write to the folder, and its
 * journal must have been recovered. New files are written beside the old ones and replace them when
 * all are complete. If this is interrupted, it can be run again.
 */
void write_missing_steps(const char *path, struct fill_info *out);

#endif
