/* SPDX-License-Identifier: Apache-2.0 */
/* Making, mapping and checking a journal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/death.h"
#include "journal/journal.h"
#include "journal/segment.h"

#define PAGE_MIN 4096u
#define PAGE_MAX (64u << 10)
#define BYTES_MAX (UINT64_C(1) << 40) /* of a journal that is opened: anything above is damage */

/* ---- the pieces that a new file starts with ---- */

#define FIRST_PIECES 4

/* Head and slots, commits and dictionary, records in flight, chunks; adjacent ones are joined. */
static unsigned set_first_pieces(const struct journal_geometry *g, const uint64_t space[JP_COUNT],
	struct journal_piece piece[FIRST_PIECES])
{
	const struct journal_piece all[FIRST_PIECES] = {
		{0, g->thread_off + space[JP_THREADS]},
		{g->commit_off, g->dict_off - g->commit_off + space[JP_DICT]},
		{g->pending_off, space[JP_PENDING]},
		{g->chunk_off, space[JP_CHUNKS]},
	};
	unsigned n = 0;

	for (unsigned i = 0; i < FIRST_PIECES; i++)
		if (n && piece[n - 1].offset + piece[n - 1].bytes == all[i].offset)
			piece[n - 1].bytes += all[i].bytes;
		else
			piece[n++] = all[i];
	return n;
}

static uint64_t get_first_bytes(const struct journal_geometry *g, const uint64_t space[JP_COUNT])
{
	struct journal_piece piece[FIRST_PIECES];
	uint64_t bytes = 0;

	for (unsigned i = 0, n = set_first_pieces(g, space, piece); i < n; i++)
		bytes += piece[i].bytes;
	return bytes;
}

static void add_first_pieces(
	struct journal_head *h, const struct journal_geometry *g, const uint64_t space[JP_COUNT])
{
	struct journal_piece piece[FIRST_PIECES];

	for (unsigned i = 0, n = set_first_pieces(g, space, piece); i < n; i++)
		add_journal_piece(h, piece[i].offset, piece[i].bytes);
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

/* True if the file system has less than `bytes` left, so that the journal could not grow. */
static bool is_short_of_space(int fd, uint64_t bytes)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && fs.f_blocks && (uint64_t)fs.f_bavail * fs.f_frsize < bytes;
}

/* most: maximum size of the file. */
static int allocate_journal_file(int dirfd, const char *name, uint64_t bytes, uint64_t most)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, JOURNAL_MODE);

	if (fd < 0)
		return -errno;

	int err = is_short_of_space(fd, most) ? ENOSPC : 0;

	/* Not ftruncate(): on a full disk the first store into a hole would raise SIGBUS. */
	if (!err)
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

static uint32_t get_page_bytes(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	return bytes > (long)PAGE_MIN && bytes <= (long)PAGE_MAX ? (uint32_t)bytes : PAGE_MIN;
}

/* Returns the size rounded up, and at least the minimum, in *g. */
static void plan_journal(struct journal_geometry *g, size_t bytes)
{
	uint32_t page = get_page_bytes();

	bytes = bytes < JOURNAL_BYTES_MIN ? JOURNAL_BYTES_MIN : (bytes + page - 1) / page * page;
	/* Cannot fail: a chunk fits into JOURNAL_BYTES_MIN. */
	compute_journal_geometry(g, bytes, page);
}

/*
 * Filled in place, not on the stack: the head is large, and the thread whose call starts the
 * recording may have little stack. space: what each part has at first.
 */
static void init_journal_head(struct journal *j, void *p, const struct journal_geometry *g,
	const uint64_t space[JP_COUNT], size_t mapped, enum journal_kind kind)
{
	struct journal_head *h = p;

	h->version = JOURNAL_VERSION;
	h->head_bytes = sizeof(*h);
	h->bytes = g->bytes;
	h->align = g->align;
	h->nslot = g->nslot;
	h->thread_off = g->thread_off;
	h->commit_off = g->commit_off;
	h->dict_off = g->dict_off;
	h->dict_bytes = g->dict_bytes;
	h->pending_off = g->pending_off;
	h->pending_bytes = g->pending_bytes;
	h->chunk_off = g->chunk_off;
	h->chunk_bytes = g->chunk_bytes;
	for (int i = 0; i < JP_COUNT; i++)
		atomic_init(&h->space[i], space[i]);

	uint64_t n = space[JP_CHUNKS] / g->chunk_bytes;

	atomic_init(&h->nchunk, n < g->nchunk ? (uint32_t)n : g->nchunk);
	h->rank = h->world_size = -1;
	atomic_init(&h->free_chunks, atomic_load(&h->nchunk));
	atomic_init(&h->state, JS_RUNNING);
	add_first_pieces(h, g, space);
	/* The magic is written last: a journal without it was never used. */
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(h->magic, JOURNAL_MAGIC, sizeof(h->magic));
	*j = (struct journal){.head = p,
		.bytes = mapped,
		.kind = kind,
		.safe = kind != JK_MEMORY,
		.none_parked = true,
		.early_chunks = g->nchunk / JOURNAL_EARLY,
		.lock = {.fd = -1}};
	get_most_space(g, mapped, j->space_max);
}

