/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the period of a rank's calls (tools/lib/period.h) if its steps are not marked: the
 * number of calls in a round, the number of rounds, and the duration of one. The column `step` of
 * the rows is not changed.
 */
#ifndef PROBE_TOOLS_CYCLE_H
#define PROBE_TOOLS_CYCLE_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/times/hist.h"

#define CYCLE_SURE 0.5 /* minimum confidence of a period that is shown */
/* maximum number of ranks whose calls are examined; others are likely to be alike */
#define CYCLE_RANKS_MAX 64

struct cycle; /* of one rank */

struct cycle *cycle_new(void);
/*
 * Adds call c. The calls must come in the order of the rank's files, which is nearly that of their
 * starts.
 */
void cycle_call(struct cycle *y, const struct call *c);
void cycle_end(struct cycle *y); /* call this after the last call */
void cycle_free(struct cycle *y); /* y may be NULL */

struct cycle_found {
	uint32_t length; /* calls in a round; 0: no period */
	/* extra: skipped calls; changes: earlier patterns that no longer held. */
	uint64_t rounds, extra, changes;
	uint64_t first_seq; /* seq of the first call */
	double confidence; /* 0..1 */
	const struct hist *time; /* ns from the start of a round to the start of the next */
	uint32_t once; /* a function that is called once in each round; 0: none */
};

void cycle_result(const struct cycle *y, struct cycle_found *f);

#endif
