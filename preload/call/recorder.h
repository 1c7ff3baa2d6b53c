/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a recording thread: its place in the journal, its call numbers, the bounds of its stack. Made at its
 * first recorded call, in private memory (without the job's allocator).
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
	uint64_t seq_next, seq_end; /* numbers that this thread may still use */
	uint64_t
		unnumbered; /* its calls that no number identifies on all ranks (session/thinning.h) */
	uint32_t tid;
	uint32_t rounds; /* rounds of destructors so far */
	uint64_t counted; /* ticks of our own time that were counted exactly: thread_exact_time() */
	uint64_t made; /* ticks of its first call */
	uint64_t comm_ticks; /* ticks in communicating calls, and in waiting for them */
	uint64_t waited; /* ticks for which it yielded the processor, see reserve_with_help() */
	uint64_t help_from; /* ticks from which on it may help the writer */
	void *scratch; /* grows, never shared; see thread_scratch() */
	size_t scratch_bytes;
	void *group; /* calls in the group that this thread has open (stream.c) */
	size_t group_bytes;
	/* Records of calls in progress, outermost first (record.c); those that do not fit are only counted. */
	struct journal_call *open[THREAD_OPEN_MAX];
	uint32_t nopen, nmore;
	struct claims *claims; /* pending calls that it is about to complete (call/claims.h) */
	/* the last stack that it walked (stackid.c); follows this struct in the mapping */
	struct walked *walked;
};

struct thread *thread_get_new(void);

/* Counts a call that is lost because its thread cannot record; reported once. */
void thread_lost(void);

/*
 * The calling thread's recorder, made if necessary. NULL: nothing is recorded (yet), the thread cannot record
 * (counted), or it is ending.
 */
static inline struct thread *thread_get(void)
{
	struct thread *t = thread_inside()->recorder;

	return __builtin_expect(t != NULL, 1) ? t : thread_get_new();
}

/*
 * The bounds of the calling thread's stack; all zero if not known. The first call must not come in a signal handler,
 * which may have interrupted malloc(): a thread that has not recorded must call this beforehand.
 */
const struct stack_bounds *thread_bounds(void);
void thread_bounds_find(void);

/* Number of wrapped calls of every kind that the calling thread is in. */
static inline uint32_t thread_on_the_way(void)
{
	return thread_inside()->depth + thread_inside()->transparent;
}

/* At least that many bytes, valid until the next call of this function. NULL: above 64 MiB, or no memory. */
void *thread_scratch_more(struct thread *t, size_t bytes);

static inline void *thread_scratch(struct thread *t, size_t bytes)
{
	return __builtin_expect(bytes <= t->scratch_bytes, 1) ? t->scratch
							      : thread_scratch_more(t, bytes);
}

void thread_more_seq(struct thread *t);

static inline uint64_t thread_next_seq(struct thread *t)
{
	if (__builtin_expect(t->seq_next == t->seq_end, 0))
		thread_more_seq(t);
	return t->seq_next++;
}

void *thread_reserve_slow(struct thread *t, uint32_t bytes);

/*
 * Reserves room in the thread's chain; NULL if the journal is full. Wakes the writer as needed, and helps it.
 * thread_reserve_end(): for the end of an asynchronous call.
 */
static inline void *thread_reserve(struct thread *t, uint32_t bytes)
{
	void *p = chain_room(&t->chain, bytes);

	return __builtin_expect(p != NULL, 1) ? p : thread_reserve_slow(t, bytes);
}
void *thread_reserve_end(struct thread *t, uint32_t bytes);

/* Adds to a sum that the writer may read meanwhile. */
static inline void thread_add(uint64_t *sum, uint64_t n)
{
	__atomic_store_n(sum, *sum + n, __ATOMIC_RELAXED);
}

static inline void thread_count(struct thread *t, enum journal_count c)
{
	thread_add(&t->chain.slot->count[c], 1);
}

/* Adds ticks spent in libprobe's own code. */
static inline void thread_self_time(struct thread *t, uint64_t ticks)
{
	thread_add(&t->chain.slot->self_ticks, ticks);
}

/*
 * Adds the time of a sampled call, which represents `weight` calls. A call over this limit (0.1 ms by a time stamp
 * counter) was preempted, or did work that only a first call does. It counts only once.
 */
#define SAMPLE_TICKS_MAX (UINT64_C(1) << 18)

static inline uint64_t weigh_sample(uint64_t ticks, uint32_t weight)
{
	return ticks > SAMPLE_TICKS_MAX ? ticks : ticks * weight;
}

/* The same for a slow part of a call: it is counted each time, and not scaled with the sample. */
static inline void thread_exact_time(struct thread *t, uint64_t ticks)
{
	t->counted += ticks;
	thread_self_time(t, ticks);
}

/*
 * Measures libprobe's own work outside recorded calls, or in a call that must not be scaled. Begun and ended on one thread,
 * properly nested. Nothing is counted for a thread without a place in the journal.
 */
struct own_work {
	const struct thread *thread;
	uint64_t since, counted;
};

static inline struct own_work own_work_begin(void)
{
	const struct thread *t = thread_inside()->recorder;

	return (struct own_work){t, clock_ticks(), t ? t->counted : 0};
}

static inline void own_work_end(const struct own_work *o)
{
	struct thread *t = thread_inside()->recorder;
	uint64_t took = clock_ticks() - o->since, inside;

	/* The thread may have got its place meanwhile. */
	if (!t || (o->thread && o->thread != t))
		return;
	inside = t->counted - o->counted;
	if (took > inside)
		thread_exact_time(t, took - inside);
}

/* Adds to a counter without a thread's own counters. For rare events only. */
void thread_count_shared(enum journal_count c);

/* Prepares the cleanup of ending threads; once per process. */
void thread_init(void);

/* For a forked child that records again: the calling thread has no state yet. */
void thread_forget(void);

#endif
