/* SPDX-License-Identifier: Apache-2.0 */
/* Making, mapping and checking a journal. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/death.h"
#include "journal/journal.h"
#include "journal/segment.h"

#define PAGE 4096u

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/*
 * Number of thread slots: a small journal has few, because slots and their positions should take
 * only a small part of it.
 */
static uint32_t slots_for(uint64_t bytes)
{
	uint64_t n = bytes >> 12;

	return n < JOURNAL_THREADS_MIN ? JOURNAL_THREADS_MIN
	       : n > JOURNAL_THREADS   ? JOURNAL_THREADS
				       : (uint32_t)n;
}

/*
 * Divides the file: 1/16 dictionary, 1/8 records in flight, the rest chunks. Returns -EINVAL if
 * no chunk fits.
 */
static int divide_journal(struct journal_head *h, uint64_t bytes)
{
	uint64_t at = round_up(sizeof(*h), PAGE);

	h->bytes = bytes;
	h->nslot = slots_for(bytes);
	h->thread_off = at;
	at = round_up(at + sizeof(struct journal_thread) * h->nslot, PAGE);
	h->commit_off = at;
	at = round_up(at + 2 * journal_commit_bytes(h->nslot), PAGE);
	h->dict_off = at;
	h->dict_bytes = round_up(bytes / 16, PAGE);
	at += h->dict_bytes;
	h->pending_off = at;
	h->pending_bytes = round_up(bytes / 8, PAGE);
	at += h->pending_bytes;
	h->chunk_off = at;
	if (at + JOURNAL_CHUNK_MIN > bytes)
		return -EINVAL;

	uint64_t size = round_up((bytes - at) / JOURNAL_CHUNKS_MAX, PAGE);

	h->chunk_bytes = (uint32_t)(size < JOURNAL_CHUNK_MIN ? JOURNAL_CHUNK_MIN : size);

	uint64_t n = (bytes - at) / h->chunk_bytes;

	atomic_init(&h->nchunk, n < JOURNAL_CHUNKS_MAX ? (uint32_t)n : JOURNAL_CHUNKS_MAX);
	return 0;
}

/* ---- growing ---- */

#define THREADS_PART 4 /* chunks per thread; with fewer, each new thread adds chunks */
#define GROW_CHUNKS 64u /* number of chunks added at once */

static uint32_t chunks_at_first(const struct journal_head *h)
{
	struct journal_head first = {0};

	divide_journal(&first, h->bytes);
	return atomic_load_explicit(&first.nchunk, memory_order_relaxed);
}

/* Returns the maximum number of chunks after growth. */
static uint32_t chunks_at_most(const struct journal_head *h)
{
	uint32_t n = chunks_at_first(h) + h->nslot;

	return n < JOURNAL_CHUNKS_MAX ? n : JOURNAL_CHUNKS_MAX;
}

static uint64_t bytes_with_chunks(const struct journal_head *h, uint32_t nchunk)
{
	return h->chunk_off + (uint64_t)nchunk * h->chunk_bytes;
}

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
	if (io_kept_is(&lock, NULL) && (fcntl(lock.fd, F_GETFL) & O_ACCMODE) == O_RDWR)
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

/* Allocates the bytes from `from` to `to` of the file, without holes. */
static int extend_file(const struct journal *j, uint64_t from, uint64_t to)
{
	int fd, opened, cancel, err;

	if (to > io_file_limit())
		return -EFBIG;
	/* A cancelled thread must not end in the middle. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = get_journal_fd(j, &opened);
	err = fd < 0 ? -fd : 0;
	if (!err)
		do
			err = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
		while (err == EINTR);
	if (opened >= 0)
		close(opened);
	pthread_setcancelstate(cancel, NULL);
	return -err;
}

static int extend_journal(struct journal *j, uint32_t nchunk)
{
	uint64_t from = bytes_with_chunks(j->head, atomic_load(&j->head->nchunk)),
		 to = bytes_with_chunks(j->head, nchunk);

	if (to > j->bytes)
		return -EFBIG;
	if (j->kind == JK_FILE)
		return extend_file(j, from > j->head->bytes ? from : j->head->bytes, to);
	/* A segment gets memory as it is touched. */
	if (j->kind == JK_MEMORY)
		return mprotect(j->head, round_up(to, PAGE), PROT_READ | PROT_WRITE) < 0 ? -errno
											 : 0;
	return 0;
}

