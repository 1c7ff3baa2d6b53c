/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs libprobe's own work on a separate stack. A thread of the job may have only 16 KiB of
 * stack, or run on the alternate stack of a signal handler. So work that needs more than some
 * hundred bytes of stack is moved to a stack of libprobe if the job's may be too small; work that
 * is done once (configuration, start, end, names) always is.
 *
 * Unwinders and debuggers can walk across the switch. Calls and returns pair up, as a shadow
 * stack (CET, GCS) requires. If a signal handler interrupts the work and leaves it by longjmp,
 * this separate stack is never used again; nothing else is lost.
 */
#ifndef PROBE_BASE_PRIVATE_STACK_H
#define PROBE_BASE_PRIVATE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/thread.h"

#define PRIVATE_STACK_BYTES (256u << 10)

/* True if the caller runs on a separate stack. */
static inline bool is_on_private_stack(void)
{
	return (uintptr_t)__builtin_frame_address(0) - thread_inside()->private_stack <
	       PRIVATE_STACK_BYTES;
}

/*
 * Calls fn(arg) on a separate stack. Stays on the caller's stack if this is a separate one
 * already, or if there is no memory. Stacks come from a lock-free pool and are mapped when the
 * pool is empty; no thread keeps one.
 */
void private_stack_call(void (*fn)(void *), void *arg);

/*
 * Like private_stack_call(), on a new stack of PRIVATE_STACK_DEEP_BYTES that is unmapped afterwards. For work that
 * needs an unknown amount of stack, such as a driver's compiler. Slow: two mappings a call.
 */
#define PRIVATE_STACK_DEEP_BYTES (8u << 20)
void private_stack_call_deep(void (*fn)(void *), void *arg);

/*
 * Address of a frame on the job's stack above all of libprobe's work: the caller's own frame, or the one that called
 * private_stack_call().
 */
uintptr_t private_stack_origin(void);

#endif
