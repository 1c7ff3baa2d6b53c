/* SPDX-License-Identifier: Apache-2.0 */
/* What threads have claimed of the table of requests (call/pending.h): a place of its own for each thread of the journal. */
#ifndef PROBE_CALL_CLAIMS_H
#define PROBE_CALL_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

struct pending_entry;

struct pending_claim {
	uint64_t key;
	struct pending_entry
		*entry; /* NULL: there is none that is free, or the call is done with it */
};

struct claim_list {
	struct pending_claim *claim;
	uint64_t n, room;
};

#define CLAIM_LEVELS 2u /* calls inside of each other that claim; further ones do without */
#define CLAIM_RECENT 64u

/* What a thread has claimed. There is one for each place that a thread can have in the journal. */
struct claims {
	/* By level: 0, the one entry that the call has claimed, or the claim that stands on those in its list. */
	_Atomic uint64_t in_call[CLAIM_LEVELS];
	uint64_t place; /* from 1 */
	/* By key: entries that it made or claimed, to find them without the lock. Each may have become another's since. */
	struct pending_entry *recent[CLAIM_RECENT];
	/*
	 * What calls about several requests have claimed: by level, of requests under way and of idle ones. The list of requests under
	 * way at level 0 stays when the call is over: the next call is often about the same ones.
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
 * A call begins that completes, frees or starts requests: to be ended by claims_leave() with what this returned. outermost: no
 * wrapped call of this thread is on the way.
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

/* The thread is not in such a call, whatever it has begun: it was left by an exception, or has ended. */
void claims_clear(struct claims *claims);

#endif
