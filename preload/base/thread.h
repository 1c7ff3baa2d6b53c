/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every thread carries: one small initial-exec TLS block (libprobe.so is always loaded at start, so static TLS
 * is there; no call into the loader at first touch). Everything larger hangs off `self`.
 */
#ifndef PROBE_BASE_THREAD_H
#define PROBE_BASE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread; /* call/recorder.h */

struct thread_state {
	uint32_t depth; /* wrapped calls being on the way in this thread, 0 outside */
	uint32_t busy; /* > 0: inside libprobe's own code: wrappers pass straight through */
	uint32_t dead; /* the thread's destructor ran: no more records */
	uint32_t unsampled; /* calls before the next whose own time is measured (call/call.c) */
	uint32_t phase; /* enum phase of what the thread is doing, 0: not known */
	uintptr_t frame,
		pc; /* frame and return address of the outermost wrapper, to notice a longjmp over it */
	uint64_t call; /* seq of the innermost recorded call on the way, for `parent` */
	struct thread *recorder;
	uint32_t weight; /* how many calls that one stands for */
	uint32_t
		transparent; /* of the calls on the way those that others are not nested in; not in depth */
	uint32_t inside; /* calls that came while that wrapper was on its way */
	uintptr_t
		apart; /* the stack of our own that it is on, or was on when it was left (base/apart.h) */
	uintptr_t room_at, room_bytes; /* frames there have room below them (call/recorder.c) */
	uint32_t looks; /* calls that left it at what is known of devices (device/device.c) */
	bool carrying; /* the outermost call is measured by those inside of it (call/stream.c) */
};

extern __thread struct thread_state thread_state __attribute__((tls_model("initial-exec")));

/*
 * Starts a detached thread of our own, in which all signals are blocked: none of the job's is delivered to it. It
 * inherits the floating-point environment, the cores and the priority of the caller. Returns -errno. Allocates.
 */
int thread_spawn(void *(*main)(void *), void *arg);

#endif