/*
 * Size of the mapping, with space to grow. If the program's address space is limited, there is
 * none for more threads, because the program may need it.
 */
static size_t compute_most_bytes(const struct journal_geometry *g)
{
	struct rlimit space;

	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		return g->bytes;
	return g->most_bytes;
}

/*
 * Reserves memory for a journal. Beyond the pieces of the file there are zeros, so that a damaged
 * offset does no harm.
 */
static char *reserve_memory(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/*
 * Maps `most` bytes of memory, of which only `bytes` may be touched so far; fewer if a limit on
 * the address space does not allow that many.
 */
static void *map_private_memory(size_t bytes, size_t *most)
{
	void *p = mmap(NULL, *most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p != MAP_FAILED && mprotect(p, bytes, PROT_READ | PROT_WRITE) < 0) {
		munmap(p, *most);
		p = MAP_FAILED;
	}
	if (p != MAP_FAILED)
		return p;
	*most = bytes;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Maps the first pieces of a new file. */
static void *map_new_file(
	int fd, const struct journal_geometry *g, const uint64_t space[JP_COUNT], size_t *most)
{
	char *p = reserve_memory(*most);
	struct journal_piece piece[FIRST_PIECES];
	uint64_t from = 0;

	if (p == MAP_FAILED)
		p = reserve_memory(*most = g->bytes);
	for (unsigned i = 0, n = set_first_pieces(g, space, piece); p != MAP_FAILED && i < n; i++) {
		if (mmap(p + piece[i].offset, piece[i].bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, fd, (off_t)from) == MAP_FAILED) {
			munmap(p, *most);
			return MAP_FAILED;
		}
		from += piece[i].bytes;
	}
	return p;
}

static int open_in_memory(struct journal *j, const struct journal_geometry *g)
{
	uint64_t space[JP_COUNT];
	size_t most = compute_most_bytes(g);
	void *p = map_private_memory(g->bytes, &most);

	if (p == MAP_FAILED)
		return -errno;
	get_most_space(g, g->bytes, space);
	init_journal_head(j, p, g, space, most, JK_MEMORY);
	return 0;
}

int journal_create(struct journal *j, int dirfd, const char *name, size_t bytes)
{
	struct journal_geometry g;
	uint64_t space[JP_COUNT];
	size_t most;
	void *p;
	int fd;

	plan_journal(&g, bytes);
	if (dirfd == -1)
		return open_in_memory(j, &g);
	if (g.bytes > io_get_file_limit())
		return -EFBIG;
	get_first_space(&g, space);
	fd = allocate_journal_file(dirfd, name, get_first_bytes(&g, space), g.bytes);
	if (fd < 0)
		return fd;
	most = compute_most_bytes(&g);
	p = map_new_file(fd, &g, space, &most);
	if (p == MAP_FAILED) {
		int err = -errno;

		close(fd);
		unlinkat(dirfd, name, 0);
		return err;
	}

	bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;

	init_journal_head(j, p, &g, space, most, JK_FILE);
	j->head->locked = locked;
	io_kept_set(&j->lock, fd);
	return 0;
}

int journal_create_segment(struct journal *j, uint64_t seed, size_t bytes, char *path, size_t cap)
{
	struct journal_geometry g;
	uint64_t space[JP_COUNT];
	char at[SEGMENT_PATH_MAX];
	struct segment s;
	size_t most;
	void *p;
	int err;

	plan_journal(&g, bytes);
	most = compute_most_bytes(&g);
	p = segment_make(&s, seed, most, &err);
	/* The size of a segment may be limited: tries a smaller one. */
	if (!p)
		p = segment_make(&s, seed, most = g.bytes, &err);
	if (!p)
		return err;
	get_most_space(&g, g.bytes, space);
	init_journal_head(j, p, &g, space, most, JK_SEGMENT);
	segment_format_path(&s, at);
	snprintf(path, cap, "%s", at);
	return 0;
}

void journal_lock_again(struct journal *j, const char *path)
{
	struct io_kept now;
	int fd;

	if (j->kind != JK_FILE || !j->head->locked || io_kept_is_same(&j->lock, NULL))
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	io_kept_set(&now, fd);
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

/* Checks a head and computes what follows from it. Its pieces are checked when they are mapped. */
static int check_journal_head(const struct journal_head *h, struct journal_geometry *g)
{
	static const char none[sizeof(((struct journal_head *)0)->magic)];
	uint32_t align;

	if (memcmp(h->magic, none, sizeof(none)) == 0)
		return -ENODATA;
	if (memcmp(h->magic, JOURNAL_MAGIC, sizeof(h->magic)))
		return -EINVAL;
	if (h->version != JOURNAL_VERSION || h->head_bytes != sizeof(*h))
		return -EPROTO;
	align = h->align;
	if (align < PAGE_MIN || align > PAGE_MAX || (align & (align - 1)) ||
		h->bytes < JOURNAL_BYTES_MIN || h->bytes > BYTES_MAX ||
		compute_journal_geometry(g, h->bytes, align) < 0)
		return -EINVAL;
	/* The offsets follow from the size. If they differ, the head is damaged. */
	if (h->thread_off != g->thread_off || h->commit_off != g->commit_off ||
		h->dict_off != g->dict_off || h->dict_bytes != g->dict_bytes ||
		h->pending_off != g->pending_off || h->pending_bytes != g->pending_bytes ||
		h->chunk_off != g->chunk_off || h->chunk_bytes != g->chunk_bytes ||
		h->nslot != g->nslot || h->nchunk > g->most_chunks || h->nthread > h->nslot)
		return -EINVAL;
	return is_sound(h) ? 0 : -EINVAL;
}

/* The space that a process, which may still run, uses. Read before the pieces, because a process adds a piece first. */
struct used_space {
	uint64_t space[JP_COUNT];
	uint32_t nchunk, nthread;
};

static void read_used_space(struct used_space *u, const struct journal_head *h)
{
	u->nthread = atomic_load_explicit(&h->nthread, memory_order_acquire);
	u->nchunk = atomic_load_explicit(&h->nchunk, memory_order_acquire);
	for (int i = 0; i < JP_COUNT; i++)
		u->space[i] = atomic_load_explicit(&h->space[i], memory_order_acquire);
}

/* Copies a piece: a damaged or growing journal may change meanwhile. */
static struct journal_piece read_piece(const struct journal_head *h, uint32_t i)
{
	return (struct journal_piece){__atomic_load_n(&h->piece[i].offset, __ATOMIC_ACQUIRE),
		__atomic_load_n(&h->piece[i].bytes, __ATOMIC_ACQUIRE)};
}

/*
 * Checks the pieces, maps them to p (NULL: they are mapped already), and sets j->space_max. fd, flags:
 * for mmap(). bytes: size of the file or segment. Returns 0, -EINVAL, or -errno.
 */
static int map_pieces(struct journal *j, const struct journal_head *h,
	const struct journal_geometry *g, char *p, int fd, int prot, int flags, uint64_t bytes)
{
	const uint64_t start[] = {0, g->commit_off, g->dict_off, g->pending_off, g->chunk_off};
	uint64_t end[] = {0, g->commit_off, g->dict_off, g->pending_off, g->chunk_off}, from = 0;
	uint32_t n = atomic_load_explicit(&h->npiece, memory_order_acquire);

	if (n > JOURNAL_PIECES)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		struct journal_piece e = read_piece(h, i);

		if (e.offset % g->align || e.bytes % g->align || !e.bytes ||
			e.offset > g->most_bytes || e.bytes > g->most_bytes - e.offset ||
			from > bytes || e.bytes > bytes - from)
			return -EINVAL;
		if (p && mmap(p + e.offset, e.bytes, prot, flags | MAP_FIXED, fd, (off_t)from) ==
				 MAP_FAILED)
			return -errno;
		from += e.bytes;
		for (unsigned k = 0; k < sizeof(start) / sizeof(*start); k++)
			if (e.offset <= end[k] && e.offset + e.bytes > end[k])
				end[k] = e.offset + e.bytes;
	}
	if (end[0] < g->thread_off || end[1] < g->dict_off)
		return -EINVAL;
	j->space_max[JP_THREADS] =
		(end[0] < g->commit_off ? end[0] : g->commit_off) - g->thread_off;
	j->space_max[JP_DICT] = (end[2] < g->pending_off ? end[2] : g->pending_off) - g->dict_off;
	j->space_max[JP_PENDING] = (end[3] < g->chunk_off ? end[3] : g->chunk_off) - g->pending_off;
	j->space_max[JP_CHUNKS] = end[4] - g->chunk_off;
	return 0;
}

/* True if all that the process uses lies in pieces. */
static bool is_space_mapped(const struct journal *j, const struct used_space *u)
{
	for (int i = 0; i < JP_COUNT; i++)
		if (u->space[i] > j->space_max[i] || u->space[i] % j->head->align)
			return false;
	return (uint64_t)u->nchunk * j->head->chunk_bytes <= u->space[JP_CHUNKS] &&
	       u->nthread * sizeof(struct journal_thread) <= u->space[JP_THREADS];
}

static int open_segment(struct journal *j, const struct segment *s, bool rdonly)
{
	struct journal_geometry g;
	struct used_space used;
	size_t bytes;
	int err;
	void *p = segment_map(s, &bytes, rdonly, &err);

	if (!p)
		return err;
	*j = (struct journal){.head = p,
		.bytes = bytes,
		.kind = JK_SEGMENT,
		.safe = true,
		.rdonly = rdonly,
		.left = true,
		.lock = {.fd = -1}};
	err = bytes < sizeof(struct journal_head) ? -EINVAL : check_journal_head(p, &g);
	if (!err) {
		read_used_space(&used, p);
		err = map_pieces(j, p, &g, NULL, -1, 0, 0, bytes);
	}
	if (!err && !is_space_mapped(j, &used))
		err = -EINVAL;
	/* A segment has its maximum size from the start. */
	if (!err && !rdonly)
		j->space_max[JP_CHUNKS] = bytes - g.chunk_off;
	if (err) {
		munmap(p, bytes);
		*j = (struct journal){.lock = {.fd = -1}};
	}
	return err;
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

enum open_mode { OPEN_READ, OPEN_WRITE, OPEN_COPY };

/* h: the head, mapped by itself. */
static int map_parts(struct journal *j, const struct journal_head *h, int fd, enum open_mode mode)
{
	struct journal_geometry g;
	struct used_space used;
	struct stat st;
	int err = check_journal_head(h, &g);
	char *p;

	if (err)
		return err;
	read_used_space(&used, h);
	p = reserve_memory(g.most_bytes);
	if (p == MAP_FAILED)
		return -errno;
	*j = (struct journal){.head = (void *)p,
		.bytes = g.most_bytes,
		.kind = mode == OPEN_COPY ? JK_MEMORY : JK_FILE,
		.safe = true,
		.rdonly = mode == OPEN_READ,
		.left = mode != OPEN_COPY,
		.lock = {.fd = -1}};
	/* All pieces are read after the space; the size of the file after a piece is never too small. */
	err = map_pieces(j, h, &g, p, fd, mode == OPEN_READ ? PROT_READ : PROT_READ | PROT_WRITE,
		mode == OPEN_COPY ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED,
		fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size);
	if (!err && !is_space_mapped(j, &used))
		err = -EINVAL;
	if (err) {
		munmap(p, g.most_bytes);
		*j = (struct journal){.lock = {.fd = -1}};
		return err;
	}
	/* Recovery, and a copy, may need more space than the process had. */
	if (mode != OPEN_READ)
		get_most_space(&g, g.most_bytes, j->space_max);
	return 0;
}

static int open_journal_fd(struct journal *j, int fd, enum open_mode mode)
{
	struct stat st = {0};
	void *head;
	int err;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(struct journal_head))
		return st.st_size ? -EINVAL : -ENODATA;
	head = mmap(NULL, sizeof(struct journal_head), PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return -errno;
	err = map_parts(j, head, fd, mode);
	munmap(head, sizeof(struct journal_head));
	if (!err && mode != OPEN_COPY)
		j->died_ns = find_moment_of_death(j->head, fd, &st);
	return err;
}

static int open_in_mode(struct journal *j, int dirfd, const char *name, enum open_mode mode)
{
	struct segment s;
	int follow = dirfd == AT_FDCWD ? 0 : O_NOFOLLOW, fd, err;

	if (segment_parse(name, &s))
		return open_segment(j, &s, mode != OPEN_WRITE);
	fd = mode == OPEN_WRITE ? journal_open_file(dirfd, name, follow)
				: io_open_regular(dirfd, name, O_RDONLY | follow, 0);
	if (fd < 0)
		return fd;
	err = open_journal_fd(j, fd, mode);
	if (!err && mode == OPEN_WRITE)
		io_kept_set(&j->lock, fd); /* to grow it; it is not locked */
	else
		close(fd);
	return err;
}

int journal_open(struct journal *j, int dirfd, const char *name, bool rdonly)
{
	return open_in_mode(j, dirfd, name, rdonly ? OPEN_READ : OPEN_WRITE);
}

int journal_open_copy(struct journal *j, const char *path)
{
	return open_in_mode(j, AT_FDCWD, path, OPEN_COPY);
}

void journal_close(struct journal *j)
{
	if (j->head)
		munmap(j->head, j->bytes);
	j->head = NULL;
	io_kept_close(&j->lock);
}

bool has_journal(const char *path)
{
	struct segment_state state;
	struct segment s;

	return segment_parse(path, &s) ? segment_read_state(&s, &state) == 0
				       : access(path, F_OK) == 0;
}

int journal_remove(const char *path)
{
	struct segment s;

	if (segment_parse(path, &s))
		return segment_remove(&s);
	return unlink(path) < 0 ? -errno : 0;
}
