/* SPDX-License-Identifier: Apache-2.0 */
#include "call/thread.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "session.h"

#define SEQ_BLOCK 64
#define SCRATCH_MAX (64u << 20)

static pthread_key_t key;
static bool have_key;

/* ThreadSanitizer takes a thread down in the last round itself. */
#ifdef __SANITIZE_THREAD__
#define LAST_ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)
#else
#define LAST_ROUND PTHREAD_DESTRUCTOR_ITERATIONS
#endif

/*
 * Destructors of other libraries may still call wrapped functions. glibc runs destructors in rounds as long as values
 * are set again: ours steps back until the last round.
 */
static void thread_end(void *arg)
{
	struct thread *t = arg;

	if (++t->rounds < LAST_ROUND && pthread_setspecific(key, t) == 0)
		return;
	thread_word.dead = 1;
	thread_word.self = NULL;
	/* In a child made past pthread_atfork the journal is still the parent's. */
	if (*session.alive && getpid() == session.pid)
		chain_detach(&t->chain);
	if (t->scratch)
		munmap(t->scratch, t->scratch_bytes);
	if (t->group)
		munmap(t->group, t->group_bytes);
	if (t->stacks)
		stack_cache_free(t->stacks);
	munmap(t, sizeof(*t));
}

void thread_init(void)
{
	if (!have_key)
		have_key = pthread_key_create(&key, thread_end) == 0;
}

void thread_forget(void)
{
	thread_word.self = NULL;
	thread_word.depth = thread_word.around = thread_word.busy = 0;
	thread_word.call = 0;
	/* Else the end of this thread would give the parent's slot back. */
	if (have_key)
		pthread_setspecific(key, NULL);
}

void thread_count_shared(enum journal_count c)
{
	if (session.journal.head)
		__atomic_fetch_add(&session.journal.head->count[c], 1, __ATOMIC_RELAXED);
}

static struct thread *thread_make(void)
{
	struct thread *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	t->tid = (uint32_t)syscall(SYS_gettid);
	if (chain_attach(&t->chain, &session.journal, t->tid) < 0) {
		munmap(t, sizeof(*t));
		return NULL;
	}
	stack_bounds_init(&t->bounds);
	if (session.cfg.stack)
		t->stacks = stack_cache_new();
	if (have_key)
		pthread_setspecific(key, t);
	thread_word.self = t;
	return t;
}

struct thread *thread_get_new(void)
{
	struct thread *t = NULL;

	if (!session_is_on())
		return NULL;
	if (!thread_word.dead)
		t = thread_make();
	if (!t) {
		thread_count_shared(JC_DROP_THREADS);
		if (thread_word.dead)
			return NULL; /* a destructor that ran after ours */
		log_loss(LOSS_THREADS,
			"more than %d threads record at once (or no memory): calls of the others "
			"are lost",
			JOURNAL_THREADS);
	}
	return t;
}

/* Of a thread that has recorded nothing. */
static __thread struct stack_bounds own_bounds;

void thread_bounds_ask(void)
{
	static __thread bool asked;

	if (asked)
		return;
	asked = true;
	stack_bounds_init(&own_bounds);
}

const struct stack_bounds *thread_bounds(void)
{
	const struct thread *t = thread_word.self;

	return t ? &t->bounds : &own_bounds;
}

void *thread_scratch(struct thread *t, size_t bytes)
{
	if (bytes <= t->scratch_bytes)
		return t->scratch;
	if (bytes > SCRATCH_MAX)
		return NULL;

	size_t want = t->scratch_bytes ? t->scratch_bytes : 16384;

	while (want < bytes)
		want *= 2;

	void *p = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (t->scratch)
		munmap(t->scratch, t->scratch_bytes);
	t->scratch = p;
	t->scratch_bytes = want;
	return p;
}

void thread_more_seq(struct thread *t)
{
	t->seq_next = atomic_fetch_add_explicit(&session.seq, SEQ_BLOCK, memory_order_relaxed);
	t->seq_end = t->seq_next + SEQ_BLOCK;
}

void *thread_reserve_slow(struct thread *t, uint32_t bytes)
{
	bool wake = false;
	void *p = chain_reserve(&t->chain, bytes, &wake);

	if (wake)
		writer_wake();
	return p;
}

void *thread_reserve_end(struct thread *t, uint32_t bytes)
{
	bool wake = false;
	void *p = chain_reserve_end(&t->chain, bytes, &wake);

	if (wake)
		writer_wake();
	return p;
}