void journal_grow_for_threads(struct journal *j)
{
	struct journal_head *h = j->head;
	uint32_t threads = journal_nthread(j), n = atomic_load(&h->nchunk), first, want;

	/* Usually there are enough chunks, and nothing else is checked. */
	if (threads * THREADS_PART <= n || atomic_load_explicit(&j->growing, memory_order_relaxed))
		return;
	first = chunks_at_first(h);
	want = first + threads - first / THREADS_PART + GROW_CHUNKS / 2;
	if (n >= want || n >= chunks_at_most(h) || atomic_exchange(&j->growing, true))
		return;
	n = atomic_load(&h->nchunk);
	want = n + GROW_CHUNKS < chunks_at_most(h) ? n + GROW_CHUNKS : chunks_at_most(h);
	if (extend_journal(j, want) < 0)
		return; /* later attempts would fail too */
	atomic_fetch_add(&h->free_chunks, want - n);
	atomic_store_explicit(&h->nchunk, want, memory_order_release);
	atomic_store(&j->growing, false);
}

/* ---- making a journal ---- */

/*
 * If another process truncates a mapped file, the process that has mapped it gets SIGBUS. No kind
 * of file that survives its process is safe from this (docs/explanation/journal-format.md). But
 * no other process opens the journal for writing, so it has no write permission: `truncate`, `:
 * >*` and `rsync --inplace` fail for everyone but root. The mapping was made with the descriptor
 * that created the file.
 */
#define JOURNAL_MODE 0444

static int allocate_journal_file(int dirfd, const char *name, uint64_t bytes)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, JOURNAL_MODE);

	if (fd < 0)
		return -errno;

	int err;

	/* Not ftruncate(): on a full disk the first store into a hole would raise SIGBUS. */
	do
		err = posix_fallocate(fd, 0, (off_t)bytes);
	while (err == EINTR);
	if (err) {
		close(fd);
		unlinkat(dirfd, name, 0);
		return -err;
	}
	return fd;
}

static size_t whole_pages(size_t bytes)
{
	return round_up(bytes < JOURNAL_BYTES_MIN ? JOURNAL_BYTES_MIN : bytes, PAGE);
}

/*
 * Filled in place, not on the stack: the head is large, and the thread whose call starts the
 * recording may have little stack.
 */
static void fill_journal_head(
	struct journal *j, void *p, size_t bytes, size_t mapped, enum journal_kind kind)
{
	struct journal_head *h = p;

	h->version = JOURNAL_VERSION;
	h->head_bytes = sizeof(*h);
	divide_journal(h, bytes); /* cannot fail: a chunk fits into JOURNAL_BYTES_MIN */
	h->rank = h->world_size = -1;
	atomic_init(&h->free_chunks, atomic_load(&h->nchunk));
	atomic_init(&h->state, JS_RUNNING);
	/* The magic is written last: a journal without it was never used. */
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(h->magic, JOURNAL_MAGIC, sizeof(h->magic));
	*j = (struct journal){.head = p,
		.bytes = mapped,
		.kind = kind,
		.safe = kind != JK_MEMORY,
		.none_parked = true,
		.lock = {.fd = -1}};
}

/*
 * Size of the mapping, with space to grow. If the program's address space is limited, there is
 * none, because the program may need it.
 */
static size_t bytes_at_most(size_t bytes)
{
	struct journal_head h = {0};
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		return bytes;
	divide_journal(&h, bytes);
	return round_up(bytes_with_chunks(&h, chunks_at_most(&h)), PAGE);
}

/*
 * Maps `most` bytes, of which only `bytes` may be touched so far; fewer if a limit on the address
 * space does not allow that many.
 */
