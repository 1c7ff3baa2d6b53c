/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/tid.h"
#include "stats/kernel.h"

/*
 * A thread takes one chunk at a time. A chunk takes long compared with taking it (128 KiB of
 * float32 in about 5 us), and is short enough for the calling thread to wait for at the end. A
 * round is shared at a time: it limits the memory for results, which are stored until all results
 * before them are combined.
 */
#define CHUNK_BLOCKS 16
#define ROUND_CHUNKS 512
#define ROUND_BLOCKS (ROUND_CHUNKS * CHUNK_BLOCKS)

#define SPINS 500 /* about the duration of a chunk; then the thread waits in the kernel */
#define LOOK_S 1 /* seconds of waiting after which the helper is checked: it may be dead */

/* The data measured in this round; constant until all of its chunks have been measured. */
struct round {
	const unsigned char *p;
	uint64_t bytes, before; /* before: number of the tensor's bytes before this round */
	size_t chunk; /* size of a full chunk in bytes */
	uint32_t chunks;
	unsigned size; /* bytes of a component */
	void (*kernel)(const void *p, size_t n, const void *ahead, const struct stats_eps *eps,
		struct stats_block *b);
	stats_checksum_fn *add_to_checksum;
	struct stats_eps eps;
};

/* The result of a chunk, stored until all results before it are combined. */
struct chunk {
	_Atomic uint32_t done; /* futex */
	/* 1 + number of the helper that measures it; 0: none, or not stored yet */
	_Atomic uint32_t by;
	uint32_t checksum;
	struct stats_block block[CHUNK_BLOCKS];
};

static struct {
	/*
	 * The round's number << 16 | number of chunks that have not been taken. A thread that has
	 * taken one by counting down may read `round`, because the calling thread does not
	 * continue until this chunk is done.
	 */
	_Alignas(64) _Atomic uint64_t open;
	_Alignas(64) _Atomic uint32_t go; /* futex: helpers sleep on it; changes with each round */
	_Atomic uint32_t waited; /* 1 + number of the chunk that the calling thread waits for */
	_Atomic uint32_t ended; /* how often helpers were asked to end */
	_Atomic uintptr_t user; /* &thread_state of the thread that uses the helpers */
	_Atomic int tid[STATS_THREADS_MAX];
	uint32_t helpers;
	uint64_t min_bytes;
	_Atomic(const struct cores *) where; /* cores for helpers that start */
	struct round round;
	struct chunk *chunk; /* array of ROUND_CHUNKS */
} team;

static long call_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *time)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, time, NULL, 0);
}

static inline void wait_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb");
#endif
}

/* ---- work of helpers and the calling thread ---- */

#define LEFT 0xffffu

/* Takes a chunk. Returns false if no chunk of the round is left. */
static bool get_chunk(uint32_t *i)
{
	uint64_t v = atomic_load_explicit(&team.open, memory_order_acquire);

	do {
		if (!(v & LEFT))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&team.open, &v, v - 1, memory_order_acq_rel, memory_order_acquire));
	*i = team.round.chunks - (uint32_t)(v & LEFT);
	return true;
}

static void measure(uint32_t i)
{
	const struct round *r = &team.round;
	struct stats_block *b = team.chunk[i].block;
	uint64_t at = (uint64_t)i * r->chunk, end = at + r->chunk;
	uint32_t sum = 0;

	end = end < r->bytes ? end : r->bytes;
	while (at < end) {
		size_t len = STATS_BLOCK * (size_t)r->size;
		const unsigned char *p = r->p + at;

		len = len < end - at ? len : (size_t)(end - at);
		/*
		 * Prefetches the chunk after this one, which this thread or another will need
		 * next.
		 */
		r->kernel(p, len / r->size, at + STATS_FAR < r->bytes ? p + STATS_FAR : p, &r->eps,
			b++);
		if (r->add_to_checksum)
			sum = r->add_to_checksum(sum, p, len, r->before + at);
		at += len;
	}
	team.chunk[i].checksum = sum;
}

/* ---- helpers ---- */

