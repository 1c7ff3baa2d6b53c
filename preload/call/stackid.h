/* SPDX-License-Identifier: Apache-2.0 */
/* Each distinct call stack gets a small number; its addresses are written into the journal once. */
#ifndef PROBE_CALL_STACKID_H
#define PROBE_CALL_STACKID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/rooms/calls.h"
#include "session/state.h"
#include "stack/foreign.h"
#include "stack/stack.h"

struct api;
struct thread;

/*
 * The number of the calling thread's stack, seen from the wrapper with that return address and frame. 0: none (switched
 * off, or the table of STACKS_MAX stacks is full: counted). STACK_UNWANTED: key codeline excludes this call. t: the
 * calling thread.
 */
uint32_t stack_id(struct thread *t, const struct api *api, uintptr_t pc, uintptr_t frame);

/*
 * Writes the language frames of the calling thread's stack under the row's name, without native frames and even if the same
 * stack is known: for one place that is called under many names. False: there are no frames, no room, or the keys exclude it.
 * t: the calling thread.
 */
bool stack_write_named(struct thread *t, const struct api *row);

/* The last stack of a thread. In the thread's own memory, because the job's stack may be small. */
struct walked {
	int n; /* native frames */
	uintptr_t pcs[STACK_DEPTH_MAX];
	struct foreign_stack foreign;
};

#define STACKS_MAX 49152
#define STACK_UNWANTED UINT32_MAX

extern _Atomic bool stack_id_by_code
	__attribute__((visibility("hidden"))); /* a rule selects calls by their callers */

/* True if the stacks of calls are wanted at all. */
static inline bool stack_id_wanted(void)
{
	return get_calls_keys(config_now())->stack ||
	       atomic_load_explicit(&stack_id_by_code, memory_order_relaxed);
}

/* Call after the configuration has been read. */
void stack_id_configure(void);

/* Numbers up to `last` were used by the run that this one continues. Call before the first stack. */
void stack_id_begin(uint32_t last);

/* In a forked child that records again. */
void stack_id_reset(void);

#endif
