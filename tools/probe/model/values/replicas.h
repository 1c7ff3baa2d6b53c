/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that have always put the same values into an operation at a place: replicas. Each new value that they have in common confirms it by
 * as many numbers as could have differed (evidence.h).
 */
#ifndef PROBE_TOOLS_REPLICAS_H
#define PROBE_TOOLS_REPLICAS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/values/odd_meeting.h"

struct replicas {
	struct table places; /* struct replica_place */
	const struct clock_fix *skew;
	struct odd_meeting diverged; /* of the whole run, after weigh_replicas() */
};

void replicas_init(struct replicas *r, const struct clock_fix *skew);
void replicas_free(struct replicas *r);
/* A complete meeting on whose terms all ranks agree. */
void judge_replicas(struct replicas *r, const struct meeting *m);
/* All calls were read. */
void weigh_replicas(struct replicas *r);

#endif
