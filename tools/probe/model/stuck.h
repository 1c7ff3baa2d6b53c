/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups the open calls of all ranks: which operation is blocked, which ranks are in it, which
 * ranks are missing, and the last call of these.
 */
#ifndef PROBE_TOOLS_STUCK_H
#define PROBE_TOOLS_STUCK_H

#include "tools/probe/model/gather.h"

enum absent_why {
	ABSENT_NEVER, /* has not entered, and is blocked in no other known call */
	ABSENT_OTHER, /* is blocked in another call */
	ABSENT_PAST, /* has already left the operation */
	ABSENT_ENDED, /* has not entered, and its process has finished */
	ABSENT_NO_DATA, /* has no folder */
	ABSENT_UNREAD, /* its folder was not read */
	/* Skips calls to keep max_overhead, so it may be in the operation or have left it. */
	ABSENT_THINNED,
};

/* Ranks of the communicator that are absent from the operation for the same reason. */
struct absent {
	enum absent_why why;
	const struct open_call *in; /* ABSENT_OTHER: the call in which the ranks are blocked */
	/* ABSENT_NEVER, ABSENT_ENDED: the latest call of the rank; NULL: no call was recorded. */
	const struct call *last;
	/* Ns from the end of `last` until now, or until the last sign of life of any rank. */
	uint64_t since;
	bool enqueued; /* ABSENT_PAST: the library returns before the operation is complete */
	int *rank; /* world ranks, ascending */
	unsigned n, cap;
};

struct stuck {
	const struct open_call *sample; /* the oldest open call of the group */
	uint64_t age_min, age_max;
	/* like age_min and age_max, but for a call that failed the time until it failed */
	uint64_t took_min, took_max;
	bool joined; /* a collective, so the absent ranks are known */
	bool async; /* only started: no thread is blocked in it */
	int *rank; /* world ranks; -1 - index of the folder if the world rank is not known */
	unsigned n, cap;
	struct absent *absent;
	unsigned nabsent, cap_absent;
	bool knows; /* it is known what at least one absent rank does */
};

struct stuck_list {
	struct stuck *stuck;
	unsigned n, cap;
	uint64_t more; /* number of open calls that could not be grouped */
	/* By folder: the call in which the rank's thread is blocked; NULL: none. */
	const struct open_call **blocked_in;
	/*
	 * By folder: an asynchronous operation that the rank started last, at least a second ago,
	 * if no later call and no wait for the operation is recorded (PyTorch's Work.wait leaves no
	 * record). The rank then counts as blocked in that wait. NULL: none.
	 */
	const struct open_call **blocked;
	uint32_t *in_group; /* by folder, temporary marks */
	struct table places; /* index of the groups by their operation */
};

/*
 * Returns true if the library returns as soon as the call is in the device's queue, and no record
 * shows that the call ran on the device.
 */
bool is_only_enqueued(const struct call *c);

/* Returns true if both calls belong to one group. */
bool stuck_alike(const struct open_call *a, const struct open_call *b);

/* Returns the index of the group of open call c of this run, or -1 if it is in no group. */
int stuck_group_of(const struct stuck_list *l, const struct open_call *c);

void stuck_find(struct stuck_list *l, const struct gather *g);
void stuck_free(struct stuck_list *l);

/*
 * Returns the group whose absent ranks explain the other groups: one of them is missing and not
 * blocked itself. Returns NULL if there is no such group.
 */
const struct stuck *stuck_cause(const struct stuck_list *l, const struct gather *g);

#endif