static void *map_new_journal(int fd, size_t bytes, size_t *most)
{
	bool file = fd >= 0;
	void *p = mmap(NULL, *most, file ? PROT_READ | PROT_WRITE : PROT_NONE,
		file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);

	if (p != MAP_FAILED && !file && mprotect(p, bytes, PROT_READ | PROT_WRITE) < 0) {
		munmap(p, *most);
		p = MAP_FAILED;
	}
	if (p != MAP_FAILED)
		return p;
	*most = bytes;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
}

int journal_create(struct journal *j, int dirfd, const char *name, size_t bytes)
{
	size_t most;
	int fd = -1;

	bytes = whole_pages(bytes);
	if (dirfd != -1) {
		if (bytes > io_file_limit())
			return -EFBIG;
		fd = allocate_journal_file(dirfd, name, bytes);
		if (fd < 0)
			return fd;
	}

	most = bytes_at_most(bytes);

	void *p = map_new_journal(fd, bytes, &most);
	int err = p == MAP_FAILED ? -errno : 0;

	if (err) {
		if (fd >= 0) {
			close(fd);
			unlinkat(dirfd, name, 0);
		}
		return err;
	}

	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

	fill_journal_head(j, p, bytes, most, fd < 0 ? JK_MEMORY : JK_FILE);
	j->head->locked = locked;
	if (fd >= 0)
		io_keep(&j->lock, fd);
	return 0;
}

int journal_create_segment(struct journal *j, uint64_t seed, size_t bytes, char *path, size_t cap)
{
	char at[SEGMENT_PATH_MAX];
	struct segment s;
	size_t most;
	void *p;
	int err;

	bytes = whole_pages(bytes);
	most = bytes_at_most(bytes);
	p = segment_make(&s, seed, most, &err);
	/* The size of a segment may be limited: tries a smaller one. */
	if (!p)
		p = segment_make(&s, seed, most = bytes, &err);
	if (!p)
		return err;
	fill_journal_head(j, p, bytes, most, JK_SEGMENT);
	segment_path(&s, at);
	snprintf(path, cap, "%s", at);
	return 0;
}

void journal_lock_again(struct journal *j, const char *path)
{
	struct io_kept now;
	int fd;

	if (j->kind != JK_FILE || !j->head->locked || io_kept_is(&j->lock, NULL))
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	io_keep(&now, fd);
	if (now.dev != j->lock.dev || now.ino != j->lock.ino ||
		flock(now.fd, LOCK_EX | LOCK_NB) < 0) {
		io_kept_close(&now);
		return;
	}
	j->lock = now;
}

static bool is_terminated(const char *s, size_t cap)
{
	return memchr(s, 0, cap) != NULL;
}

/* Checks all fields of the head that are used later without a check. */
static bool is_sound(const struct journal_head *h)
{
	for (int i = 0; i < LOSS_COUNT; i++)
		if (!is_terminated(h->loss[i], sizeof(h->loss[i])))
			return false;
	return is_terminated(h->owner.host, sizeof(h->owner.host)) &&
	       is_terminated(h->folder, sizeof(h->folder)) &&
	       is_terminated(h->owner.boot_id, sizeof(h->owner.boot_id)) &&
	       is_terminated(h->run, sizeof(h->run)) &&
	       is_terminated(h->journal_path, sizeof(h->journal_path)) &&
	       h->clock.ns_per_tick >= 0 && h->clock.ns_per_tick < 1e6 &&
	       h->clock_last.ns_per_tick >= 0 && h->clock_last.ns_per_tick < 1e6;
}

