/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps from frame to frame. All words that a walk reads from the stack are noted in the trail,
 * so that the result can be cached and verified later (cache.h).
 *
 * libgcc's _Unwind_Backtrace is not used: it reads wherever the tables or a broken chain lead,
 * aborts on tables that it does not understand, and does not report where return addresses are.
 * Here each word is read through memory.h and each step must go up the stack, so garbage ends the
 * walk.
 */
#ifndef PROBE_STACK_UNWIND_H
#define PROBE_STACK_UNWIND_H

#include "base/private_stack.h"
#include "stack/cfi.h"
#include "elf/memory.h"
#include "stack/stack.h"

#define TRAIL_WORDS 160

struct stack_cache;

/* Words of the stack: their positions in units of 8 bytes from `base`, and their values. */
struct trail {
	uintptr_t base;
	int n; /* number of frames; frame 0 has no word, because its pc was given */
	int extra; /* number of other words that were read */
	bool lossy; /* more words were read than fit into the trail */
	int32_t pc_at[STACK_DEPTH_MAX];
	/* as on the stack: on aarch64 a return address may be signed */
	uintptr_t pc_raw[STACK_DEPTH_MAX];
	int32_t extra_at[TRAIL_WORDS];
	uintptr_t extra_raw[TRAIL_WORDS];
};

/* Removes the signature that aarch64 may put into the upper bits of a return address. */
static inline uintptr_t unwind_strip(uintptr_t ra)
{
#if defined(__aarch64__)
	register uintptr_t x30 __asm__("x30") = ra;

	__asm__("hint #7" : "+r"(x30)); /* xpaclri; nothing on machines without signatures */
	return x30;
#else
	return ra;
#endif
}

#if defined(__aarch64__)
/*
 * Returns an address in the wrapper: its frame size, and with it the caller's stack pointer, are
 * found by it.
 */
MEMORY_RAW static inline uintptr_t find_wrapper_pc(uintptr_t fp)
{
	uintptr_t at = private_stack_origin();

	for (int i = 0; i < 16; i++) {
		uintptr_t next = memory_load(at);

		if (next == fp)
			return unwind_strip(memory_load(at + sizeof(at)));
		if (next <= at || next > fp)
			break;
		at = next;
	}
	return 0;
}
#else
static inline uintptr_t find_wrapper_pc(uintptr_t fp)
{
	(void)fp;
	return 0;
}
#endif

/*
 * Walks from the caller of the function with frame address fp and return address pc. wrapper_pc: an address in that
 * function (used on aarch64 only). Fills in pcs[] and *t; t->n is the number of frames, 1..max. cache may be NULL.
 */
void unwind_stack(struct memory *m, struct stack_cache *cache, uintptr_t pc, uintptr_t fp,
	uintptr_t wrapper_pc, uintptr_t *pcs, int max, struct trail *t);

#endif
