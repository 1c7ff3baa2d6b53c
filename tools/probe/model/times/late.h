/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank arrives last: per communicator how late the last rank was, how long the others waited for it, and which rank it is
 * most often. Only operations count in which a rank was still waiting when the last one arrived: some MPIs do not wait in a
 * collective without elements, and the sender of a broadcast waits for no rank.
 */
#ifndef PROBE_TOOLS_LATE_H
#define PROBE_TOOLS_LATE_H

#include "tools/probe/model/times/hist.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"

/* One rank in one communicator. */
struct member {
	struct table_key key; /* a: communicator, b: index of the folder */
	uint64_t last; /* times it arrived last while another rank waited for it */
	double wait_ns; /* total waiting time of the others in these operations */
	double stood_ns; /* the same for asynchronous operations: how long the others' operations were pending because of it */
	uint64_t stood_until; /* its own pending operations are counted up to this time */
	struct hist lag; /* in these operations: how much later than the middle rank it arrived */
	double worst_ns; /* the larger of wait_ns and stood_ns, in the worst operation */
	struct call worst; /* that operation on the rank that spent the longest time in it */
};

struct late_comm {
	struct table_key key; /* a: communicator */
	unsigned ranks; /* ranks that take part */
	uint64_t meetings; /* operations that all ranks entered and left */
	uint64_t held; /* of these, operations in which a rank waited for the last one */
	uint64_t incomplete;
	uint64_t unlike; /* operations in which the ranks did different things */
	double wait_ns; /* sum over all ranks, until the last one arrived */
	double stood_ns; /* asynchronous operations: time in which a rank had one pending and the last one had not arrived */
	double wait_squares; /* sum of the squared waiting times of the operations, ns squared */
	double time_ns; /* time in these operations, over all ranks */
	struct hist lag; /* from the middle rank's start to the last one's */
	const struct member
		*most; /* the member that arrives last most often; NULL: none ever did */
	const struct member *costly; /* the member for which the others waited longest in total */
	struct hist spread; /* longest minus shortest duration */
	double worst_ns; /* waiting or pending time of the others in the worst operation */
	const struct member *worst_for; /* the last rank of that operation */
};

struct late {
	struct table comms, members;
	const struct clock_fix *skew; /* ns to add to the clock of each folder */
	uint64_t *starts; /* room for the starts of one meeting */
	unsigned cap;
};

void late_init(struct late *l, const struct clock_fix *skew);
void late_free(struct late *l);

void late_meeting(struct late *l, const struct meeting *m, bool complete);

/* The arrival that was last, by the corrected clocks. */
const struct arrival *late_last(const struct late *l, const struct meeting *m);

#endif
