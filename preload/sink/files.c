/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "config/rooms/steps.h"
#include "sink/blocks.h"
#include "sink/calls_csv.h"
#include "sink/format.h"
#include "sink/places.h"
#include "journal/columns.h"

#define BUFFER_MAX (1u << 20) /* maximum text of one file in one pass */

int files_open(struct files *f, struct journal *j, int dirfd)
{
	*f = (struct files){
		.j = j, .dirfd = dirfd, .limit = io_get_file_limit(), .text_most = SIZE_MAX};
	for (int i = 0; i < FILES_OPEN; i++)
		f->file[i].at.fd = -1;
	return blocks_load_and_clean(f);
}

void files_set_config(struct files *f, const struct config *cfg)
{
	if (cfg == f->cfg)
		return;
	if (f->cfg) {
		memmove(f->before + 1, f->before, sizeof(f->before) - sizeof(*f->before));
		f->before[0] = f->cfg;
	}
	f->cfg = cfg;
}

const struct config *files_get_config_at(const struct files *f, uint32_t step)
{
	if (!f->cfg || get_steps_keys(f->cfg)->in_force_from <= step)
		return f->cfg;
	for (unsigned i = 0; i < FILES_CONFIGS && f->before[i]; i++)
		if (get_steps_keys(f->before[i])->in_force_from <= step)
			return f->before[i];
	return f->cfg;
}

void files_move(struct files *f, struct files *to)
{
	to->from_files = f->from_files;
	to->cfg = f->cfg;
	memcpy(to->before, f->before, sizeof(f->before));
	memcpy(to->place, f->place, sizeof(f->place));
	to->nplace = f->nplace;
	f->nplace = 0;
	files_close(f);
	*f = *to;
}

void files_close_unwritten(struct out_file *o)
{
	io_kept_close(&o->at);
	free(o->buf);
	*o = (struct out_file){.at = {.fd = -1}};
}

void files_close(struct files *f)
{
	for (int i = 0; i < FILES_OPEN; i++)
		files_close_unwritten(&f->file[i]);
	files_places_close(f);
	free(f->blocks);
	f->blocks = NULL;
	f->nblocks = f->cap_blocks = 0;
}

/*
 * Asks the sinks for the type of the file. A damaged journal must not make libprobe cut other
 * files.
 */
static enum sink_file find_file_kind(const char *path)
{
	enum sink_file kind = SINK_FILE_OTHER;

	for (int i = 0; i < SINKS_MAX && sink_formats[i] && !kind; i++)
		if (sink_formats[i]->owns)
			kind = sink_formats[i]->owns(path);
	return strchr(path, '/') ? SINK_FILE_OTHER : kind;
}

/* Returns the valid commit's entry for `path`, or NULL. */
static const struct journal_file *committed_entry(const struct files *f, const char *path)
{
	const struct journal_commit *c = journal_get_commit(
		f->j, atomic_load_explicit(&f->j->head->commit_seq, memory_order_relaxed));

	for (int i = 0; i < JOURNAL_FILES; i++)
		if (strncmp(c->file[i].path, path, sizeof(c->file[i].path)) == 0)
			return &c->file[i];
	return NULL;
}

static struct out_file *find_out_file(struct files *f, const char *path)
{
	struct out_file *free_one = NULL;

	for (int i = 0; i < FILES_OPEN; i++) {
		struct out_file *o = &f->file[i];

		if (o->path[0] && strcmp(o->path, path) == 0)
			return o;
		/* A file without text in this pass may be evicted, the least recently used first. */
		if (o->len == 0 && !o->pinned && (!free_one || o->used < free_one->used))
			free_one = o;
	}
	if (!free_one)
		return NULL;
	files_close_unwritten(free_one);

	const struct journal_file *c = committed_entry(f, path);
	const char *name;
	struct stat st;
	int dir = files_place_open(f, path, false, &name);

