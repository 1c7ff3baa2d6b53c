/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls that were drained from their thread's chain and wait for their END entry.
 * They are in a region of the journal that only the writer touches, each with the numbers of the
 * commits from which on it is valid and invalid. pending_store_rollback() undoes all additions
 * and removals since the last commit; pending_store_commit() makes them final.
 */
#ifndef PROBE_JOURNAL_PENDING_STORE_H
#define PROBE_JOURNAL_PENDING_STORE_H

#include "journal/journal.h"

struct store_entry {
	uint64_t seq; /* 0: the entry is free */
	struct pending_slot *slot;
	bool heap; /* outside the full region: lost if the process is killed */
	bool gone; /* removed in this pass */
};

struct pending_store {
	struct journal *j;
	struct store_entry *table; /* open addressing by seq, linear probing */
	uint32_t mask, live;
	uint32_t hint, nheap;
	/* smallest number of contiguous units for which no space was found; 0: not known */
	uint32_t too_large;
	uint64_t *added, *taken; /* seqs since the last commit */
	uint32_t nadded, ntaken, cap_added, cap_taken;
};

/* Loads the calls in flight according to the valid commit. Returns 0 or -ENOMEM. */
int pending_store_open(struct pending_store *p, struct journal *j);
void pending_store_close(struct pending_store *p);

/*
 * Copies the call into the store. number: of the commit being prepared. Returns 0, -ENOSPC (no
 * space at all), -ENOMEM, or -EINVAL (the call has no number, or the number is in flight already:
 * a damaged journal).
 */
int pending_store_add(struct pending_store *p, uint64_t number, const struct journal_call *call);
/* True if the call would fit into the journal's region, without the heap. */
bool pending_store_has_space(struct pending_store *p, const struct journal_call *call);
/* Returns the call in flight with number seq, or NULL. */
const struct journal_call *pending_store_find(const struct pending_store *p, uint64_t seq);
/*
 * Removes call seq with commit `number`. It can be read until pending_store_commit(). Returns 0,
 * -ENOENT, or -ENOMEM.
 */
int pending_store_remove(struct pending_store *p, uint64_t number, uint64_t seq);
/* Undoes the latest pending_store_remove() of call seq. */
void pending_store_undo_remove(struct pending_store *p, uint64_t seq);

void pending_store_commit(struct pending_store *p);
void pending_store_rollback(struct pending_store *p);

/*
 * Iterates over calls in flight; returns NULL after the last. *at: 0 at first, valid between
 * calls as long as none is added.
 */
const struct journal_call *pending_store_get_next(const struct pending_store *p, uint32_t *at);

#endif