static int check_journal_head(const struct journal_head *h, uint64_t bytes)
{
	static const char none[sizeof(((struct journal_head *)0)->magic)];
	struct journal_head want = {0};

	if (memcmp(h->magic, none, sizeof(none)) == 0)
		return -ENODATA;
	if (memcmp(h->magic, JOURNAL_MAGIC, sizeof(h->magic)))
		return -EINVAL;
	if (h->version != JOURNAL_VERSION || h->head_bytes != sizeof(*h))
		return -EPROTO;
	if (h->bytes > bytes || h->bytes < JOURNAL_BYTES_MIN || divide_journal(&want, h->bytes) < 0)
		return -EINVAL;
	/* The offsets follow from the size. If they differ, the head is damaged. */
	if (h->thread_off != want.thread_off || h->commit_off != want.commit_off ||
		h->dict_off != want.dict_off || h->dict_bytes != want.dict_bytes ||
		h->pending_off != want.pending_off || h->pending_bytes != want.pending_bytes ||
		h->chunk_off != want.chunk_off || h->chunk_bytes != want.chunk_bytes ||
		h->nslot != want.nslot || h->nchunk < want.nchunk ||
		h->nchunk > chunks_at_most(&want) || h->nthread > h->nslot)
		return -EINVAL;
	return is_sound(h) ? 0 : -EINVAL;
}

/* Checks that the mapping at p is a journal. If it is not, unmaps it. */
static int take_mapping(
	struct journal *j, void *p, size_t bytes, enum journal_kind kind, bool rdonly)
{
	int err = bytes < sizeof(struct journal_head) ? -EINVAL : check_journal_head(p, bytes);

	if (err) {
		munmap(p, bytes);
		return err;
	}
	*j = (struct journal){.head = p,
		.bytes = bytes,
		.kind = kind,
		.safe = true,
		.rdonly = rdonly,
		.left = true,
		.lock = {.fd = -1}};
	return 0;
}

static int open_segment(struct journal *j, const struct segment *s, bool rdonly)
{
	size_t bytes;
	int err;
	void *p = segment_map(s, &bytes, rdonly, &err);

	return p ? take_mapping(j, p, bytes, JK_SEGMENT, rdonly) : err;
}

int journal_open_file(int dirfd, const char *name, int flags)
{
	int fd = io_open_regular(dirfd, name, O_RDWR | flags, 0), readable, err;
	char self[64];
	struct stat st;

	if (fd != -EACCES)
		return fd;
	readable = io_open_regular(dirfd, name, O_RDONLY | flags, 0);
	if (readable < 0)
		return readable;
	/*
	 * Write permission is given only while the file is opened. /proc/self/fd names this very
	 * file, even if another file has its name by now.
	 */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", readable);
	err = fstat(readable, &st) < 0 || fchmod(readable, (st.st_mode & 0777) | 0200) < 0 ? -errno
											   : 0;
	fd = err ? -EACCES : io_open_regular(AT_FDCWD, self, O_RDWR, 0);
	if (!err)
		fchmod(readable, st.st_mode & 0777);
	close(readable);
	return fd;
}

int journal_open(struct journal *j, int dirfd, const char *name, bool rdonly)
{
	struct segment s;

	if (segment_parse(name, &s))
		return open_segment(j, &s, rdonly);

	int follow = dirfd == AT_FDCWD ? 0 : O_NOFOLLOW;
	int fd = rdonly ? io_open_regular(dirfd, name, O_RDONLY | follow, 0)
			: journal_open_file(dirfd, name, follow);
	struct stat st = {0};

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(struct journal_head)) {
		close(fd);
		return st.st_size ? -EINVAL : -ENODATA;
	}

	size_t bytes = (size_t)st.st_size;
	void *p = mmap(NULL, bytes, rdonly ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int err = p == MAP_FAILED ? -errno : take_mapping(j, p, bytes, JK_FILE, rdonly);

	if (!err)
		j->died_ns = find_moment_of_death(j->head, fd, &st);
	close(fd);
	return err;
}

void journal_close(struct journal *j)
{
	if (j->head)
		munmap(j->head, j->bytes);
	j->head = NULL;
	io_kept_close(&j->lock);
}

bool journal_exists(const char *path)
{
	struct segment_state state;
	struct segment s;

	return segment_parse(path, &s) ? segment_look(&s, &state) == 0 : access(path, F_OK) == 0;
}

int journal_remove(const char *path)
{
	struct segment s;

	if (segment_parse(path, &s))
		return segment_remove(&s);
	return unlink(path) < 0 ? -errno : 0;
}