	snprintf(free_one->path, sizeof(free_one->path), "%s", path);
	if (free_one - f->file >= (ptrdiff_t)f->places)
		f->places = (unsigned)(free_one - f->file) + 1;
	free_one->lines = find_file_kind(path) != SINK_FILE_BYTES;
	/*
	 * If the commit no longer lists the file, it was complete when it was removed from the
	 * commit.
	 */
	if (c)
		free_one->bytes = c->bytes;
	else if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		 S_ISREG(st.st_mode))
		free_one->bytes = (uint64_t)st.st_size;
	return free_one;
}

static char *get_unlimited_space(
	struct files *f, struct out_file *o, const char *header, size_t bytes)
{
	size_t lead = o->len == 0 && o->bytes == 0 ? strlen(header) : 0;

	if (o->len + lead + bytes > o->cap) {
		size_t want = o->cap ? o->cap * 2 : 65536;

		while (want < o->len + lead + bytes)
			want *= 2;

		char *more = realloc(o->buf, want);

		if (!more)
			return NULL;
		o->buf = more;
		o->cap = want;
	}
	if (lead) {
		memcpy(o->buf, header, lead);
		files_add_length(f, o, lead);
	}
	o->header = header;
	o->used = f->pass + 1;
	return o->buf + o->len;
}

static char *get_buffer_space(struct files *f, struct out_file *o, const char *header, size_t bytes)
{
	size_t lead = o->len == 0 && o->bytes == 0 ? strlen(header) : 0;

	if (o->len + lead + bytes > BUFFER_MAX && o->len)
		return NULL;
	if (f->text && f->text + lead + bytes > f->text_most)
		return NULL;
	return get_unlimited_space(f, o, header, bytes);
}

char *files_get_block_space(struct files *f, struct out_file *o, size_t bytes)
{
	return get_unlimited_space(f, o, "", bytes);
}

char *files_get_table_space(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which)
{
	struct out_file *o = find_out_file(f, path);

	*which = o;
	return o ? get_buffer_space(f, o, header, bytes) : NULL;
}

bool files_table_is_full(struct files *f, const char *path, size_t bytes)
{
	const struct out_file *o = find_out_file(f, path);

	return o && o->bytes + o->len + bytes > f->limit;
}

char *files_get_row_space(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which, int *err)
{
	if (files_table_is_full(f, path, bytes)) {
		f->j->head->lost_rows++;
		*err = 0;
		return NULL;
	}
	*err = -ENOBUFS;
	return files_get_table_space(f, path, header, bytes, which);
}

/*
 * Returns the size at which a calls file is continued in its next part: the configured size, or
 * the process' limit.
 */
static uint64_t get_part_limit(const struct files *f)
{
	uint64_t limit = f->limit / 8 * 7, part = f->j->head->part_bytes;

	return part && part < limit ? part : limit;
}

/*
 * True if the row belongs into the file of the last row. If this pass has text for a block
 * already, it is in the newest part.
 */
static inline bool is_in_last_file(
	const struct files *f, enum calls_kind kind, uint32_t step, size_t bytes)
{
	const struct out_file *last = f->last_calls;
	uint32_t n = f->j->head->block_steps;

	return last && last->calls == kind && last->len &&
	       (n ? step - last->block < n : !last->block) &&
	       last->bytes + last->len + bytes <= get_part_limit(f);
}

static __attribute__((noinline)) char *find_calls_space(
	struct files *f, enum calls_kind kind, uint32_t step, size_t bytes, struct out_file **which)
{
	const char *header = kind == CALLS_CSV ? ROW_HEADER : "";
	uint32_t n = f->j->head->block_steps, block = n ? step / n * n : 0, part = 0;
	char path[48];

	*which = NULL;
	for (uint32_t i = f->nblocks; i-- > 0;)
		if (f->blocks[i].block == block && f->blocks[i].kind == kind &&
			f->blocks[i].part > part)
			part = f->blocks[i].part;

	const struct out_block *newest = blocks_find(f, kind, block, part);

