/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the calling thread's stack.
 *
 * A walk goes from frame to frame by the call frame information of the code (.eh_frame), which is valid also for code
 * built without frame pointers; by frame pointers where there is none. A chain of frame pointers alone would silently
 * skip the callers of code built without them. The words read by a walk are kept per thread with the result. The next
 * walk from the same place reads the same words again; if they are unchanged, so is the stack (cache.h). No allocation,
 * and no dl* call except dl_iterate_phdr when an address is seen for the first time.
 */
#ifndef PROBE_STACK_STACK_H
#define PROBE_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_DEPTH_MAX 128

/*
 * The part of a thread's stack that can be read without a check: [lo, hi). It may grow down to `floor`; walks lower lo
 * as it does. hi == 0: not known; then every page is probed (0.1 us each).
 */
struct stack_bounds {
	uintptr_t lo, hi, floor;
	/* from here up to hi there are STACK_ROOM bytes below; hi if there never are */
	uintptr_t roomy;
};

#define STACK_ROOM (256u << 10)

/*
 * True if the address is in the thread's stack. False on a fiber or an alternate signal stack, or if the bounds are not
 * known.
 */
static inline bool stack_has(const struct stack_bounds *b, uintptr_t at)
{
	return at - b->floor < b->hi - b->floor;
}

/*
 * Finds the bounds of the calling thread's stack; *b is all zero if they cannot be found. May allocate, may read /proc, and
 * takes 2 KiB of stack: call it once per thread, on a separate stack (base/apart.h) if 2 KiB may be too much. Walks outside the
 * bounds (fibers, alternate signal stacks) work, but cost more.
 */
void stack_bounds_init(struct stack_bounds *b);

/*
 * A thread's memory of its walks: 256 KiB of address space, used according to the number of different stacks; the oldest are
 * dropped. Not shared between threads. A signal handler may walk in the middle of a walk.
 */
struct stack_cache;

/* NULL: no memory; stack_walk() accepts NULL and is slower. */
struct stack_cache *stack_cache_new(void);
void stack_cache_free(struct stack_cache *c);

/*
 * Stores the return addresses of the callers, innermost first, starting with the code that called the wrapper. `pc` is
 * the wrapper's own return address (the first entry) and `fp` its frame address (__builtin_frame_address(0)). The
 * wrapper and all code between it and stack_walk() must keep frame pointers and must not realign the stack. Returns
 * their number, at most max (1..STACK_DEPTH_MAX); never 0 if max > 0. A frame that a signal interrupted is stored with
 * the interrupted address itself. A stack that cannot be followed to its end is cut there, not guessed. Keeps errno.
 * Never faults, whatever the stack and the modules' tables hold.
 */
int stack_walk(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max);

/*
 * A value that the caller derived from a stack, kept with it: while the stack is the same, its frames need not be
 * examined again. `check` identifies everything else that the value depends on; not 0.
 */
struct stack_note {
	uint64_t check, value;
	uint64_t at; /* set by the walk: where the value can be kept; 0: nowhere */
	uintptr_t pc, fp; /* ... and the walk's start */
};

/* As stack_walk(). Returns -1 if a value was kept with note->check: it is in note->value, and pcs[] is not set. */
int stack_walk_noted(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max, struct stack_note *note);

/* Keeps note->value with the stack that the walk returned. */
void stack_note_keep(
	const struct stack_bounds *b, struct stack_cache *c, const struct stack_note *note);

/*
 * Searches, up from the wrapper (pc, fp: as above), for a frame that returns through the word at `slot`. Returns 1:
 * found; 0: not found, the walk has passed it; -1: the walk did not get that far.
 */
int stack_returns_by(const struct stack_bounds *b, struct stack_cache *c, uintptr_t pc,
	uintptr_t fp, uintptr_t slot);

#endif
