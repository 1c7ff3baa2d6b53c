/* SPDX-License-Identifier: Apache-2.0 */
/* Making, mapping and checking a journal file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/journal.h"

#define PAGE 4096u

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* Divides the file: 1/16 dictionary, 1/8 parked records, the rest chunks. Returns -EINVAL if no chunk fits. */
static int geometry(struct journal_head *h, uint64_t bytes)
{
	uint64_t at = round_up(sizeof(*h), PAGE);

	h->bytes = bytes;
	h->thread_off = at;
	at = round_up(at + sizeof(struct journal_thread) * JOURNAL_THREADS, PAGE);
	h->commit_off = at;
	at = round_up(at + 2 * sizeof(struct journal_commit), PAGE);
	h->dict_off = at;
	h->dict_bytes = round_up(bytes / 16, PAGE);
	at += h->dict_bytes;
	h->park_off = at;
	h->park_bytes = round_up(bytes / 8, PAGE);
	at += h->park_bytes;
	h->chunk_off = at;
	if (at + JOURNAL_CHUNK_MIN > bytes)
		return -EINVAL;

	uint64_t size = round_up((bytes - at) / JOURNAL_CHUNKS_MAX, PAGE);

	h->chunk_bytes = (uint32_t)(size < JOURNAL_CHUNK_MIN ? JOURNAL_CHUNK_MIN : size);
	h->nchunk = (uint32_t)((bytes - at) / h->chunk_bytes);
	if (h->nchunk > JOURNAL_CHUNKS_MAX)
		h->nchunk = JOURNAL_CHUNKS_MAX;
	return 0;
}

static int allocate(int dirfd, const char *name, uint64_t bytes)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;

	int err;

	/* Not ftruncate: on a full disk the first store into a hole would be SIGBUS. */
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

int journal_create(struct journal *j, int dirfd, const char *name, size_t bytes)
{
	struct journal_head h = {.version = JOURNAL_VERSION, .head_bytes = sizeof(h)};
	int fd = -1;

	bytes = round_up(bytes < JOURNAL_BYTES_MIN ? JOURNAL_BYTES_MIN : bytes, PAGE);
	if (geometry(&h, bytes) < 0)
		return -EINVAL;
	if (dirfd != -1) {
		if (bytes > io_file_limit())
			return -EFBIG;
		fd = allocate(dirfd, name, bytes);
		if (fd < 0)
			return fd;
	}

	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	int err = p == MAP_FAILED ? -errno : 0;

	if (fd >= 0) {
		close(fd);
		if (err)
			unlinkat(dirfd, name, 0);
	}
	if (err)
		return err;
	h.rank = h.world_size = -1;
	atomic_init(&h.free_chunks, h.nchunk);
	atomic_init(&h.state, JS_RUNNING);
	memcpy(p, &h, sizeof(h));
	/* The magic comes last: a file without it was never in use. */
	memcpy(((struct journal_head *)p)->magic, JOURNAL_MAGIC, sizeof(h.magic));
	*j = (struct journal){.head = p, .bytes = bytes, .safe = fd >= 0};
	return 0;
}

static bool ends(const char *s, size_t cap)
{
	return memchr(s, 0, cap) != NULL;
}

/* Everything of the head that is used without further looking at it. */
static bool is_sound(const struct journal_head *h)
{
	for (int i = 0; i < LOSS_COUNT; i++)
		if (!ends(h->loss[i], sizeof(h->loss[i])))
			return false;
	return ends(h->owner.host, sizeof(h->owner.host)) &&
	       ends(h->owner.boot_id, sizeof(h->owner.boot_id)) && ends(h->run, sizeof(h->run)) &&
	       ends(h->journal_path, sizeof(h->journal_path)) && h->clock.ns_per_tick >= 0 &&
	       h->clock.ns_per_tick < 1e6 && h->clock_last.ns_per_tick >= 0 &&
	       h->clock_last.ns_per_tick < 1e6;
}

static int check(const struct journal_head *h, uint64_t bytes)
{
	static const char none[sizeof(((struct journal_head *)0)->magic)];
	struct journal_head want = {0};

	if (memcmp(h->magic, none, sizeof(none)) == 0)
		return -ENODATA;
	if (memcmp(h->magic, JOURNAL_MAGIC, sizeof(h->magic)))
		return -EINVAL;
	if (h->version != JOURNAL_VERSION || h->head_bytes != sizeof(*h))
		return -EPROTO;
	if (h->bytes != bytes || geometry(&want, bytes) < 0)
		return -EINVAL;
	/* The offsets follow from the size: a head that says otherwise is damaged. */
	if (h->thread_off != want.thread_off || h->commit_off != want.commit_off ||
		h->dict_off != want.dict_off || h->dict_bytes != want.dict_bytes ||
		h->park_off != want.park_off || h->park_bytes != want.park_bytes ||
		h->chunk_off != want.chunk_off || h->chunk_bytes != want.chunk_bytes ||
		h->nchunk != want.nchunk || h->nthread > JOURNAL_THREADS)
		return -EINVAL;
	return is_sound(h) ? 0 : -EINVAL;
}

int journal_open(struct journal *j, int dirfd, const char *name, bool rdonly)
{
	int fd = openat(dirfd, name, (rdonly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	struct stat st = {0};

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(struct journal_head)) {
		close(fd);
		return st.st_size ? -EINVAL : -ENODATA;
	}

	size_t bytes = (size_t)st.st_size;
	void *p = mmap(NULL, bytes, rdonly ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int err = p == MAP_FAILED ? -errno : 0;

	close(fd);
	if (err)
		return err;
	err = check(p, bytes);
	if (err) {
		munmap(p, bytes);
		return err;
	}
	*j = (struct journal){
		.head = p, .bytes = bytes, .safe = true, .rdonly = rdonly, .left = true};
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->head)
		munmap(j->head, j->bytes);
	j->head = NULL;
}
