/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas: ranks that have always put the same values into an operation at a place. Each new value that they have in common
 * confirms this, with the weight of as many numbers as could have differed (evidence.h).
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
/* Handles a complete meeting on whose parameters all ranks agree. */
void judge_replicas(struct replicas *r, const struct meeting *m);
/* Called after the last call. */
void weigh_replicas(struct replicas *r);

#endif
