/* SPDX-License-Identifier: Apache-2.0 */
#include "call/recorder.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "base/tid.h"
#include "call/claims.h"
#include "call/stackid.h"
#include "config/rooms/calls.h"
#include "session/state.h"

#define SCRATCH_MAX (64u << 20)

static pthread_key_t key;
static bool have_key;

/* ThreadSanitizer itself uses the last round to end a thread. */
#ifdef __SANITIZE_THREAD__
#define LAST_ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)
#else
#define LAST_ROUND PTHREAD_DESTRUCTOR_ITERATIONS
#endif

/* The thread's own struct, followed by the latest stack that it walked. */
#define OWN_BYTES ((sizeof(struct thread) + 63) & ~(size_t)63)

static size_t mapped_bytes(void)
{
	return OWN_BYTES + sizeof(struct walked);
}

/*
 * Destructors of other libraries may still call wrapped functions. glibc runs destructors in rounds as long as values are set
 * again, so this one sets its value again until the last round.
 */
static void handle_thread_end(void *arg)
{
	struct thread *t = arg;

	if (++t->rounds < LAST_ROUND && pthread_setspecific(key, t) == 0)
		return;
	thread_state.dead = 1;
	thread_state.recorder = NULL;
	/* In a child made without pthread_atfork, the journal is still the parent's. */
	if (*session.alive && getpid() == session.pid) {
		claims_reset(t->claims);
		chain_close(&t->chain);
	}
	if (t->scratch)
		munmap(t->scratch, t->scratch_bytes);
	if (t->group)
		munmap(t->group, t->group_bytes);
	if (t->stacks)
		stack_cache_free(t->stacks);
	munmap(t, mapped_bytes());
}

void thread_init(void)
{
	if (!have_key)
		have_key = pthread_key_create(&key, handle_thread_end) == 0;
}

void thread_reset(void)
{
	struct thread_self *w = thread_self();

	if (thread_has_block()) {
		w->recorder = NULL;
		w->depth = w->transparent = w->busy = 0;
		w->call = 0;
	}
	/* With its value kept, the end of this thread would free the parent's slot. */
	if (have_key)
		pthread_setspecific(key, NULL);
}

void thread_count_shared(enum journal_count c)
{
	if (session.journal.head)
		__atomic_fetch_add(&session.journal.head->count[c], 1, __ATOMIC_RELAXED);
}

/* The thread's stack bounds, read once in its life; a recorder has a copy. */
static THREAD_OWN struct {
	struct stack_bounds bounds;
	bool is_known;
} stack;

void thread_bounds_find(void)
{
	struct thread_self *w = thread_self();
	struct stack_bounds *b = &own(stack).bounds;

	if (!thread_has_block() || own(stack).is_known)
		return;
	own(stack).is_known = true;
	stack_bounds_init(b);
	w->space_at = b->roomy;
	w->space_bytes = b->hi - b->roomy;
}

const struct stack_bounds *thread_get_bounds(void)
{
	const struct thread *t = thread_inside()->recorder;

	return t ? &t->bounds : &own(stack).bounds;
}

static struct thread *add_thread(void)
{
	struct thread *t = mmap(
		NULL, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	t->tid = read_tid();
	while (chain_open(&t->chain, &session.journal, t->tid) < 0)
		if (journal_grow(&session.journal, JP_THREADS) < 0) {
			munmap(t, mapped_bytes());
			return NULL;
		}
	journal_grow_for_threads(&session.journal);
	t->claims = claims_get((unsigned)(t->chain.slot - journal_get_thread(&session.journal, 0)));
	t->walked = (void *)((char *)t + OWN_BYTES);
	thread_bounds_find();
	t->bounds = *thread_get_bounds();
	if (get_calls_keys(get_config())->stack)
		t->stacks = stack_cache_new();
	if (have_key)
		pthread_setspecific(key, t);
	t->made = clock_ticks();
	thread_state.recorder = t;
	return t;
}

struct thread *thread_get_new(void)
{
	struct thread *t = NULL;

