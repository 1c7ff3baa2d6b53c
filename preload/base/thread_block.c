/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that contain threads' variables (base/thread.h). Uses neither a lock nor the job's
 * allocator: a thread may first come here in a signal handler, in the middle of malloc(), or with
 * any lock of libc held.
 *
 * A block is reused after its thread has ended. The end of a thread is not reported in time,
 * because destructors of other libraries may still call libprobe after its own. So blocks are
 * swept for threads that the kernel no longer has. A sweep runs when as many threads have started
 * as half of the number of blocks. This keeps the number of blocks below three times the threads
 * alive at once, for two system calls per thread.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/at_start.h"
#include "base/thread.h"
#include "base/tid.h"

#define ALIGN 64u /* alignment of blocks: a cache line */
#define FIRST_BYTES (32u << 10) /* in libprobe.so's own data; enough for most processes */
/* size of the first mapping; each later one is twice as large as the one before */
#define MAPPED_BYTES (64u << 10)
#define CHUNKS 12u /* 128 MiB, some 70,000 threads */
#define SWEEP_FIRST 16u

/* ThreadSanitizer cannot know that the thread whose variables are reused has ended. */
#if defined(__SANITIZE_THREAD__)
#define REUSED 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REUSED 0
#endif
#endif
#ifndef REUSED
#define REUSED 1
#endif

struct block {
	/* low half: thread id, 0: none; high half: how often the block was taken */
	_Atomic uint64_t owner;
	_Atomic uint32_t next; /* next block in the free list: 1 + number */
	_Alignas(ALIGN) char variables[];
};

/* Defined by the linker: the section of all THREAD_OWN variables. */
extern char own_first[] __asm__("__start_probe_thread") __attribute__((visibility("hidden")));
extern char own_end[] __asm__("__stop_probe_thread") __attribute__((visibility("hidden")));

THREAD_OWN _Alignas(ALIGN) struct thread_self thread_blank = {.busy = 1u << 30};
struct thread_self thread_refused = {.busy = 1u << 30};
__thread struct thread_self *thread_pointer = &thread_blank;

static _Alignas(ALIGN) char first_chunk[FIRST_BYTES];

static struct {
	_Atomic(char *) mapped[CHUNKS]; /* mapped[0] is first_chunk */
	/*
	 * the free list. low half: 1 + number of the first block, 0: none; high half: number of
	 * changes
	 */
	_Atomic uint64_t unused;
	_Atomic uint32_t made; /* number of blocks that have had an owner */
	/* how often blocks were taken so far, and before the last sweep */
	_Atomic uint32_t taken, swept;
	_Atomic pid_t pid;
} pool;

#define LOW32 UINT64_C(0xffffffff)

static inline size_t compute_variables_bytes(void)
{
	return (uintptr_t)own_end - (uintptr_t)own_first;
}

static inline size_t compute_block_bytes(void)
{
	return (sizeof(struct block) + compute_variables_bytes() + ALIGN - 1) / ALIGN * ALIGN;
}

static inline size_t compute_chunk_bytes(uint32_t chunk)
{
	return chunk ? (size_t)MAPPED_BYTES << (chunk - 1) : FIRST_BYTES;
}

/* Returns this block's copy of thread_blank. */
static inline struct thread_self *get_self_of_block(struct block *b)
{
	return (struct thread_self *)(b->variables +
				      ((uintptr_t)&thread_blank - (uintptr_t)own_first));
}

static char *map_chunk(uint32_t chunk)
{
	char *none = NULL, *mem;

	if (!chunk)
		return first_chunk;
	mem = atomic_load_explicit(&pool.mapped[chunk], memory_order_acquire);
	if (mem)
		return mem;
	mem = mmap(NULL, compute_chunk_bytes(chunk), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&pool.mapped[chunk], &none, mem))
		return mem;
	munmap(mem, compute_chunk_bytes(chunk));
	return none;
}

/*
 * Returns the block with this number; maps its chunk if necessary. Returns NULL if there is no
 * memory, or the number is too large.
 */
static struct block *find_block(uint32_t number)
{
	for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
		uint32_t n = (uint32_t)(compute_chunk_bytes(chunk) / compute_block_bytes());
		char *mem;

		if (number >= n) {
			number -= n;
			continue;
		}
		mem = map_chunk(chunk);
		return mem ? (struct block *)(mem + number * compute_block_bytes()) : NULL;
	}
	return NULL;
}

