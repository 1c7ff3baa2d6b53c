/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks: walking the calling thread.
 *
 * A walk goes from frame to frame by the call frame information of the code (.eh_frame), which also holds where code
 * was built without frame pointers; by frame pointers where there is none. A frame pointer chain alone would skip
 * callers of code built without them and not show it. What a walk has read is kept per thread with its result: the
 * next walk from the same place reads the same words again, and if they are unchanged so is the stack (cache.h).
 * No allocation, no dl* call but dl_iterate_phdr where an address is seen for the first time.
 */
#ifndef PROBE_STACK_STACK_H
#define PROBE_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_DEPTH_MAX 128

/*
 * The memory of a thread's stack that can be read without asking: [lo, hi); it may grow down to `floor`, and walks
 * lower lo as it does. hi == 0: not known; every page is then probed (0.1 us each).
 */
struct stack_bounds {
	uintptr_t lo, hi, floor;
	uintptr_t
		roomy; /* from here on up to hi there are STACK_ROOM bytes below; hi where there are never so many */
};

#define STACK_ROOM (256u << 10)

/* Is the address in the thread's stack? Not on a fiber, an alternate signal stack, or where the bounds are not known. */
static inline bool stack_has(const struct stack_bounds *b, uintptr_t at)
{
	return at - b->floor < b->hi - b->floor;
}

/*
 * Finds the bounds of the calling thread's stack; *b is all zero where they cannot be found. May allocate and read
 * /proc, and takes 2 KiB of stack: call once per thread, apart (base/apart.h) where that may be much. Walks outside of
 * them (fibers, alternate signal stacks) work and cost more.
 */
void stack_bounds_init(struct stack_bounds *b);

/*
 * One thread's memory of its walks: 256 KiB of address space, of which as much is used as there are different stacks;
 * the oldest are forgotten. Not shared between threads. A signal handler may walk in the middle of a walk.
 */
struct stack_cache;

/* NULL if there is no memory: stack_walk() takes that, and is slower. */
struct stack_cache *stack_cache_new(void);
void stack_cache_free(struct stack_cache *c);

/*
 * Return addresses of the callers, innermost first, starting with the code that called the wrapper: `pc` is the
 * wrapper's own return address (its first entry) and `fp` its frame address (__builtin_frame_address(0)). The wrapper
 * and what lies between it and stack_walk() must keep frame pointers and must not realign the stack.
 * Returns their number, at most max (1..STACK_DEPTH_MAX); never 0 when max > 0. Frames that a signal interrupted
 * stand with the interrupted address itself. A stack that cannot be followed to its end is cut there, not guessed.
 * Keeps errno; never faults, whatever the stack and the modules' tables hold.
 */
int stack_walk(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max);

/*
 * What the caller has made of a stack, kept with it: while the stack is the same there is no need to look at its frames
 * again. `check` stands for all else that the value was made of; not 0.
 */
struct stack_note {
	uint64_t check, value;
	uint64_t at; /* of the walk: where it can be kept; 0: nowhere */
	uintptr_t pc, fp; /* ... and of what */
};

/* As stack_walk(); -1: a value was kept under note->check, and is in note->value; pcs[] has nothing then. */
int stack_walk_noted(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max, struct stack_note *note);

/* Keeps note->value with the stack that the walk returned. */
void stack_note_keep(
	const struct stack_bounds *b, struct stack_cache *c, const struct stack_note *note);

/*
 * Is there a frame up from the wrapper (pc, fp: as above) that returns by way of the word at `slot`, up the same stack?
 * 1: there is; 0: there is none, the walk has gone past it; -1: it did not come that far.
 */
int stack_returns_by(const struct stack_bounds *b, struct stack_cache *c, uintptr_t pc,
	uintptr_t fp, uintptr_t slot);

#endif
