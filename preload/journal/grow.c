/* SPDX-License-Identifier: Apache-2.0 */
/* How a journal is divided into parts, and how its parts grow. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "journal/journal.h"

static uint64_t round_to_multiple(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/*
 * Number of thread slots: a small journal has few, because slots and their positions should take
 * only a small part of it.
 */
static uint32_t compute_slot_count(uint64_t bytes)
{
	uint64_t n = bytes >> 12;

	return n < JOURNAL_THREADS_MIN ? JOURNAL_THREADS_MIN
	       : n > JOURNAL_THREADS   ? JOURNAL_THREADS
				       : (uint32_t)n;
}

int compute_journal_geometry(struct journal_geometry *g, uint64_t bytes, uint32_t align)
{
	uint64_t at = round_to_multiple(sizeof(struct journal_head), align);

	*g = (struct journal_geometry){
		.bytes = bytes, .align = align, .nslot = compute_slot_count(bytes)};
	g->thread_off = at;
	at = round_to_multiple(at + sizeof(struct journal_thread) * g->nslot, align);
	g->commit_off = at;
	at = round_to_multiple(at + 2 * journal_get_commit_bytes(g->nslot), align);
	g->dict_off = at;
	g->dict_bytes = round_to_multiple(bytes / 16, align);
	at += g->dict_bytes;
	g->pending_off = at;
	g->pending_bytes = round_to_multiple(bytes / 8, align);
	at += g->pending_bytes;
	g->chunk_off = at;
	if (bytes % align || at + JOURNAL_CHUNK_MIN > bytes)
		return -EINVAL;

	uint64_t size = round_to_multiple((bytes - at) / JOURNAL_CHUNKS_MAX, 4096);

	g->chunk_bytes = (uint32_t)(size < JOURNAL_CHUNK_MIN ? JOURNAL_CHUNK_MIN : size);

	uint64_t n = (bytes - at) / g->chunk_bytes;

	g->nchunk = n < JOURNAL_CHUNKS_MAX ? (uint32_t)n : JOURNAL_CHUNKS_MAX;
	g->most_chunks = g->nchunk + g->nslot < JOURNAL_CHUNKS_MAX ? g->nchunk + g->nslot
								   : JOURNAL_CHUNKS_MAX;
	g->most_bytes = round_to_multiple(at + (uint64_t)g->most_chunks * g->chunk_bytes, align);
	if (g->most_bytes < bytes)
		g->most_bytes = bytes;
	return 0;
}

void get_most_space(const struct journal_geometry *g, uint64_t mapped, uint64_t space[JP_COUNT])
{
	space[JP_THREADS] = g->commit_off - g->thread_off;
	space[JP_DICT] = g->dict_bytes;
	space[JP_PENDING] = g->pending_bytes;
	space[JP_CHUNKS] = mapped - g->chunk_off;
}

/* Space in a new file: JOURNAL_BYTES_MIN in total; the chunks get what the other parts leave. */
#define FIRST_SLOTS 512u
#define FIRST_DICT (128u << 10)
#define FIRST_PENDING (64u << 10)
#define FIRST_CHUNKS 8u /* at least */

static uint64_t get_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void get_first_space(const struct journal_geometry *g, uint64_t space[JP_COUNT])
{
	uint64_t used, chunks = (uint64_t)FIRST_CHUNKS * g->chunk_bytes;

	get_most_space(g, g->bytes, space);
	if (g->bytes <= JOURNAL_BYTES_MIN)
		return;
	space[JP_THREADS] = get_lesser(space[JP_THREADS],
		round_to_multiple(FIRST_SLOTS * sizeof(struct journal_thread), g->align));
	space[JP_DICT] = get_lesser(space[JP_DICT], FIRST_DICT);
	space[JP_PENDING] = get_lesser(space[JP_PENDING], FIRST_PENDING);
	used = g->thread_off + space[JP_THREADS] + (g->dict_off - g->commit_off) + space[JP_DICT] +
	       space[JP_PENDING];
	if (used + chunks < JOURNAL_BYTES_MIN)
		chunks = JOURNAL_BYTES_MIN - used;
	space[JP_CHUNKS] = get_lesser(space[JP_CHUNKS], round_to_multiple(chunks, g->align));
}

static uint64_t get_part_offset(const struct journal_head *h, enum journal_part part)
{
	const uint64_t offset[JP_COUNT] = {
		h->thread_off, h->dict_off, h->pending_off, h->chunk_off};

	return offset[part];
}

static struct journal_piece *find_adjacent_piece(struct journal_head *h, uint64_t offset)
{
	uint32_t n = atomic_load_explicit(&h->npiece, memory_order_relaxed);
	struct journal_piece *last = n && n <= JOURNAL_PIECES ? &h->piece[n - 1] : NULL;

	return last && last->offset + last->bytes == offset ? last : NULL;
}

static bool can_add_piece(struct journal_head *h, uint64_t offset)
{
	return find_adjacent_piece(h, offset) ||
	       atomic_load_explicit(&h->npiece, memory_order_relaxed) < JOURNAL_PIECES;
}

