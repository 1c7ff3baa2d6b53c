/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the period of a rank's calls (tools/lib/period.h), if its steps are not marked: the number of calls in a round, of
 * its repetitions, and its duration. The rows' column `step` does not change.
 */
#ifndef PROBE_TOOLS_CYCLE_H
#define PROBE_TOOLS_CYCLE_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/times/hist.h"

#define CYCLE_SURE 0.5 /* least confidence of a period that is shown */
#define CYCLE_RANKS_MAX 64 /* ranks whose calls are examined; others are likely to be the same */

struct cycle; /* of one rank */

struct cycle *cycle_new(void);
/* Adds calls in the order of the rank's files, which is nearly that of their starts. */
void cycle_call(struct cycle *y, const struct call *c);
void cycle_end(struct cycle *y); /* no more calls */
void cycle_free(struct cycle *y); /* NULL: nothing */

struct cycle_found {
	uint32_t length; /* calls in a round; 0: no period */
	uint64_t rounds, extra, changes; /* calls skipped; patterns given up */
	uint64_t first_seq; /* seq of the first call */
	double confidence; /* 0..1 */
	const struct hist *time; /* ns from the start of one round to that of the next */
	uint32_t once; /* a function that is called once a round, 0: none */
};

void cycle_result(const struct cycle *y, struct cycle_found *f);

#endif