static void record_done(uint32_t i)
{
	atomic_store(&team.chunk[i].done, 1);
	if (atomic_load(&team.waited) == i + 1)
		call_futex(&team.chunk[i].done, FUTEX_WAKE, 1, NULL);
}

static int init_helper(uint32_t me)
{
	int tid = (int)read_tid();
	const struct cores *where = atomic_load(&team.where);
	struct sched_param none = {0};
	struct stats_fenv env;
	sigset_t faults;

	thread_state.busy++; /* calls that libprobe makes itself are not recorded */
	prctl(PR_SET_NAME, "probe-stats");
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
	/*
	 * With batch scheduling, a helper that wakes up never takes the core from a thread of the
	 * job. Its priority is that of the job, because a thread of the job may wait for it.
	 */
	sched_setscheduler(0, SCHED_BATCH, &none);
	if (where)
		sched_setaffinity(0, sizeof(*where), (const cpu_set_t *)where);
	/* the environment was inherited from the thread that started this one */
	stats_fenv_set(&env);
	atomic_store(&team.tid[me], tid);
	return tid;
}

static void *helper_main(void *arg)
{
	uint32_t born = (uint32_t)((uintptr_t)arg / STATS_THREADS_MAX), i;
	uint32_t me = (uint32_t)(uintptr_t)arg % STATS_THREADS_MAX;
	int tid = init_helper(me);

	for (;;) {
		uint32_t go = atomic_load(&team.go);

		while (get_chunk(&i)) {
			atomic_store_explicit(&team.chunk[i].by, me + 1, memory_order_relaxed);
			measure(i);
			record_done(i);
		}
		if (atomic_load(&team.ended) != born)
			break;
		call_futex(&team.go, FUTEX_WAIT, go, NULL);
	}
	/* The helper ended on request, and all its chunks are done: it must not count as dead. */
	atomic_compare_exchange_strong(&team.tid[me], &tid, 0);
	return NULL;
}

/* ---- the calling thread ---- */

static bool is_done(uint32_t i)
{
	return atomic_load(&team.chunk[i].done);
}

/*
 * True if the helper that has begun chunk i is dead: in a child forked from a signal handler in
 * the middle of a round, or if the job's handler of SIGSEGV ended the thread. If it is known
 * which helper that is, only this one is checked: while it lives, it goes on reading a tensor
 * that the job may free, and writing its result.
 */
static bool is_gone(uint32_t i)
{
	uint32_t by = atomic_load(&team.chunk[i].by), from = by ? by - 1 : 0,
		 to = by ? by : team.helpers;

	for (; from < to; from++)
		if (syscall(SYS_tgkill, getpid(), atomic_load(&team.tid[from]), 0) < 0 &&
			errno == ESRCH)
			return true;
	return false;
}

static void wait_for(uint32_t i)
{
	const struct timespec look = {.tv_sec = LOOK_S};

	for (unsigned n = 0; n < SPINS; n++) {
		if (is_done(i))
			return;
		wait_briefly();
	}
	atomic_store(&team.waited, i + 1);
	while (!is_done(i)) {
		if (call_futex(&team.chunk[i].done, FUTEX_WAIT, 0, &look) == 0 ||
			errno != ETIMEDOUT)
			continue;
		if (!is_done(i) && is_gone(i)) {
			atomic_store(&stats_share, NULL);
			measure(i);
			break;
		}
	}
	atomic_store(&team.waited, 0);
}

static void merge_chunk(struct stats_acc *a, uint32_t i)
{
	const struct round *r = &team.round;
	const struct chunk *c = &team.chunk[i];
	uint64_t bytes = r->bytes - (uint64_t)i * r->chunk;
	size_t block = STATS_BLOCK * (size_t)r->size;

	bytes = bytes < r->chunk ? bytes : r->chunk;
	for (size_t k = 0; k * block < bytes; k++)
		stats_combine(a, &c->block[k]);
	if (a->add_to_checksum)
		a->checksum =
			stats_checksum_join(a->add_to_checksum, a->checksum, c->checksum, bytes);
}

