/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the column `step` of a rank whose steps were not marked, from the period of its calls (tools/lib/period.h): a step ends
 * with the last call of a period, as it would with a marker there.
 */
#ifndef PROBE_TOOLS_PROBE_RECOVER_FILL_STEPS_H
#define PROBE_TOOLS_PROBE_RECOVER_FILL_STEPS_H

#include <stdint.h>

enum fill_result {
	FILL_DONE,
	FILL_MARKED, /* steps are marked: nothing to do */
	FILL_NO_PERIOD,
	FILL_FAILED, /* reason in `why`; the files are unchanged, or the next run continues the work */
};

struct fill_info {
	enum fill_result result;
	uint64_t steps, rows;
	uint32_t calls; /* in a period */
	double confidence; /* 0..1 */
	char why[256]; /* for FILL_MARKED: the source of the marks */
};

extern const char *const fill_name[]; /* of enum fill_result, for JSON */

/*
 * path: the rank's folder, which no process writes and whose journal has been recovered. New files are written next to the old ones and
 * replace them when all are complete; after an interruption at any time it can be run again.
 */
void fill_steps(const char *path, struct fill_info *out);

#endif
