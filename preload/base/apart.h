/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own work on a stack of our own. A thread of the job may have 16 KiB of stack in all, or stand on the alternate
 * stack of a signal handler: what takes more than some hundred bytes runs on one of ours there, and what is done once
 * (configuration, start, end, names) everywhere.
 *
 * The switch can be walked by unwinders and debuggers, and calls and returns pair up, as a shadow stack (CET, GCS)
 * wants it. A longjmp out of a signal handler that interrupted the work leaves the stack unused for good; nothing else
 * is lost.
 */
#ifndef PROBE_BASE_APART_H
#define PROBE_BASE_APART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/thread.h"

#define APART_BYTES (256u << 10)

/* Is the caller on such a stack? */
static inline bool apart_is_here(void)
{
	return (uintptr_t)__builtin_frame_address(0) - thread_inside()->apart < APART_BYTES;
}

/*
 * fn(arg) on a stack of our own; on the caller's if it is one already, or if there is no memory for one. A thread keeps
 * none: they are taken from a pool without a lock, and mapped when that is empty.
 */
void apart_call(void (*fn)(void *), void *arg);

/* A frame on the job's stack that lies above all of our work: the caller's own, or the one that called it apart. */
uintptr_t apart_origin(void);

#endif
