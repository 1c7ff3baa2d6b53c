/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one thread remembers of its walks: whole stacks, and the rule for each address it has passed.
 *
 * A kept stack is the result together with every word of stack memory that decided it: the return addresses, and the
 * saved frame pointers and stack pointers wherever the walk went on by them. Why it is enough to read these again:
 * the walk is a function of (pc, fp) and of the words it reads, and by induction it reads the same ones, since each
 * word's address follows from (pc, fp), the rules and the words before it. All unchanged means the same result. A
 * word read directly lies in the thread's own stack; others are verified as in the walk itself, so no verification
 * can fault where a walk would not.
 *
 * Limits: (1) the rules are taken to be unchanged: another module that was loaded to the same addresses, with calls
 * ending at all the same addresses but with other frame sizes, would be mistaken for the old one until the first
 * walk that is not answered from here (all is forgotten then). (2) Code made at run time is taken to have stayed where
 * the same return addresses still point to it. (3) On aarch64 the wrapper's frame size matters: wrapper_pc is part
 * of the key.
 */
#ifndef PROBE_STACK_CACHE_H
#define PROBE_STACK_CACHE_H

#include "stack/unwind.h"

struct cache_key {
	uintptr_t pc, fp, wrapper_pc;
};

/*
 * Every use is between these two. False if this is a signal handler that interrupted another use: the cache is then
 * left alone. If a handler left a use by longjmp, the next walk from higher up the same stack takes over.
 */
bool cache_enter(struct stack_cache *c, const struct stack_bounds *b, uintptr_t fp);
void cache_leave(struct stack_cache *c);

/* Number of frames put into pcs[], at most max; 0: not known or no longer so; -1: *note has it. As stack_walk_noted(). */
int cache_find(struct stack_cache *c, const struct cache_key *k, struct memory *m, uintptr_t *pcs,
	int max, struct stack_note *note);

/* ended: the walk stopped by itself and not because of the caller's maximum. */
void cache_put(struct stack_cache *c, const struct cache_key *k, const struct trail *t, bool ended);

/* Forgets everything if the modules are other ones than before. Due before each walk that is not answered from here. */
void cache_check_modules(struct stack_cache *c, uint64_t generation);

bool cache_get_rule(struct stack_cache *c, uintptr_t pc, bool exact, struct cfi_rule *r);
void cache_put_rule(struct stack_cache *c, uintptr_t pc, bool exact, const struct cfi_rule *r);

#endif
