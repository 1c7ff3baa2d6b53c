/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas: ranks that have always put equal values into an operation at a call site. Each new
 * value that they share confirms this. Its weight is the number of elements that could have
 * differed (evidence.h).
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
	struct odd_meeting diverged; /* the finding for the whole run, set by weigh_replicas() */
};

void replicas_init(struct replicas *r, const struct clock_fix *skew);
void replicas_free(struct replicas *r);
/* Handles complete meeting m. Its parameters must be equal on all ranks. */
void judge_replicas(struct replicas *r, const struct meeting *m);
/* Call this after the last call. */
void weigh_replicas(struct replicas *r);

#endif
