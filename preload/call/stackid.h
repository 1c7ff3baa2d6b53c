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
 * Returns the number of the call stack of the calling thread, whose struct is t. pc, frame:
 * return address and frame address of the wrapper. Returns 0 if stacks are switched off or the
 * table of STACKS_MAX stacks is full (counted), and STACK_UNWANTED if key codeline excludes the
 * call.
 */
uint32_t stack_id(struct thread *t, const struct api *api, uintptr_t pc, uintptr_t frame);

/*
 * For one call site that reports under many names: writes the interpreted (for example Python)
 * frames of the calling thread's stack under the name of `row`, without native frames, even if
 * the journal has the stack already. t: the calling thread. Returns false if there are no such
 * frames, the table is full, or key codeline excludes the stack.
 */
bool stack_write_named(struct thread *t, const struct api *row);

/*
 * The last call stack of a thread. It is in the thread's own memory, because the job's stack may
 * be small.
 */
struct walked {
	int n; /* native frames */
	uintptr_t pcs[STACK_DEPTH_MAX];
	struct foreign_stack foreign;
};

#define STACKS_MAX 49152
#define STACK_UNWANTED UINT32_MAX

extern _Atomic bool stack_id_by_code
	__attribute__((visibility("hidden"))); /* key codeline selects calls by their callers */

/* True if call stacks are recorded at all. */
static inline bool are_stack_ids_wanted(void)
{
	return get_calls_keys(get_config())->stack ||
	       atomic_load_explicit(&stack_id_by_code, memory_order_relaxed);
}

/* Call after the configuration has been read. */
void stack_id_update(void);

/*
 * For a run that continues an earlier one, whose last stack number was `last`: continues after
 * it. Call before the first stack.
 */
void stack_id_set_first(uint32_t last);

/* For a forked child that records: forgets the parent's stacks. */
void stack_id_reset(void);

#endif