/* n: at most ROUND_BLOCKS blocks. */
static void measure_round(struct stats_acc *a, const unsigned char *p, uint64_t n, uint64_t before)
{
	struct round *r = &team.round;
	uint64_t number = (atomic_load(&team.open) >> 16) + 1;
	uint32_t combined = 0, i;

	*r = (struct round){.p = p,
		.bytes = n,
		.before = before,
		.chunk = (size_t)CHUNK_BLOCKS * STATS_BLOCK * a->size,
		.size = a->size,
		.kernel = a->kernel,
		.add_to_checksum = a->add_to_checksum,
		.eps = a->eps};
	r->chunks = (uint32_t)((n + r->chunk - 1) / r->chunk);
	for (i = 0; i < r->chunks; i++) {
		atomic_store_explicit(&team.chunk[i].done, 0, memory_order_relaxed);
		atomic_store_explicit(&team.chunk[i].by, 0, memory_order_relaxed);
	}
	atomic_store(&team.open, number << 16 | r->chunks);
	atomic_fetch_add(&team.go, 1);
	if (r->chunks > 1)
		call_futex(&team.go, FUTEX_WAKE,
			r->chunks - 1 < team.helpers ? r->chunks - 1 : team.helpers, NULL);
	while (get_chunk(&i)) {
		measure(i);
		atomic_store_explicit(&team.chunk[i].done, 1, memory_order_relaxed);
		while (combined < r->chunks && is_done(combined))
			merge_chunk(a, combined++);
	}
	for (; combined < r->chunks; combined++) {
		wait_for(combined);
		merge_chunk(a, combined);
	}
}

static bool measure_shared(struct stats_acc *a, const void *p, uint64_t n, uint64_t before)
{
	uint64_t round = (uint64_t)ROUND_BLOCKS * STATS_BLOCK * a->size;
	uintptr_t no_user = 0;
	int err = errno;

	if (n < team.min_bytes ||
		!atomic_compare_exchange_strong(&team.user, &no_user, (uintptr_t)&thread_state))
		return false;
	for (uint64_t at = 0; at < n; at += round)
		measure_round(a, (const unsigned char *)p + at, n - at < round ? n - at : round,
			before + at);
	atomic_store(&team.user, 0);
	errno = err;
	return true;
}

/* ---- start and stop ---- */

int stats_threads_start(unsigned n, uint64_t min_bytes, const struct cores *where)
{
	static struct cores on;
	uintptr_t born = atomic_load(&team.ended);
	int err = 0;

	if (!team.chunk) {
		void *mem = mmap(NULL, ROUND_CHUNKS * sizeof(struct chunk), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mem == MAP_FAILED)
			return -errno;
		team.chunk = mem;
	}
	if (where)
		on = *where;
	atomic_store(&team.where, where ? &on : NULL);
	team.min_bytes = min_bytes;
	team.helpers = 0;
	while (team.helpers < n && team.helpers < STATS_THREADS_MAX && !err) {
		atomic_store(&team.tid[team.helpers], 0);
		err = thread_start(helper_main, (void *)(born * STATS_THREADS_MAX + team.helpers));
		team.helpers += !err;
	}
	if (!team.helpers)
		return err;
	atomic_store_explicit(&stats_share, measure_shared, memory_order_release);
	return (int)team.helpers;
}

void stats_threads_stop(void)
{
	int err = errno;

	if (!atomic_exchange(&stats_share, NULL))
		return;
	atomic_fetch_add(&team.ended, 1);
	atomic_fetch_add(&team.go, 1);
	call_futex(&team.go, FUTEX_WAKE, STATS_THREADS_MAX, NULL);
	errno = err;
}

void stats_threads_forked(void)
{
	atomic_store(&stats_share, NULL);
	/*
	 * Another thread of the parent may have had the helpers. The forking thread itself may
	 * have had them too, if it forked in a signal handler: then it still has them.
	 */
	if (atomic_load(&team.user) == (uintptr_t)&thread_state)
		return;
	/*
	 * No chunk of the other thread's round may be taken in this process, least of all by
	 * helpers that are started again.
	 */
	atomic_fetch_and(&team.open, ~(uint64_t)LEFT);
	atomic_store(&team.user, 0);
}
