/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the rank that arrives last: for each communicator how late the last rank was, how long the others
 * waited for it, and which rank is the last one most often. An operation counts only if a rank was
 * still waiting when the last one arrived. Some MPIs do not wait in a collective without elements,
 * and the sender of a broadcast waits for no rank.
 */
#ifndef PROBE_TOOLS_LATE_H
#define PROBE_TOOLS_LATE_H

#include "tools/probe/model/times/hist.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"

/* One rank in one communicator. */
struct member {
	struct table_key key; /* a: communicator, b: index of the folder */
	uint64_t last; /* operations to which it arrived last while another rank waited */
	double wait_ns; /* total waiting time of the other ranks in these operations, ns */
	/*
	 * Like wait_ns, for asynchronous operations: how long the others' operations were pending until
	 * this rank arrived, ns.
	 */
	double stood_ns;
	uint64_t stood_until; /* the rank's own pending operations are counted up to this time */
	/* In these operations: how much later than the median rank it arrived, ns. */
	struct hist lag;
	double worst_ns; /* the larger of wait_ns and stood_ns in the worst operation */
	/* The worst operation: its call on the rank that spent the longest time in it. */
	struct call worst;
};

struct late_comm {
	struct table_key key; /* a: communicator */
	unsigned ranks; /* ranks that take part in its operations */
	uint64_t meetings; /* operations that all ranks entered and left */
	uint64_t held; /* number of these operations in which a rank waited for the last one */
	uint64_t incomplete;
	uint64_t mismatch; /* operations in which the ranks' calls did not match */
	double wait_ns; /* waiting time until the last rank arrived, summed over all ranks, ns */
	/*
	 * Asynchronous operations: time in which a rank had one pending and the last rank had not
	 * arrived, ns.
	 */
	double stood_ns;
	double wait_squares; /* sum of the squared waiting times of the operations, ns squared */
	double time_ns; /* time in these operations, summed over all ranks, ns */
	struct hist lag; /* from the start of the median rank to the start of the last one, ns */
	/* The rank that arrives last most often; NULL: none ever did. */
	const struct member *most;
	/* The rank for which the others waited longest in total; NULL: none. */
	const struct member *costly;
	struct hist spread; /* longest minus shortest duration of an operation, ns */
	double worst_ns; /* waiting or pending time of the other ranks in the worst operation, ns */
	const struct member *worst_for; /* the last rank of the worst operation */
};

struct late {
	struct table comms, members;
	const struct clock_fix *skew; /* by folder: the correction of its clock */
	uint64_t *starts; /* memory for the starts of one meeting */
	unsigned cap;
};

void late_init(struct late *l, const struct clock_fix *skew);
void late_free(struct late *l);

void late_meeting(struct late *l, const struct meeting *m, bool complete);

/* Returns the arrival of the rank that arrived last by the corrected clocks. */
const struct arrival *late_last(const struct late *l, const struct meeting *m);

#endif