/* A reader finds the file at least as long as the pieces in the table, whenever it looks. */
void add_journal_piece(struct journal_head *h, uint64_t offset, uint64_t bytes)
{
	struct journal_piece *adjacent = find_adjacent_piece(h, offset);
	uint32_t n = atomic_load_explicit(&h->npiece, memory_order_relaxed);

	if (adjacent) {
		__atomic_store_n(&adjacent->bytes, adjacent->bytes + bytes, __ATOMIC_RELEASE);
		return;
	}
	h->piece[n] = (struct journal_piece){offset, bytes};
	atomic_store_explicit(&h->npiece, n + 1, memory_order_release);
}

/* ---- growing ---- */

#define THREADS_PART 4 /* chunks per thread; with fewer, each new thread adds chunks */
#define GROW_CHUNKS 64u /* number of chunks added at once for threads */
#define GROW_DOUBLE 256u /* with fewer chunks, as many again are added; else a quarter */
#define TRY_AGAIN_NS UINT64_C(1000000000)
#define WAIT_NS UINT64_C(2000000000) /* at most, for a thread that grows the journal */

/*
 * Returns the descriptor of the journal's file, open for writing, or -errno. If *opened is not
 * -1, the caller must close it; else the descriptor is the one that is kept open. The program may
 * have closed that descriptor, may use its number for another file, or may have put another file
 * at the path.
 */
static int get_journal_fd(const struct journal *j, int *opened)
{
	const struct io_kept lock = j->lock;
	struct stat st;
	int fd;

	*opened = -1;
	if (io_kept_is_same(&lock, NULL) && (fcntl(lock.fd, F_GETFL) & O_ACCMODE) == O_RDWR)
		return lock.fd;
	fd = journal_open_file(AT_FDCWD, j->head->journal_path, O_NOFOLLOW);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_dev != lock.dev || st.st_ino != lock.ino) {
		close(fd);
		return -ENOENT;
	}
	return *opened = fd;
}

