/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups open calls over the ranks: which operation is blocked, which ranks are in it, which are missing, and the last call of
 * the missing ones.
 */
#ifndef PROBE_TOOLS_STUCK_H
#define PROBE_TOOLS_STUCK_H

#include "tools/probe/model/gather.h"

enum absent_why {
	ABSENT_NEVER, /* it has not entered, and is blocked in no other known call */
	ABSENT_OTHER, /* it is blocked in another call */
	ABSENT_PAST, /* it has already left the operation */
	ABSENT_ENDED, /* it has not entered, and its process has finished */
	ABSENT_NO_DATA, /* it has no folder */
	ABSENT_UNREAD, /* its folder was not read */
	ABSENT_THINNED, /* it skips calls to keep max_overhead, so it may be in the operation, or have left it */
};

/* Ranks of the communicator that are not in the operation, for one reason. */
struct absent {
	enum absent_why why;
	const struct open_call *in; /* ABSENT_OTHER: the call that it is blocked in */
	const struct call
		*last; /* ABSENT_NEVER, ABSENT_ENDED: its latest call; NULL: none was recorded */
	uint64_t
		since; /* ns from the end of that call until now, or to the last sign of life of any rank */
	bool enqueued; /* ABSENT_PAST: its library returns before the operation is complete */
	int *rank; /* world ranks, ascending */
	unsigned n, cap;
};

struct stuck {
	const struct open_call *sample; /* the oldest */
	uint64_t age_min, age_max;
	uint64_t took_min, took_max; /* as ages, but of a call that failed the time until then */
	bool joined; /* a collective: the absent ranks are known */
	bool async; /* only started: no thread is blocked in it */
	int *rank; /* world ranks, or -1 - index of a folder without rank */
	unsigned n, cap;
	struct absent *absent;
	unsigned nabsent, cap_absent;
	bool knows; /* the activity of one of the absent ranks is known */
};

struct stuck_list {
	struct stuck *stuck;
	unsigned n, cap;
	uint64_t more; /* open calls that could not be grouped */
	const struct open_call *
		*standing; /* by folder: the call that its thread is blocked in; NULL: none */
	/*
	 * By folder: the operation that the rank started last, at least a second ago, if no call followed and no wait for it is
	 * recorded (PyTorch's Work.wait): it does not compute, it is blocked in the wait for that operation. NULL: none.
	 */
	const struct open_call **blocked;
	uint32_t *in_group; /* scratch marks, by folder */
	struct table places; /* of the groups */
};

/* True if its library returns as soon as the call is in the device's queue, and no record shows that it ran there. */
bool is_only_enqueued(const struct call *c);

/* True if both belong to one group. */
bool stuck_alike(const struct open_call *a, const struct open_call *b);

/* The group of an open call of this run, -1: it is in none. */
int stuck_group_of(const struct stuck_list *l, const struct open_call *c);

void stuck_find(struct stuck_list *l, const struct gather *g);
void stuck_free(struct stuck_list *l);

/* The group whose absent ranks explain the others: a missing rank that is not blocked itself. NULL: there is none. */
const struct stuck *stuck_cause(const struct stuck_list *l, const struct gather *g);

#endif
