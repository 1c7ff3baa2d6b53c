/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a stack with stack_walk() and with libgcc's unwinder, which knows nothing of ours, and compares. (Not with
 * backtrace(), which is the same unwinder: the sanitizers replace it by functions with frames of their own.)
 */
#ifndef TESTS_UNIT_STACK_CAPTURE_H
#define TESTS_UNIT_STACK_CAPTURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "stack/stack.h"

struct capture {
	struct stack_bounds *bounds;
	struct stack_cache *cache;
	uintptr_t pcs[STACK_DEPTH_MAX];
	uintptr_t truth[STACK_DEPTH_MAX + 2];
	int n, expected;
	int max;
	int errors; /* stacks that differed, or errno that changed */
	int taken;
	int noted; /* stacks of which the note was found */
	int found_quickly; /* ... by stack_find_note() */
	const volatile int *
		handled; /* number of stacks that a signal handler has taken in the same cache; NULL: none does */
};

static void capture_init(struct capture *c, struct stack_bounds *b, struct stack_cache *cache)
{
	memset(c, 0, sizeof(*c));
	c->bounds = b;
	c->cache = cache;
	c->max = STACK_DEPTH_MAX;
}

static uint64_t hash_capture(const struct capture *c)
{
	uint64_t h = (uint64_t)c->n;

	for (int i = 0; i < c->n; i++)
		h = (h ^ c->pcs[i]) * 0x9e3779b97f4a7c15u + (h >> 29);
	return h;
}

/* What was noted of a stack comes again with that stack, and with no other. */
static void check_capture_note(struct capture *c, uintptr_t pc, uintptr_t fp)
{
	struct stack_note note = {.check = 77 + (uint64_t)c->max}, quick = note;
	uintptr_t pcs[STACK_DEPTH_MAX];
	int before = c->handled ? *c->handled : 0;
	bool found = c->cache && stack_find_note(c->cache, c->bounds, pc, fp, &quick);
	int n = stack_walk_noted(c->bounds, c->cache, pc, fp, pcs, c->max, &note);

	c->found_quickly += found;
	/* If signals came in quick succession, their stacks may have taken the place of this one. */
	if (found)
		c->errors +=
			n < 0 ? quick.value != note.value : !c->handled || *c->handled == before;

	if (n < 0) {
		c->noted++;
		c->errors += note.value != hash_capture(c);
		return;
	}
	c->errors += n != c->n;
	note.value = hash_capture(c);
	stack_note_copy(c->bounds, c->cache, &note);
}

/* Stands for a wrapper. The barrier keeps the call from becoming a jump. */
__attribute__((noinline, unused)) static void capture_wrapper(struct capture *c)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0),
		  fp = (uintptr_t)__builtin_frame_address(0);

	errno = 4711;
	c->n = stack_walk(c->bounds, c->cache, pc, fp, c->pcs, c->max);
	check_capture_note(c, pc, fp);
	if (errno != 4711)
		c->errors++;
	__asm__ volatile("" : : : "memory");
}

static int capture_compare(struct capture *c)
{
	int same = c->n == c->expected;

	for (int i = 1; same && i < c->n; i++)
		same = c->pcs[i] == c->truth[i];
	return same;
}

static void capture_print(const struct capture *c)
{
	for (int i = 0; i < c->n || i < c->expected; i++)
		fprintf(stderr, "  %3d %16lx %16lx%s\n", i, i < c->n ? (unsigned long)c->pcs[i] : 0,
			i < c->expected ? (unsigned long)c->truth[i] : 0,
			i && (i >= c->n || i >= c->expected || c->pcs[i] != c->truth[i]) ? " <--"
											 : "");
}

static _Unwind_Reason_Code capture_frame(struct _Unwind_Context *u, void *arg)
{
	struct capture *c = arg;
	uintptr_t pc = _Unwind_GetIP(u);

	/* Frame -1 is capture_truth() itself; the end of the stack may be told as a frame at 0. */
	if (c->expected == STACK_DEPTH_MAX + 2 || !pc)
		return _URC_END_OF_STACK;
	if (c->expected >= 0)
		c->truth[c->expected] = pc;
	c->expected++;
	return _URC_NO_REASON;
}

/* The frames of the caller. */
__attribute__((noinline, unused)) static void capture_truth(struct capture *c)
{
	c->expected = -1;
	_Unwind_Backtrace(capture_frame, c);
	__asm__ volatile("" : : : "memory");
}

/* Frame 0 is this function in both, at two different calls. */
__attribute__((noinline, unused)) static void capture_leaf(void *arg)
{
	struct capture *c = arg;

	capture_wrapper(c);
	capture_truth(c);
	if (c->expected > c->max)
		c->expected = c->max;
	c->taken++;
	if (!capture_compare(c)) {
		if (!c->errors++)
			capture_print(c);
	}
}

#endif