	if (!session_is_on())
		return NULL;
	if (!thread_state.dead && thread_has_block())
		t = add_thread();
	if (!t)
		thread_handle_lost_call();
	return t;
}

void thread_handle_lost_call(void)
{
	thread_count_shared(JC_DROP_THREADS);
	/*
	 * Not reported in a thread whose destructor has run: another library's destructor made
	 * this call.
	 */
	if (thread_state.dead)
		return;
	log_loss(LOSS_THREADS,
		"more than %u threads record at once (or no memory): calls of the others are lost",
		session.journal.head->nslot);
}

void *thread_get_more_scratch(struct thread *t, size_t bytes)
{
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

void thread_reserve_seq(struct thread *t)
{
	t->seq_next = atomic_fetch_add_explicit(&session.seq, SEQ_BLOCK, memory_order_relaxed);
	t->seq_end = t->seq_next + SEQ_BLOCK;

	/* If an earlier run is continued, its numbers are not reused. */
	_Atomic uint64_t *next = &session.journal.head->seq_next;
	uint64_t was = atomic_load_explicit(next, memory_order_relaxed);

	while (was < t->seq_end && !atomic_compare_exchange_weak_explicit(next, &was, t->seq_end,
					   memory_order_relaxed, memory_order_relaxed))
		;
}

/*
 * If the journal is crowded, the thread writes a little of it, once for each chunk that it fills. Before a record is
 * lost, it yields the processor to the thread that writes: for at most WAIT_NS (plus what other threads use), and for
 * no more than one WAIT_PART of its time in total. docs/explanation/performance.md states this.
 */
#define WAIT_NS 1000000
#define WAIT_PART 20
#define HELP_PAUSE_NS 1000000 /* pause after a small pass that freed nothing */

static bool can_wait(const struct thread *t, uint64_t since, uint64_t now)
{
	return (double)(now - since) * session.clock.ns_per_tick < WAIT_NS &&
	       t->waited * WAIT_PART <= now - t->made;
}

static enum writer_help run_writer_if_needed(struct thread *t, uint64_t now)
{
	enum writer_help h;

	if (now < t->help_from || !journal_is_crowded(t->chain.j))
		return HELP_USELESS;
	h = session_hooks.help_writer();
	if (h == HELP_USELESS)
		t->help_from = now + (uint64_t)(HELP_PAUSE_NS / session.clock.ns_per_tick);
	return h;
}

typedef void *chain_reserve_fn(struct chain *c, uint32_t bytes, bool *wake);

/* p: what has been reserved already, or NULL. */
__attribute__((noinline)) static void *reserve_or_run_writer(
	struct thread *t, uint32_t bytes, void *p, chain_reserve_fn *reserve)
{
	uint64_t since = clock_ticks(), now = since;
	bool wake;

	for (;;) {
		enum writer_help h = run_writer_if_needed(t, now);

		if (!p)
			p = reserve(&t->chain, bytes, &wake);
		now = clock_ticks();
		if (p || h != HELP_TAKEN || !can_wait(t, since, now))
			break;
		sched_yield();
		t->waited += clock_ticks() - now;
	}
	thread_add_exact_time(t, clock_ticks() - since);
	return p;
}

static void *reserve_in_chain(struct thread *t, uint32_t bytes, chain_reserve_fn *reserve)
{
	bool wake = false;
	void *p = reserve(&t->chain, bytes, &wake);

	if (wake)
		session_hooks.wake_writer();
	/* The writer lets it grow before, if it gets the processor. */
	if (__builtin_expect(p && journal_is_crowded(t->chain.j), 0))
		journal_grow_if_free(t->chain.j, JP_CHUNKS);
	while (__builtin_expect(!p, 0) && bytes <= JOURNAL_ENTRY_MAX &&
		journal_grow(t->chain.j, JP_CHUNKS) == 0)
		p = reserve(&t->chain, bytes, &wake);
	if (__builtin_expect(p ? journal_is_crowded(t->chain.j) : bytes <= JOURNAL_ENTRY_MAX, 0))
		p = reserve_or_run_writer(t, bytes, p, reserve);
	return p;
}

void *thread_reserve_slow(struct thread *t, uint32_t bytes)
{
	return reserve_in_chain(t, bytes, chain_reserve);
}

void *thread_reserve_end(struct thread *t, uint32_t bytes)
{
	void *p = chain_get_space(&t->chain, bytes);

	return p ? p : reserve_in_chain(t, bytes, chain_reserve_end);
}
