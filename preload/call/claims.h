/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims of each thread on entries of the table of requests (call/pending.h): one struct for
 * each thread of the journal.
 */
#ifndef PROBE_CALL_CLAIMS_H
#define PROBE_CALL_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

struct pending_entry;

struct pending_claim {
	uint64_t key;
	/* NULL: none could be claimed, or the call has finished with it */
	struct pending_entry *entry;
};

struct claim_list {
	struct pending_claim *claim;
	uint64_t n, space;
};

#define CLAIM_LEVELS 2u /* nested calls that can claim; deeper ones claim nothing */
#define CLAIM_RECENT 64u

/* The claims of one thread. */
struct claims {
	/*
	 * By nesting level, while a call is in progress: the one entry that it has claimed, or
	 * the claim mark of its list. Else 0.
	 */
	_Atomic uint64_t in_call[CLAIM_LEVELS];
	uint64_t place; /* number of the thread's slot in the journal, from 1 */
	/*
	 * By hash of the handle: entries that the thread made or claimed last, to find them
	 * without the lock. Each may belong to another thread by now.
	 */
	struct pending_entry *recent[CLAIM_RECENT];
	/*
	 * The claims of calls with several requests: by level, for pending and for idle requests.
	 * The list of pending requests at level 0 is kept after the call, because the next call
	 * often has the same requests.
	 */
	struct claim_list list[CLAIM_LEVELS][2];
} __attribute__((aligned(64)));

extern struct claims all_claims[JOURNAL_THREADS] __attribute__((visibility("hidden")));

struct claims *claims_get(unsigned place);

static inline void claims_set(struct claims *claims, unsigned level, uint64_t claim)
{
	if (__builtin_expect(level < CLAIM_LEVELS, 1))
		atomic_store_explicit(&claims->in_call[level], claim, memory_order_release);
}

/*
 * Begins a call that completes, frees or starts requests, and returns its level, to be passed to
 * claims_leave(). outermost: the thread is in no other wrapped call.
 */
unsigned claims_enter_inner(const struct claims *claims);

static inline unsigned claims_enter(struct claims *claims, bool outermost)
{
	if (__builtin_expect(!outermost, 0))
		return claims_enter_inner(claims);
	claims_set(claims, 1, 0); /* may still be set by a call that longjmp() left */
	return 0;
}

static inline void claims_leave(struct claims *claims, unsigned level)
{
	claims_set(claims, level, 0);
}

/* Removes the claims of a call that was left by an exception, or of a thread that has ended. */
void claims_reset(struct claims *claims);

#endif
