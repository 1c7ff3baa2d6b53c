/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls that were drained from their thread's chain and wait for their END. They lie in a region of the
 * journal that only the writer touches, each with the numbers of the commits that made it valid and invalid. What is
 * added or taken between two commits is undone by park_rollback(), made final by park_commit().
 */
#ifndef PROBE_JOURNAL_PARK_H
#define PROBE_JOURNAL_PARK_H

#include "journal/journal.h"

struct park_entry {
	uint64_t seq; /* 0: free place of the table */
	struct park_slot *slot;
	bool heap; /* the region was full: lost if the process is killed */
	bool gone; /* taken in this pass */
};

struct park {
	struct journal *j;
	struct park_entry *table; /* open addressing by seq, linear probing */
	uint32_t mask, live;
	uint32_t hint, nheap;
	uint32_t too_large; /* no run of that many units is free; 0: not known */
	uint64_t *added, *taken; /* seqs since the last commit */
	uint32_t nadded, ntaken, cap_added, cap_taken;
};

/* Finds what is parked according to the valid commit. -ENOMEM. */
int park_open(struct park *p, struct journal *j);
void park_close(struct park *p);

/*
 * Copies the call in. number: of the commit being prepared. -ENOSPC: no room at all; -ENOMEM; -EINVAL: a call without
 * a number, or one of that number is parked (a damaged journal).
 */
int park_add(struct park *p, uint64_t number, const struct journal_call *call);
/* True if it would lie in the journal, not on the heap. */
bool park_has_room(struct park *p, const struct journal_call *call);
/* The parked call of that seq, or NULL. */
const struct journal_call *park_find(const struct park *p, uint64_t seq);
/* It is over with that commit. The call can be looked at until park_commit(). -ENOENT, -ENOMEM. */
int park_take(struct park *p, uint64_t number, uint64_t seq);
/* Takes back the latest park_take(). */
void park_untake(struct park *p, uint64_t seq);

void park_commit(struct park *p);
void park_rollback(struct park *p);

/* A call that is still parked, or NULL. *at: 0 at first, kept between calls as long as none is added. */
const struct journal_call *park_any(const struct park *p, uint32_t *at);

#endif
