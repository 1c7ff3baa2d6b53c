/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the calling thread's stack.
 *
 * A walk goes from frame to frame by the call frame information of the code (.eh_frame), which is
 * valid also for code built without frame pointers; by frame pointers if code has none. A chain
 * of frame pointers alone would silently skip the callers of code built without them. The words
 * that a walk reads are kept per thread with the result. The next walk from the same call site
 * reads the same words again; if they are unchanged, so is the stack (cache.h). No allocation,
 * and no dl* call except dl_iterate_phdr when an address is seen for the first time.
 */
#ifndef PROBE_STACK_STACK_H
#define PROBE_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_DEPTH_MAX 128

/*
 * The part [lo, hi) of a thread's stack can be read without a check. The stack may grow down to
 * `floor`; walks then lower lo. hi == 0: not known; then every page is probed (0.1 us each).
 */
struct stack_bounds {
	uintptr_t lo, hi, floor;
	/* frames from this address up to hi have STACK_ROOM bytes below them; hi if none do */
	uintptr_t roomy;
};

#define STACK_ROOM (256u << 10)

/*
 * True if address `at` is in the thread's stack. False on a fiber or an alternate signal stack,
 * or if the bounds are not known.
 */
static inline bool stack_has(const struct stack_bounds *b, uintptr_t at)
{
	return at - b->floor < b->hi - b->floor;
}

/*
 * Finds the bounds of the calling thread's stack; *b is all zero if they cannot be found. May allocate, may read /proc, and
 * takes 2 KiB of stack: call it once per thread, on a separate stack (base/private_stack.h) if 2 KiB may be too much. Walks outside the
 * bounds (fibers, alternate signal stacks) work, but cost more.
 */
void stack_bounds_init(struct stack_bounds *b);

/*
 * A thread's cache of its walks: 256 KiB of address space, used according to the number of
 * different stacks; the oldest are dropped. Not shared between threads. A signal handler may walk
 * in the middle of a walk.
 */
struct stack_cache;

/* Returns NULL if there is no memory; stack_walk() accepts NULL and is slower. */
struct stack_cache *stack_cache_new(void);
void stack_cache_free(struct stack_cache *c);

/*
 * Stores the return addresses of the callers in pcs[], innermost first, starting with the code
 * that called the wrapper. pc: the wrapper's own return address (the first entry); fp: its frame
 * address (__builtin_frame_address(0)). The wrapper and all code between it and stack_walk() must
 * keep frame pointers and must not realign the stack. Returns the number of addresses, at most
 * max (1..STACK_DEPTH_MAX); never 0 if max > 0. A frame that a signal interrupted is stored with
 * the interrupted address itself. A stack that cannot be followed to its end is cut, not guessed.
 * Keeps errno. Never faults, whatever the stack and the modules' tables contain.
 */
int stack_walk(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max);

/*
 * A value that the caller derived from a stack, cached with it: while the stack is the same, its
 * frames need not be examined again. `check` identifies everything else that the value depends
 * on, and the walk's maximum depth; not 0.
 */
struct stack_note {
	uint64_t check, value;
	uint64_t at; /* set by the walk: where the value can be stored; 0: nowhere */
	uintptr_t pc, fp; /* set by the walk: where it began */
};

/*
 * Like stack_walk(). Returns -1, with pcs[] not set, if a value with the same `check` was stored
 * for this stack: it is then in note->value.
 */
int stack_walk_noted(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max, struct stack_note *note);

/*
 * True if a value with note->check was stored for the stack, and is now in note->value. False: that
 * is not known quickly. c is not NULL.
 */
bool stack_find_note(struct stack_cache *c, const struct stack_bounds *b, uintptr_t pc,
	uintptr_t fp, struct stack_note *note);

/* Stores note->value with the stack that the walk returned. */
void stack_note_copy(
	const struct stack_bounds *b, struct stack_cache *c, const struct stack_note *note);

/*
 * Searches upwards from the wrapper (pc, fp: as in stack_walk()) for a frame whose return address
 * is in the word at `slot`. Returns 1 if it was found; 0 if the walk passed `slot` without
 * finding it; -1 if the walk did not get that far.
 */
int stack_returns_by(const struct stack_bounds *b, struct stack_cache *c, uintptr_t pc,
	uintptr_t fp, uintptr_t slot);

#endif
