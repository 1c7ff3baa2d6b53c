/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of threads on the table of requests (call/pending.h): one place for each thread of the journal. */
#ifndef PROBE_CALL_CLAIMS_H
#define PROBE_CALL_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

struct pending_entry;

struct pending_claim {
	uint64_t key;
	struct pending_entry *entry; /* NULL: no free entry, or the call is done with it */
};

struct claim_list {
	struct pending_claim *claim;
	uint64_t n, room;
};

#define CLAIM_LEVELS 2u /* nested calls that claim; deeper ones do without */
#define CLAIM_RECENT 64u

/* The claims of one thread. There is one struct for each thread that the journal can have. */
struct claims {
	/* By level. 0: the one entry that the call has claimed, else the claim mark of the entries in its list. */
	_Atomic uint64_t in_call[CLAIM_LEVELS];
	uint64_t place; /* from 1 */
	/*
	 * By key: entries that it made or claimed, to find them without the lock. Any of them may belong to another
	 * thread by now.
	 */
	struct pending_entry *recent[CLAIM_RECENT];
	/*
	 * The claims of calls with several requests: by level, for pending and for idle requests. The list of pending
	 * requests at level 0 is kept after the call: the next call often has the same ones.
	 */
	struct claim_list list[CLAIM_LEVELS][2];
} __attribute__((aligned(64)));

extern struct claims all_claims[JOURNAL_THREADS] __attribute__((visibility("hidden")));

struct claims *claims_of(unsigned place);

static inline void claims_say(struct claims *claims, unsigned level, uint64_t what)
{
	if (__builtin_expect(level < CLAIM_LEVELS, 1))
		atomic_store_explicit(&claims->in_call[level], what, memory_order_release);
}

/*
 * Begins a call that completes, frees or starts requests. Must be followed by claims_leave() with the returned value.
 * outermost: this thread is in no other wrapped call.
 */
unsigned claims_enter_inner(const struct claims *claims);

static inline unsigned claims_enter(struct claims *claims, bool outermost)
{
	if (__builtin_expect(!outermost, 0))
		return claims_enter_inner(claims);
	claims_say(claims, 1, 0); /* a call that was left by a jump */
	return 0;
}

static inline void claims_leave(struct claims *claims, unsigned level)
{
	claims_say(claims, level, 0);
}

/* The thread is not in such a call any more: it was left by an exception, or the thread has ended. */
void claims_clear(struct claims *claims);

#endif
