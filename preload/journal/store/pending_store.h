/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls that were drained from their thread's chain and wait for their END. They lie in a region of the
 * journal that only the writer touches, each with the numbers of the commits that made it valid and invalid. What is
 * added or taken between two commits is undone by pending_store_rollback(), made final by pending_store_commit().
 */
#ifndef PROBE_JOURNAL_PENDING_STORE_H
#define PROBE_JOURNAL_PENDING_STORE_H

#include "journal/journal.h"

struct store_entry {
	uint64_t seq; /* 0: free place of the table */
	struct pending_slot *slot;
	bool heap; /* the region was full: lost if the process is killed */
	bool gone; /* taken in this pass */
};

struct pending_store {
	struct journal *j;
	struct store_entry *table; /* open addressing by seq, linear probing */
	uint32_t mask, live;
	uint32_t hint, nheap;
	uint32_t too_large; /* no run of that many units is free; 0: not known */
	uint64_t *added, *taken; /* seqs since the last commit */
	uint32_t nadded, ntaken, cap_added, cap_taken;
};

/* Finds what is in flight according to the valid commit. -ENOMEM. */
int pending_store_open(struct pending_store *p, struct journal *j);
void pending_store_close(struct pending_store *p);

/*
 * Copies the call in. number: of the commit being prepared. -ENOSPC: no room at all; -ENOMEM; -EINVAL: a call without
 * a number, or one of that number is in flight (a damaged journal).
 */
int pending_store_add(struct pending_store *p, uint64_t number, const struct journal_call *call);
/* True if it would lie in the journal, not on the heap. */
bool pending_store_has_room(struct pending_store *p, const struct journal_call *call);
/* The call in flight with that seq, or NULL. */
const struct journal_call *pending_store_find(const struct pending_store *p, uint64_t seq);
/* It is over with that commit. The call can be looked at until pending_store_commit(). -ENOENT, -ENOMEM. */
int pending_store_take(struct pending_store *p, uint64_t number, uint64_t seq);
/* Takes back the latest pending_store_take(). */
void pending_store_untake(struct pending_store *p, uint64_t seq);

void pending_store_commit(struct pending_store *p);
void pending_store_rollback(struct pending_store *p);

/* A call that is still in flight, or NULL. *at: 0 at first, kept between calls as long as none is added. */
const struct journal_call *pending_store_any(const struct pending_store *p, uint32_t *at);

#endif