	if (newest && newest->gz)
		part++;
	for (;;) {
		format_block_path(f, kind, block, part, path, sizeof(path));

		struct out_file *o = find_out_file(f, path);

		if (!o)
			return NULL;
		if (o->bytes + o->len && o->bytes + o->len + bytes > get_part_limit(f)) {
			/* A file that was begun in this pass exists only as text in its buffer. */
			if (!blocks_find(f, kind, block, part) &&
				!blocks_add(f, kind, block, part, 0))
				return NULL;
			part++;
			continue;
		}
		o->calls = kind;
		o->block = block;
		o->part = part;
		*which = o;
		if (kind == CALLS_CSV)
			f->last_calls = o;
		return get_buffer_space(f, o, header, bytes);
	}
}

/* Finds out what the file of the last row takes in this pass, if it has text and can take `bytes` more. */
static void set_calls_limits(struct files *f, size_t bytes)
{
	const struct out_file *last = f->last_calls;
	uint32_t steps = f->j->head->block_steps;
	uint64_t part = get_part_limit(f), most = last->cap < BUFFER_MAX ? last->cap : BUFFER_MAX;

	if (part < last->bytes + last->len + bytes)
		return;
	f->calls_steps = steps ? steps : last->block ? 0 : UINT32_MAX;
	f->calls_most = part - last->bytes < most ? part - last->bytes : most;
}

static __attribute__((noinline)) char *get_checked_calls_space(
	struct files *f, enum calls_kind kind, uint32_t step, size_t bytes, struct out_file **which)
{
	struct out_file *last = f->last_calls;
	char *at;

	if (kind == CALLS_CSV)
		f->calls_most = 0;
	if (!is_in_last_file(f, kind, step, bytes))
		return find_calls_space(f, kind, step, bytes, which);
	*which = last;
	at = get_buffer_space(f, last, kind == CALLS_CSV ? ROW_HEADER : "", bytes);
	if (at)
		set_calls_limits(f, bytes);
	return at;
}

char *files_get_calls_space(
	struct files *f, enum calls_kind kind, uint32_t step, size_t bytes, struct out_file **which)
{
	struct out_file *last = f->last_calls;

	if (__builtin_expect(
		    f->calls_most && kind == CALLS_CSV && last->len + bytes <= f->calls_most &&
			    step - last->block < f->calls_steps && f->text + bytes <= f->text_most,
		    1)) {
		*which = last;
		return last->buf + last->len;
	}
	return get_checked_calls_space(f, kind, step, bytes, which);
}

void files_reset_buffers(struct files *f)
{
	for (int i = 0; i < FILES_OPEN; i++)
		f->file[i].len = 0;
	f->text = 0;
	f->calls_most = 0;
}

void files_remove_entry(struct files *f)
{
	f->calls_most = 0;
	for (unsigned i = 0; i < f->places; i++)
		if (f->file[i].entry == f->entry)
			f->file[i].len = f->file[i].len_before;
}

/*
 * The text was collected to be appended to a file that has been removed: writes the header before
 * it.
 */
static int add_header(struct out_file *o)
{
	size_t n = strlen(o->header);

	if (o->len >= n && memcmp(o->buf, o->header, n) == 0)
		return 0;
	if (o->len + n > o->cap) {
		char *more = realloc(o->buf, o->len + n);

		if (!more)
			return -ENOMEM;
		o->buf = more;
		o->cap = o->len + n;
	}
	memmove(o->buf + n, o->buf, o->len);
	memcpy(o->buf, o->header, n);
	o->len += n;
	return 0;
}

/* Returns the largest length up to `bytes` at which a line ends. */
static uint64_t find_end_of_line(int fd, uint64_t bytes)
{
	char buf[4096];

	while (bytes) {
		size_t n = bytes < sizeof(buf) ? (size_t)bytes : sizeof(buf);
		const char *nl;

		if (pread(fd, buf, n, (off_t)(bytes - n)) != (ssize_t)n)
			return bytes; /* cannot be read: assumed to end with a line */
		nl = memrchr(buf, '\n', n);
		bytes -= n;
		if (nl)
			return bytes + (uint64_t)(nl + 1 - buf);
	}
	return 0;
}

/*
 * Makes an open file as long as it was committed. If it is longer, a pass failed or was killed
 * half-way: it is cut. If it is shorter, or does not end with a line, another process cut it, or
 * the journal is damaged: text is then appended after its last complete line.
 */
