/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a recording thread: its slot in the journal, its call numbers, the bounds of its
 * stack. Made at its first recorded call, in private memory (without the job's allocator).
 */
#ifndef PROBE_CALL_RECORDER_H
#define PROBE_CALL_RECORDER_H

#include <stddef.h>

#include "base/clock.h"
#include "base/thread.h"
#include "journal/journal.h"
#include "stack/stack.h"

#define THREAD_OPEN_MAX 8

struct thread {
	struct chain chain;
	struct stack_bounds bounds;
	struct stack_cache *stacks; /* NULL: stack walks are slower */
	uint64_t seq_next, seq_end; /* call numbers that this thread may still use */
	uint64_t unnumbered; /* its calls without a number common to all ranks (thinning.h) */
	uint32_t tid;
	uint32_t rounds; /* rounds of thread-specific destructors so far */
	/* libprobe's own ticks that were counted exactly: thread_add_exact_time() */
	uint64_t counted;
	uint64_t made; /* ticks at its first recorded call */
	uint64_t comm_ticks; /* ticks in communicating calls, and in waits for them */
	uint64_t waited; /* ticks for which it yielded the processor (reserve_or_run_writer()) */
	uint64_t probed; /* ticks in blocking probes since the thread's last call */
	uint64_t help_from; /* tick from which on it may help the writer */
	void *scratch; /* grows, used by this thread only; see thread_get_scratch() */
	size_t scratch_bytes;
	void *group; /* calls in the group that this thread has opened (stream.c) */
	size_t group_bytes;
	/*
	 * Records of calls in progress, outermost first (record.c). Calls beyond THREAD_OPEN_MAX
	 * are only counted.
	 */
	struct journal_call *open[THREAD_OPEN_MAX];
	uint32_t nopen, nmore;
	struct claims *claims; /* pending calls that it is about to complete */
	/* the last stack that was walked (stackid.c); follows this struct in memory */
	struct walked *walked;
};

struct thread *thread_get_new(void);

/* Counts a call that is lost because its thread cannot record. Logged once. */
void thread_handle_lost_call(void);

/*
 * Returns the calling thread's recorder, made if necessary. Returns NULL if nothing is recorded
 * (yet), if the thread cannot record (counted), or if it is ending.
 */
static inline struct thread *thread_get(void)
{
	struct thread *t = thread_inside()->recorder;

	return __builtin_expect(t != NULL, 1) ? t : thread_get_new();
}

/*
 * Returns the bounds of the calling thread's stack; all zero if not known. A thread's first call
 * must not be in a signal handler, which may have interrupted malloc(): a thread that has not
 * recorded yet must call this beforehand.
 */
const struct stack_bounds *thread_get_bounds(void);
void thread_bounds_find(void);

/* Number of wrapped calls, of any kind, that the calling thread is in at present. */
static inline uint32_t thread_get_call_depth(void)
{
	return thread_inside()->depth + thread_inside()->transparent;
}

/*
 * Returns at least `bytes` of memory, valid until the next call of this function. Returns NULL if
 * bytes is above 64 MiB, or if there is no memory.
 */
void *thread_get_more_scratch(struct thread *t, size_t bytes);

static inline void *thread_get_scratch(struct thread *t, size_t bytes)
{
	return __builtin_expect(bytes <= t->scratch_bytes, 1) ? t->scratch
							      : thread_get_more_scratch(t, bytes);
}

void thread_reserve_seq(struct thread *t);

static inline uint64_t thread_get_next_seq(struct thread *t)
{
	if (__builtin_expect(t->seq_next == t->seq_end, 0))
		thread_reserve_seq(t);
	return t->seq_next++;
}

void *thread_reserve_slow(struct thread *t, uint32_t bytes);

/*
 * Reserves `bytes` in the thread's chain of the journal. Wakes the writer as needed, and helps
 * it. Returns NULL if the journal is full. thread_reserve_end() does so for the end of an
 * asynchronous call.
 */
static inline void *thread_reserve(struct thread *t, uint32_t bytes)
{
	void *p = chain_get_space(&t->chain, bytes);

	return __builtin_expect(p != NULL, 1) ? p : thread_reserve_slow(t, bytes);
}
void *thread_reserve_end(struct thread *t, uint32_t bytes);

/* Adds n to *sum, which the writer may read at the same time. */
static inline void thread_add(uint64_t *sum, uint64_t n)
{
	__atomic_store_n(sum, *sum + n, __ATOMIC_RELAXED);
}

static inline void thread_count(struct thread *t, enum journal_count c)
{
	thread_add(&t->chain.slot->count[c], 1);
}

/* Adds ticks spent in libprobe's own code. */
static inline void thread_add_own_time(struct thread *t, uint64_t ticks)
{
	thread_add(&t->chain.slot->self_ticks, ticks);
}

/*
 * Adds the time of a sampled call, which represents `weight` calls. A call above SAMPLE_TICKS_MAX
 * (0.1 ms by a time stamp counter) was preempted, or did work that only a first call does, so its
 * time is added once only.
 */
#define SAMPLE_TICKS_MAX (UINT64_C(1) << 18)

static inline uint64_t compute_sample_ticks(uint64_t ticks, uint32_t weight)
{
	return ticks > SAMPLE_TICKS_MAX ? ticks : ticks * weight;
}

/*
 * Adds ticks of a slow part of a call. This part is measured in each call, so its time is not
 * scaled with the sample.
 */
static inline void thread_add_exact_time(struct thread *t, uint64_t ticks)
{
	t->counted += ticks;
	thread_add_own_time(t, ticks);
}

/*
 * Measures libprobe's own work outside recorded calls, or in a call whose time must not be
 * scaled. Begin and end it on the same thread, properly nested. Nothing is counted for a thread
 * without a slot in the journal.
 */
struct own_work {
	const struct thread *thread;
	uint64_t since, counted;
};

static inline struct own_work own_work_start(void)
{
	const struct thread *t = thread_inside()->recorder;

	return (struct own_work){t, clock_ticks(), t ? t->counted : 0};
}

static inline void own_work_stop(const struct own_work *o)
{
	struct thread *t = thread_inside()->recorder;
	uint64_t took = clock_ticks() - o->since, inside;

	/* The thread may have got its slot in the meantime. */
	if (!t || (o->thread && o->thread != t))
		return;
	inside = t->counted - o->counted;
	if (took > inside)
		thread_add_exact_time(t, took - inside);
}

/*
 * Increments counter c of the whole process, for callers without a slot in the journal. Atomic;
 * for rare events only.
 */
void thread_count_shared(enum journal_count c);

/* Registers the cleanup of ending threads; once per process. */
void thread_init(void);

/* For a forked child that records: the calling thread has no recorder yet. */
void thread_reset(void);

#endif
