/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every thread carries. Static TLS is scarce: a library that is loaded by dlopen() gets what glibc keeps in reserve
 * for all of them, which is 144 bytes at least. So a thread has one pointer there, and its variables lie in a block of
 * memory of ours (thread_block.c), which is made when it first comes here.
 */
#ifndef PROBE_BASE_THREAD_H
#define PROBE_BASE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread; /* call/recorder.h */

/* What the core has of a thread. Variables of single files: THREAD_OWN, below. */
struct thread_self {
	ptrdiff_t shift; /* from a THREAD_OWN variable to this thread's own */
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

/*
 * Of the few variables that calls need which pass straight through. tests/lint.sh bounds their sum.
 */
#define THREAD_TLS __attribute__((tls_model("initial-exec")))

/*
 * Of threads that have no block: yet, or for good, because there was no memory for one. Both are shared, and busy, so that their
 * calls pass straight through.
 */
extern struct thread_self thread_blank __attribute__((visibility("hidden")));
extern struct thread_self thread_refused __attribute__((visibility("hidden")));
extern __thread struct thread_self *thread_pointer THREAD_TLS __attribute__((visibility("hidden")));

/*
 * Gives the calling thread a block. Returns thread_refused if there is no memory for one, and thread_blank in a child of vfork(),
 * which runs on its parent's variables, and in a process that was forked past fork(). Takes no lock and calls no allocator; may be
 * interrupted by a signal handler that comes here too; keeps errno.
 */
struct thread_self *thread_block_make(void);

/* The calling thread's, made if it has none. For code that the job calls first: hooks, wrappers, stubs. */
static inline struct thread_self *thread_self(void)
{
	struct thread_self *t = thread_pointer;

	return __builtin_expect(t != &thread_blank, 1) ? t : thread_block_make();
}

/* The same behind the first gate, where the thread has been through thread_self(). */
static inline struct thread_self *thread_inside(void)
{
	return thread_pointer;
}

/* As errno is a variable. */
#define thread_state (*thread_self())

/* Does the calling thread have variables of its own? */
static inline bool thread_has_block(void)
{
	return thread_pointer->shift != 0;
}

/*
 * A variable of which each thread has its own, all bytes 0 at first:
 *
 *	static THREAD_OWN uint32_t passes;
 *	...
 *	own(passes)++;
 *
 * It is never used without own() (tests/lint.sh looks). Threads that are refused a block share one.
 */
#define THREAD_OWN __attribute__((section("probe_thread")))
#define own(variable) (*(__typeof__(&(variable)))thread_own_place(&(variable)))

static inline void *thread_own_place(void *shared)
{
	uintptr_t at = (uintptr_t)shared;

	/* Not the variable whose value the compiler knows. */
	__asm__("" : "+r"(at));
	return (void *)(at + (uintptr_t)thread_self()->shift);
}

/*
 * Starts a detached thread of our own, in which all signals are blocked: none of the job's is delivered to it. It
 * inherits the floating-point environment, the cores and the priority of the caller. Returns -errno. Allocates.
 */
int thread_spawn(void *(*main)(void *), void *arg);

#endif
