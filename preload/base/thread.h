/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-thread state. Static TLS is scarce: libraries loaded by dlopen() share the reserve of
 * glibc, at least 144 bytes. So in TLS libprobe has one pointer for each thread. The thread's
 * variables are in a block of libprobe's own memory (thread_block.c), made when the thread first
 * enters libprobe.
 */
#ifndef PROBE_BASE_THREAD_H
#define PROBE_BASE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread; /* call/recorder.h */

/* The core's per-thread state. Variables of single files use THREAD_OWN, below. */
struct thread_self {
	ptrdiff_t shift; /* offset from a THREAD_OWN variable to this thread's copy */
	uint32_t depth; /* nesting depth of wrapped calls of this thread, 0: in none */
	uint32_t busy; /* > 0: inside libprobe's own code; wrappers pass calls straight through */
	uint32_t dead; /* the thread's destructor has run: no more records */
	/* calls until the next one in which libprobe's own time is measured (call/call.c) */
	uint32_t unsampled;
	uint32_t phase; /* enum phase of this thread, 0: not known */
	/* frame and return address of the outermost wrapper, to detect that longjmp() skipped it */
	uintptr_t frame, pc;
	uint64_t call; /* seq of the innermost recorded call in progress, for `parent` */
	struct thread *recorder;
	uint32_t weight; /* number of calls that this sampled call represents */
	/* calls in progress that do not count as outer calls, and are not in `depth` */
	uint32_t transparent;
	uint32_t inside; /* calls made inside the current wrapper */
	/*
	 * the separate stack that the thread runs on, or ran on when a longjmp() left it
	 * (base/private_stack.h)
	 */
	uintptr_t private_stack;
	/* frames at or above this address have enough stack below them (call/recorder.c) */
	uintptr_t space_at, space_bytes;
	uint32_t looks; /* calls that relied on the cached state of devices (device/device.c) */
	bool carrying; /* the outermost call is measured by the calls inside it (call/stream.c) */
	int *error; /* the thread's errno: asking libc for its address takes a call */
};

/* For the few variables that pass-through calls need. tests/lint.sh limits their total size. */
#define THREAD_TLS __attribute__((tls_model("initial-exec")))

/*
 * State of threads that have no block yet, and of threads that got none because memory ran out.
 * Both are shared, and have `busy` set, so that calls pass straight through.
 */
extern struct thread_self thread_blank __attribute__((visibility("hidden")));
extern struct thread_self thread_refused __attribute__((visibility("hidden")));
extern __thread struct thread_self *thread_pointer THREAD_TLS __attribute__((visibility("hidden")));

/*
 * Makes a block for the calling thread. Returns thread_refused if there is no memory. Returns
 * thread_blank in a child of vfork(), which runs on its parent's variables, and in a process
 * forked without fork(). Takes no lock and calls no allocator. May be interrupted by a signal
 * handler that calls it too. Keeps errno.
 */
struct thread_self *thread_block_make(void);

/* The calling thread's state, made if it has none. For code that the job calls first: hooks, wrappers, stubs. */
static inline struct thread_self *thread_self(void)
{
	struct thread_self *t = thread_pointer;

	return __builtin_expect(t != &thread_blank, 1) ? t : thread_block_make();
}

/* Like thread_self(), for code that runs after thread_self() was called on this thread. */
static inline struct thread_self *thread_inside(void)
{
	return thread_pointer;
}

/* Used like errno: an expression for this thread's state. */
#define thread_state (*thread_self())

/* True if the calling thread has a block of its own. */
static inline bool thread_has_block(void)
{
	return thread_pointer->shift != 0;
}

/*
 * A variable with one copy per thread, all bytes 0 at first:
 *
 *	static THREAD_OWN uint32_t passes;
 *	...
 *	own(passes)++;
 *
 * Always used through own() (tests/lint.sh checks this). Threads that were refused a block share one copy.
 */
#define THREAD_OWN __attribute__((section("probe_thread")))
#define own(variable) (*(__typeof__(&(variable)))thread_own_place(&(variable)))

static inline void *thread_own_place(void *shared)
{
	uintptr_t at = (uintptr_t)shared;

	/* Hides from the compiler which variable it is. */
	__asm__("" : "+r"(at));
	return (void *)(at + (uintptr_t)thread_self()->shift);
}

/*
 * Starts a detached thread of libprobe with all signals blocked, so that the job's signals are
 * never delivered to it. The thread inherits the caller's floating-point environment, cores and
 * priority. Returns 0 or -errno. Allocates.
 */
int thread_start(void *(*main)(void *), void *arg);

#endif
