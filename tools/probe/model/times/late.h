/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who comes last: per communicator how late the last rank was, how long the others waited for it, and which rank it
 * is most often. Only operations count in which a rank was still there when the last one came: some MPIs let ranks go on through a
 * collective without elements, and who sends a broadcast waits for nobody.
 */
#ifndef PROBE_TOOLS_LATE_H
#define PROBE_TOOLS_LATE_H

#include "tools/probe/model/times/hist.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"

/* One rank in one communicator. */
struct member {
	struct table_key key; /* a: communicator, b: index of the folder */
	uint64_t last; /* times it was the last to come, and waited for */
	double wait_ns; /* of the others for it, then */
	double stood_ns; /* the same of asynchronous operations: how long those of the others stood open for it */
	uint64_t
		stood_until; /* moment up to which its own stood open for another rank, as far as counted */
	struct hist behind; /* then: how far behind the middle one */
	double worst_ns; /* of wait_ns and stood_ns, in the worst operation */
	struct call worst; /* that operation on the rank that was in it longest */
};

struct late_comm {
	struct table_key key; /* a: communicator */
	unsigned ranks; /* that take part */
	uint64_t meetings; /* operations that all ranks reached and left */
	uint64_t held; /* those of them in which a rank waited for the last one */
	uint64_t incomplete;
	uint64_t unlike; /* operations in which the ranks did not do the same */
	double wait_ns; /* of all ranks together, before the last had come */
	double stood_ns; /* asynchronous operations: time in which a rank had one open and the last had not come */
	double wait_squares; /* sum of the squares of what was waited in each operation, ns squared */
	double time_ns; /* of all ranks together, inside these operations */
	struct hist behind; /* the last rank behind the middle one */
	const struct member *most; /* the member that is most often last; NULL: none ever was */
	const struct member *costly; /* the member for which the others waited longest altogether */
	struct hist spread; /* longest minus shortest duration */
	double worst_ns; /* that the others waited, or theirs stood open, in the worst one */
	const struct member *worst_for; /* for this one */
};

struct late {
	struct table comms, members;
	const struct clock_fix *skew; /* ns to add to the clock of each folder */
	uint64_t *starts; /* room for one meeting */
	unsigned cap;
};

void late_init(struct late *l, const struct clock_fix *skew);
void late_free(struct late *l);

void late_meeting(struct late *l, const struct meeting *m, bool complete);

/* The arrival that came last, with the clocks set right. */
const struct arrival *late_last(const struct late *l, const struct meeting *m);

#endif