/* Allocates a piece at the end of the file, without holes, and maps it. */
static int extend_file(const struct journal *j, char *memory, uint64_t from, uint64_t bytes)
{
	int fd, opened, cancel, err;

	if (from + bytes > io_get_file_limit())
		return -EFBIG;
	/* A cancelled thread must not end in the middle. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = get_journal_fd(j, &opened);
	err = fd < 0 ? -fd : 0;
	if (!err)
		do
			err = posix_fallocate(fd, (off_t)from, (off_t)bytes);
		while (err == EINTR);
	if (!err && mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			    (off_t)from) == MAP_FAILED)
		err = errno;
	if (opened >= 0)
		close(opened);
	pthread_setcancelstate(cancel, NULL);
	return -err;
}

/* Adds `bytes` to a part. Only one thread at a time. */
static int extend_part(struct journal *j, enum journal_part part, uint64_t bytes)
{
	struct journal_head *h = j->head;
	uint64_t space = atomic_load(&h->space[part]), at = get_part_offset(h, part) + space;
	char *memory = (char *)h + at;
	int err = 0;

	if (space > j->space_max[part] || bytes > j->space_max[part] - space)
		return -EFBIG;
	if (!can_add_piece(h, at))
		return -ENOSPC;
	if (j->kind == JK_FILE)
		err = extend_file(j, memory, journal_get_size(j), bytes);
	/* A segment gets memory as it is touched. */
	else if (j->kind == JK_MEMORY && mprotect(memory, bytes, PROT_READ | PROT_WRITE) < 0)
		err = -errno;
	if (err)
		return err;
	add_journal_piece(h, at, bytes);
	atomic_store_explicit(&h->space[part], space + bytes, memory_order_release);
	if (part == JP_CHUNKS) {
		uint64_t n = (space + bytes) / h->chunk_bytes;
		uint32_t before = atomic_load(&h->nchunk);

		n = n < JOURNAL_CHUNKS_MAX ? n : JOURNAL_CHUNKS_MAX;
		atomic_fetch_add(&h->free_chunks, n - before);
		atomic_store_explicit(&h->nchunk, (uint32_t)n, memory_order_release);
	}
	return 0;
}

/* Returns the number of chunks that the journal may have, without those for threads. */
static uint32_t count_own_chunks(const struct journal_head *h)
{
	uint64_t n = h->chunk_bytes ? (h->bytes - h->chunk_off) / h->chunk_bytes : 0;

	return n < JOURNAL_CHUNKS_MAX ? (uint32_t)n : JOURNAL_CHUNKS_MAX;
}

static uint64_t get_chunks_step(const struct journal *j, uint32_t want)
{
	const struct journal_head *h = j->head;
	uint64_t space = atomic_load(&h->space[JP_CHUNKS]),
		 to = round_to_multiple((uint64_t)want * h->chunk_bytes, h->align);

	return to > space ? to - space : 0;
}

/* Up to the journal's own size two chunks a thread; beyond it, for each thread that has less than a fourth of it. */
static uint64_t get_step_for_threads(const struct journal *j, enum journal_part part)
{
	const struct journal_head *h = j->head;
	uint32_t threads = journal_get_nthread(j), n = atomic_load(&h->nchunk),
		 own = count_own_chunks(h), most = own + h->nslot, want;

	(void)part;
	most = most < JOURNAL_CHUNKS_MAX ? most : JOURNAL_CHUNKS_MAX;
	if (threads * THREADS_PART <= own) {
		want = 2 * threads < own ? 2 * threads : own;
		return n < want ? get_chunks_step(j, want + GROW_CHUNKS / 2 < own
							     ? want + GROW_CHUNKS / 2
							     : own)
				: 0;
	}
	want = own + threads - own / THREADS_PART + GROW_CHUNKS / 2;
	if (n >= want)
		return 0;
	n = (n > own ? n : own) + GROW_CHUNKS;
	return get_chunks_step(j, n < most ? n : most);
}

/* Returns the bytes to be added to a part next; 0: it has its maximum size. */
static uint64_t get_step(const struct journal *j, enum journal_part part)
{
	const struct journal_head *h = j->head;
	uint64_t space = atomic_load(&h->space[part]);
	uint32_t n = atomic_load(&h->nchunk), own = count_own_chunks(h),
		 want = n + (n < GROW_DOUBLE ? n : n / 4);

	/* A journal that has reached its own size still grows with its threads. */
	if (part == JP_CHUNKS && n >= own)
		return get_step_for_threads(j, part);
	if (part == JP_CHUNKS)
		return get_chunks_step(j, want < own ? want : own);
	return space < j->space_max[part] ? get_lesser(space, j->space_max[part] - space) : 0;
}

/*
 * A thread that grows the journal may have to wait for a processor while many others run; their
 * records would be lost if they did not wait for it. If it left by longjmp(), it never ends: then
 * no thread waits after WAIT_NS, and the journal keeps its size.
 */
static int wait_for_growth(const struct journal *j)
{
	uint64_t since;

	while ((since = atomic_load(&j->growing_ns))) {
		if (clock_ns(CLOCK_MONOTONIC) - since >= WAIT_NS)
			return -EAGAIN;
		sched_yield();
	}
	return 0;
}

/*
 * Adds get_bytes() bytes to a part. If another thread is growing the journal: waits for it if
 * `wait` is set, else returns -EAGAIN.
 */
static int extend_alone(struct journal *j, enum journal_part part,
	uint64_t get_bytes(const struct journal *, enum journal_part), bool wait)
{
	const struct journal_head *h = j->head;
	int before = errno, err = 0;
	uint64_t bytes, none = 0;

	/* A forked child has zeros where its parent's journal lay. */
	if (!atomic_load_explicit(&h->npiece, memory_order_relaxed) || !h->align || !h->chunk_bytes)
		return -ENOSPC;
	bytes = get_bytes(j, part);
	if (!bytes)
		return -ENOSPC;
	if (atomic_load_explicit(&j->refused_ns, memory_order_relaxed))
		return -EAGAIN;
	if (!atomic_compare_exchange_strong(&j->growing_ns, &none, clock_ns(CLOCK_MONOTONIC))) {
		err = wait ? wait_for_growth(j) : -EAGAIN;
		errno = before;
		return err;
	}
	bytes = get_bytes(j, part);
	if (bytes)
		err = extend_part(j, part, bytes);
	if (err)
		atomic_store(&j->refused_ns, clock_ns(CLOCK_MONOTONIC));
	atomic_store(&j->growing_ns, 0);
	errno = before;
	return err;
}

int journal_grow(struct journal *j, enum journal_part part)
{
	return extend_alone(j, part, get_step, true);
}

int journal_grow_if_free(struct journal *j, enum journal_part part)
{
	return extend_alone(j, part, get_step, false);
}

void journal_grow_ahead(struct journal *j)
{
	const struct journal_head *h = j->head;
	uint64_t refused = atomic_load_explicit(&j->refused_ns, memory_order_relaxed);
	uint32_t n = atomic_load(&h->nchunk);

	if (refused && clock_ns(CLOCK_MONOTONIC) - refused >= TRY_AGAIN_NS)
		atomic_store(&j->refused_ns, 0);
	if (atomic_load(&h->free_chunks) <= n / 2)
		journal_grow(j, JP_CHUNKS);
	if (atomic_load(&h->dict_used) > journal_get_space(j, JP_DICT) / 2)
		journal_grow(j, JP_DICT);
	if (journal_get_nthread(j) > journal_get_nslot(j) / 2)
		journal_grow(j, JP_THREADS);
}

void journal_grow_for_threads(struct journal *j)
{
	if (journal_get_nthread(j) > journal_get_nslot(j) / 2)
		journal_grow(j, JP_THREADS);
	/* Usually there are enough chunks, and nothing else is checked. */
	if (2 * journal_get_nthread(j) >= atomic_load(&j->head->nchunk))
		extend_alone(j, JP_CHUNKS, get_step_for_threads, true);
}
