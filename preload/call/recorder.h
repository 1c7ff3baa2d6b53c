/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording thread has: its place in the journal, its call numbers, the bounds of its stack. Made at its first
 * recorded call, in private memory (no allocator of the job is involved).
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
	struct stack_cache *stacks; /* NULL: walks are slower */
	uint64_t seq_next, seq_end; /* numbers that this thread may still give */
	uint32_t tid;
	uint32_t rounds; /* of destructors that have run */
	uint64_t counted; /* ticks of our own that were counted exactly: thread_exact_time() */
	uint64_t made; /* ticks of its first call */
	uint64_t comm_ticks; /* in calls that communicate, and waiting for such */
	uint64_t waited; /* ticks for which it gave the processor away, see reserve_with_help() */
	uint64_t help_from; /* ticks: it helps the writer from then on */
	void *scratch; /* grows, is never shared; see thread_scratch() */
	size_t scratch_bytes;
	void *group; /* calls of the group that this thread has open (stream.c) */
	size_t group_bytes;
	/* Records of calls on the way, outermost first (record.c); more of them than fit are only counted. */
	struct journal_call *open[THREAD_OPEN_MAX];
	uint32_t nopen, nmore;
	struct claims *claims; /* of calls under way, for what it completes (call/claims.h) */
	struct walked
		*walked; /* the last stack that it walked (stackid.c): after this in the mapping */
};

struct thread *thread_get_new(void);

/* A call is not recorded, for its thread cannot be: counted, and said once. */
void thread_lost(void);

/* The calling thread's, made if need be; NULL if nothing is recorded (yet), if it cannot record (counted), or is ending. */
static inline struct thread *thread_get(void)
{
	struct thread *t = thread_inside()->recorder;

	return __builtin_expect(t != NULL, 1) ? t : thread_get_new();
}

/*
 * The calling thread's own stack; all zero where it is not known. A thread that has recorded nothing yet must have called
 * before: not when it is needed, which may be in a signal handler that came in the middle of malloc().
 */
const struct stack_bounds *thread_bounds(void);
void thread_bounds_find(void);

/* Wrapped calls that the calling thread has on the way, of every kind. */
static inline uint32_t thread_on_the_way(void)
{
	return thread_inside()->depth + thread_inside()->transparent;
}

/* Memory of at least that many bytes until the next call of this function, NULL above 64 MiB or if there is none. */
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

/* Room in the thread's chain, NULL when the journal is full; wakes the writer as needed, and helps it. _end: of an asynchronous call. */
static inline void *thread_reserve(struct thread *t, uint32_t bytes)
{
	void *p = chain_room(&t->chain, bytes);

	return __builtin_expect(p != NULL, 1) ? p : thread_reserve_slow(t, bytes);
}
void *thread_reserve_end(struct thread *t, uint32_t bytes);

/* The writer reads these while the thread adds to them. */
static inline void thread_add(uint64_t *sum, uint64_t n)
{
	__atomic_store_n(sum, *sum + n, __ATOMIC_RELAXED);
}

static inline void thread_count(struct thread *t, enum journal_count c)
{
	thread_add(&t->chain.slot->count[c], 1);
}

/* Ticks spent in our own code. */
static inline void thread_self_time(struct thread *t, uint64_t ticks)
{
	thread_add(&t->chain.slot->self_ticks, ticks);
}

/*
 * What a sampled call counts for, of which each stands for `weight`. One that took longer than any does that is left to run (0.1 ms by
 * a time stamp counter) lost its processor meanwhile, or did what only a first call does: it stands for itself alone.
 */
#define SAMPLE_TICKS_MAX (UINT64_C(1) << 18)

static inline uint64_t weigh_sample(uint64_t ticks, uint32_t weight)
{
	return ticks > SAMPLE_TICKS_MAX ? ticks : ticks * weight;
}

/* The same for a part of a call that takes long: it is counted each time, and not with what the call is a sample of. */
static inline void thread_exact_time(struct thread *t, uint64_t ticks)
{
	t->counted += ticks;
	thread_self_time(t, ticks);
}

/*
 * Our own work that is no part of a recorded call, or of one that may not be taken for others: begun and ended on one thread,
 * inside of each other as they come. Nothing is counted of a thread that has no place in the journal.
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

	/* It may have got its place meanwhile. */
	if (!t || (o->thread && o->thread != t))
		return;
	inside = t->counted - o->counted;
	if (took > inside)
		thread_exact_time(t, took - inside);
}

/* Adds to a counter without a thread at hand. Rare events only. */
void thread_count_shared(enum journal_count c);

/* Prepares for threads that end; once per process. */
void thread_init(void);

/* In a forked child that records again: the calling thread has nothing yet. */
void thread_forget(void);

#endif