static void add_unused(struct block *b, uint32_t number)
{
	uint64_t was = atomic_load(&pool.unused), now;

	do {
		atomic_store_explicit(&b->next, (uint32_t)was, memory_order_relaxed);
		now = ((was >> 32) + 1) << 32 | (number + 1);
	} while (!atomic_compare_exchange_weak(&pool.unused, &was, now));
}

static struct block *remove_unused(uint32_t *number)
{
	uint64_t was = atomic_load(&pool.unused), now;
	struct block *b;

	do {
		if (!(uint32_t)was)
			return NULL;
		*number = (uint32_t)was - 1;
		b = find_block(*number);
		now = ((was >> 32) + 1) << 32 |
		      atomic_load_explicit(&b->next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(&pool.unused, &was, now));
	return b;
}

static bool is_gone(pid_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

/* Frees the blocks of threads that have ended. */
static void free_blocks_of_ended(pid_t pid)
{
	uint32_t made = atomic_load(&pool.made);

	atomic_store(&pool.swept, atomic_load(&pool.taken));
	for (uint32_t i = 0; REUSED && i < made; i++) {
		struct block *b = find_block(i);
		uint64_t owner = b ? atomic_load(&b->owner) : 0;

		if ((uint32_t)owner && is_gone(pid, (uint32_t)owner) &&
			atomic_compare_exchange_strong(&b->owner, &owner, owner & ~LOW32))
			add_unused(b, i);
	}
}

static struct block *add_block(uint32_t *number)
{
	uint32_t made = atomic_load(&pool.made);
	struct block *b;

	do {
		b = find_block(made);
		if (!b)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool.made, &made, made + 1));
	*number = made;
	return b;
}

static bool is_sweep_due(void)
{
	uint32_t made = atomic_load(&pool.made),
		 since = atomic_load(&pool.taken) - atomic_load(&pool.swept);

	return since >= SWEEP_FIRST && since >= made / 2;
}

static struct block *get_free_block(pid_t pid, uint32_t *number)
{
	struct block *b = remove_unused(number);

	if (!b && is_sweep_due()) {
		free_blocks_of_ended(pid);
		b = remove_unused(number);
	}
	if (!b)
		b = add_block(number);
	return b;
}

/*
 * Sets the thread's pointer, once in its life: its nesting depth must not move in between.
 * Returns false if a signal handler has set it meanwhile.
 */
static bool set_pointer(struct thread_self *t)
{
	struct thread_self *none = &thread_blank;

	return __atomic_compare_exchange_n(
		&thread_pointer, &none, t, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void set_thread_block(pid_t pid, uint32_t tid)
{
	uint32_t number;
	struct block *b = get_free_block(pid, &number);
	struct thread_self *t;

	if (!b) {
		set_pointer(&thread_refused);
		return;
	}
	atomic_fetch_add(&pool.taken, 1);
	memset(b->variables, 0, compute_variables_bytes());
	t = get_self_of_block(b);
	t->shift = (ptrdiff_t)((uintptr_t)b->variables - (uintptr_t)own_first);
	t->error = &errno;
	if (!set_pointer(t)) {
		add_unused(b, number);
		return;
	}
	atomic_store(&b->owner, ((atomic_load(&b->owner) >> 32) + 1) << 32 | tid);
}

__attribute__((noinline)) struct thread_self *thread_block_make(void)
{
	int err = errno;
	pid_t pid = getpid(), none = 0;

	/*
	 * Another process: a child of vfork(), or one forked without fork(). Nothing is recorded
	 * in it.
	 */
	if (atomic_compare_exchange_strong(&pool.pid, &none, pid) || none == pid)
		set_thread_block(pid, read_tid());
	errno = err;
	return thread_pointer;
}

/*
 * For a forked child: frees all blocks except the caller's, because the parent's other threads do
 * not exist.
 */
static void free_other_blocks(void)
{
	uint32_t made = atomic_load(&pool.made);
	uint32_t tid = read_tid();

	atomic_store(&pool.pid, getpid());
	for (uint32_t i = 0; i < made; i++) {
		struct block *b = find_block(i);
		uint64_t owner = b ? atomic_load(&b->owner) : 0;

		if (!(uint32_t)owner)
			continue;
		if (get_self_of_block(b) == thread_pointer) {
			atomic_store(&b->owner, (owner & ~LOW32) | tid);
		} else {
			atomic_store(&b->owner, owner & ~LOW32);
			add_unused(b, i);
		}
	}
}

__attribute__((constructor)) START_CODE static void register_fork_handlers(void)
{
	pthread_atfork(NULL, NULL, free_other_blocks);
}
