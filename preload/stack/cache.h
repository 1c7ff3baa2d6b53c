/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's cache of its walks: whole stacks, and the rule for each address that was passed.
 *
 * A cached stack is the result together with every word of stack memory that it depends on: the
 * return addresses, and the saved frame pointers and stack pointers wherever the walk used them.
 * Why it is enough to read these again: the walk is a function of (pc, fp) and of the words it
 * reads. By induction it reads the same words again, because each word's address follows from
 * (pc, fp), the rules and the words before it. If all are unchanged, so is the result. Words read
 * directly are in the thread's own stack; others are verified as in the walk itself, so no
 * verification can fault where a walk would not.
 *
 * Limits: (1) The rules are assumed to be unchanged. Another module could be loaded at the same
 * addresses, with calls that end at exactly the same addresses but with other frame sizes. It
 * would be mistaken for the old one until the first walk that is not answered from the cache
 * (which then drops everything). (2) Code made at run time is assumed not to have moved while the
 * same return addresses point to it. (3) On aarch64 the wrapper's frame size matters: wrapper_pc
 * is part of the key.
 */
#ifndef PROBE_STACK_CACHE_H
#define PROBE_STACK_CACHE_H

#include "stack/unwind.h"

struct cache_key {
	uintptr_t pc, fp, wrapper_pc;
};

/*
 * All uses must be between cache_open() and cache_close(). cache_open() returns false in a
 * signal handler that interrupted another use; the cache must not be used then. If a handler left
 * a use by longjmp, the next walk from higher up the same stack takes over.
 */
bool cache_open(struct stack_cache *c, const struct stack_bounds *b, uintptr_t fp);
void cache_close(struct stack_cache *c);

/*
 * Returns the number of frames stored in pcs[], at most max; 0 if the stack is not in the cache,
 * or has changed; -1 if the result is in *note. Otherwise like stack_walk_noted().
 */
int cache_find(struct stack_cache *c, const struct cache_key *k, struct memory *m, uintptr_t *pcs,
	int max, struct stack_note *note);

/* Caches a walk. ended: the walk reached the end of the stack, instead of the caller's maximum. */
void cache_add(struct stack_cache *c, const struct cache_key *k, const struct trail *t, bool ended);

/*
 * Empties the cache if the modules have changed. Call before each walk that is not answered from
 * the cache.
 */
void cache_check_modules(struct stack_cache *c, uint64_t generation);

bool cache_get_rule(struct stack_cache *c, uintptr_t pc, bool exact, struct cfi_rule *r);
void cache_add_rule(struct stack_cache *c, uintptr_t pc, bool exact, const struct cfi_rule *r);

#endif