static int set_file_length(int fd, uint64_t *bytes, bool lines)
{
	struct stat st;
	uint64_t size, to;

	if (fstat(fd, &st) < 0)
		return -errno;
	size = (uint64_t)st.st_size;
	to = size < *bytes ? size : *bytes;
	if (lines)
		to = find_end_of_line(fd, to);
	if (size != to && ftruncate(fd, (off_t)to) < 0)
		return -errno;
	*bytes = to;
	return 0;
}

/*
 * Returns 0 if an open file of the folder may be written: it must belong to the folder's owner
 * and have no other hard link. Links and FIFOs were rejected when it was opened.
 */
static int check_file_owner(int dirfd, int fd)
{
	struct stat dir, st;

	if (fstat(dirfd, &dir) < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == dir.st_uid && st.st_nlink <= 1 ? 0 : -EPERM;
}

int files_open_own(int dirfd, const char *path, int flags)
{
	int fd = io_open_regular(dirfd, path, flags | O_NOFOLLOW, 0);
	int err = fd < 0 ? fd : check_file_owner(dirfd, fd);

	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* Makes a new file that belongs to the folder's owner: `probe recover` may be run by root. */
static int add_own_file(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		IO_FILE_MODE);
	struct stat dir, st;

	if (fd < 0)
		return -errno;
	if (fstat(dirfd, &dir) < 0 || fstat(fd, &st) < 0 || dir.st_uid == st.st_uid)
		return fd;
	/* On failure the file keeps its present owner. */
	int kept = fchown(fd, dir.st_uid, dir.st_gid);

	(void)kept;
	return fd;
}

static int open_or_add(int dirfd, const char *path)
{
	int fd = -ENOENT;

	for (int tries = 0; fd == -ENOENT && tries < 3; tries++) {
		fd = add_own_file(dirfd, path);
		if (fd == -EEXIST)
			fd = files_open_own(dirfd, path, O_RDWR | O_APPEND);
	}
	return fd;
}

/* Opens the file for appending, and checks that it is still the one in the folder. */
static int ensure_open(struct files *f, struct out_file *o)
{
	struct stat st = {0};
	int err, fd;

	/* The program has closed the descriptor; its number may belong to another file now. */
	if (!io_kept_is_same(&o->at, &st))
		o->at.fd = -1;
	if (o->at.fd >= 0 && st.st_nlink && (uint64_t)st.st_size == o->bytes)
		return o->bytes ? 0 : add_header(o);
	if (o->at.fd >= 0 && !st.st_nlink) {
		/* The file was removed: a new one is begun. The rows in the old one are lost. */
		io_kept_close(&o->at);
		o->bytes = 0;
	}
	if (o->at.fd < 0) {
		const char *name;
		int dir = files_place_open(f, o->path, true, &name);

		fd = dir < 0 ? dir : open_or_add(dir, name);
		if (fd < 0)
			return fd;
		io_kept_set(&o->at, fd);
	}
	err = set_file_length(o->at.fd, &o->bytes, o->lines);
	return err ? err : o->bytes ? 0 : add_header(o);
}

static struct journal_file *find_commit_slot(struct journal_commit *c, const char *path)
{
	struct journal_file *oldest = &c->file[0];

	for (int i = 0; i < JOURNAL_FILES; i++) {
		if (strncmp(c->file[i].path, path, sizeof(c->file[i].path)) == 0)
			return &c->file[i];
		if (c->file[i].used < oldest->used)
			oldest = &c->file[i];
	}
	memset(oldest, 0, sizeof(*oldest));
	snprintf(oldest->path, sizeof(oldest->path), "%s", path);
	return oldest;
}

/*
 * Before the first byte is written to a file, the valid commit must contain its current length.
 * Otherwise recovery could not distinguish rows of a killed pass, which are still in the journal,
 * from older ones. The new entries go into both copies without touching the valid one: the other
 * copy becomes valid first.
 */
static void record_lengths(struct files *f, struct journal_commit *next)
{
	struct journal_head *h = f->j->head;
	uint64_t seq = atomic_load_explicit(&h->commit_seq, memory_order_relaxed);
	const struct journal_commit *now = journal_get_commit(f->j, seq);
	bool all_known = true;

	for (int i = 0; i < FILES_OPEN; i++) {
		struct out_file *o = &f->file[i];
		const struct journal_file *k = o->len ? committed_entry(f, o->path) : NULL;

		if (o->len && (!k || k->bytes != o->bytes))
			all_known = false;
	}
	if (all_known)
		return;

	struct journal_commit *other = journal_get_commit(f->j, seq + 1);

	memcpy(other, now, journal_get_commit_bytes(journal_get_nthread(f->j)));
	other->number = seq + 1;
	for (int i = 0; i < FILES_OPEN; i++) {
		struct out_file *o = &f->file[i];

		if (!o->len)
			continue;

		struct journal_file *s = find_commit_slot(other, o->path);

		s->bytes = o->bytes;
		s->used = seq + 1;
	}
	memcpy(next->file, other->file, sizeof(next->file));
	atomic_store_explicit(&h->commit_seq, seq + 1, memory_order_release);
}

static int write_one(struct out_file *o, uint64_t limit)
{
	if (o->bytes + o->len > limit)
		return -EFBIG;
	return io_write_all(o->at.fd, o->buf, o->len);
}

int files_write(struct files *f, struct journal_commit *next)
{
	int err = 0;

	f->pass++;
	f->text = 0;
	f->calls_most = 0;
	f->limit = io_get_file_limit();
	for (int i = 0; i < FILES_OPEN && !err; i++)
		if (f->file[i].len)
			err = ensure_open(f, &f->file[i]);
	if (!err)
		record_lengths(f, next);
	for (int i = 0; i < FILES_OPEN && !err; i++)
		if (f->file[i].len)
			err = write_one(&f->file[i], f->limit);
	if (err) {
		for (int i = 0; i < FILES_OPEN; i++) {
			struct out_file *o = &f->file[i];

			if (o->len && io_kept_is_same(&o->at, NULL) &&
				ftruncate(o->at.fd, (off_t)o->bytes) < 0)
				/* ensure_open() cuts it to its committed length next time */
				files_close_unwritten(o);
			o->len = 0;
		}
		return err;
	}
	for (int i = 0; i < FILES_OPEN; i++) {
		struct out_file *o = &f->file[i];

		if (!o->len)
			continue;

		struct journal_file *s = find_commit_slot(next, o->path);

		o->bytes += o->len;
		if (o->calls) {
			struct out_block *b = blocks_find(f, o->calls, o->block, o->part);

			if (b) {
				f->total += o->len;
				b->bytes += o->len;
			} else {
				blocks_add(f, o->calls, o->block, o->part, o->bytes);
			}
		}
		o->len = 0;
		s->bytes = o->bytes;
		s->used = next->number;
	}
	return 0;
}

/* Cuts the file to the length of the last commit. Removes it if that is 0. Returns 0 or -errno. */
static int reset_file_to_commit(int dirfd, const char *path, uint64_t bytes, bool lines)
{
	int err, fd = files_open_own(dirfd, path, O_RDWR);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = set_file_length(fd, &bytes, lines);
	close(fd);
	return !err && !bytes && unlinkat(dirfd, path, 0) < 0 ? -errno : err;
}

int files_reset_to_commit(struct files *f)
{
	const struct journal_commit *c = journal_get_commit(
		f->j, atomic_load_explicit(&f->j->head->commit_seq, memory_order_relaxed));

	for (int i = 0; i < JOURNAL_FILES; i++) {
		char path[sizeof(c->file[i].path) + 1] = "";
		const char *name;
		int err, dir;

		memcpy(path, c->file[i].path, sizeof(c->file[i].path));

		enum sink_file kind = find_file_kind(path);

		if (kind == SINK_FILE_OTHER)
			continue;
		dir = files_place_open(f, path, false, &name);
		err = dir == -ENOENT ? 0
		      : dir < 0	     ? dir
				     : reset_file_to_commit(
					       dir, name, c->file[i].bytes, kind == SINK_FILE_LINES);
		if (err)
			return err;
	}
	return blocks_load_and_clean(f);
}
