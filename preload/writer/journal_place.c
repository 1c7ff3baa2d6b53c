/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the location of this process' journal. A file, if that is safe: in the rank's folder,
 * or in the folder of key journal_dir, on a local file system. Else a shared memory segment: no
 * disk or server can fail under its pages and nothing can truncate it, but it ends with the
 * container, or with the user's last login. Else a file in /dev/shm. Else private memory, which
 * is lost with the process.
 */
#include "writer/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "config/rooms/files.h"
#include "text/text.h"
#include "journal/place.h"
#include "session/state.h"
#include "folder/meta.h"
#include "writer/writer.h"

/*
 * If the key is not set, the journal's size is 1/AUTO_PART of the free memory, within these
 * limits.
 */
#define AUTO_PART 256
#define AUTO_LEAST (16u << 20)
#define AUTO_MOST (64u << 20)
#define MEMORY_PART 8 /* the journal takes at most this fraction (1/n) of the free memory */
#define NAME_BYTES 160

/* Returned if a file can be made, but another location is better. */
enum { NOT_LOCAL = 1 };

static void format_journal_name(char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "libprobe-%s-%lld-%llu.journal", session.owner.host,
		(long long)session.owner.pid, (unsigned long long)session.owner.start_time);
}

/*
 * Makes the journal in a folder. *at receives its path, also on failure. Returns 0, NOT_LOCAL, or
 * -errno.
 */
static int open_journal_in_folder(
	const char *folder, int dirfd, const char *name, size_t bytes, struct text *at)
{
	text_add_format(at, "%s/%s", folder, name);
	if (dirfd < 0)
		return dirfd;
	return place_is_local(dirfd) ? journal_create(&session.journal, dirfd, name, bytes)
				     : NOT_LOCAL;
}

static int journal_in_named(const char *folder, const char *name, size_t bytes, struct text *at)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = open_journal_in_folder(folder, fd < 0 ? -errno : fd, name, bytes, at);

	if (fd >= 0)
		close(fd);
	return err;
}

static int open_journal_in_file(size_t bytes, struct text *at)
{
	const struct files_keys *keys = get_files_keys(get_config());
	char name[NAME_BYTES];

	if (strcmp(keys->journal_dir, "shm") == 0)
		return NOT_LOCAL;
	if (!keys->journal_dir[0])
		return open_journal_in_folder(
			output.folder.path, output.folder.dir.fd, "journal.bin", bytes, at);
	format_journal_name(name);
	return journal_in_named(keys->journal_dir, name, bytes, at);
}

static size_t compute_memory_bytes(size_t bytes)
{
	uint64_t most = place_free_memory("") / MEMORY_PART;

	if (bytes <= most)
		return bytes;
	most = most < JOURNAL_BYTES_MIN ? JOURNAL_BYTES_MIN : most;
	log_info(2, "the journal has %llu KiB: an eighth of the memory that is free here",
		(unsigned long long)most >> 10);
	return most;
}

static uint64_t segment_seed(void)
{
	const struct journal_owner *o = &session.owner;
	uint64_t h = hash_str(hash_str(o->start_time, o->host), o->boot_id);

	return hash_u64(hash_u64(h, o->pid_ns), (uint64_t)o->pid);
}

/* Makes the journal in memory, without a disk. *where: description of the location. */
static int open_journal_in_memory(size_t bytes, char *path, struct text *at, const char **where)
{
	char name[NAME_BYTES];

	bytes = compute_memory_bytes(bytes);
	*where = "kept in a shared memory segment";
	if (journal_create_segment(
		    &session.journal, segment_seed(), bytes, path, JOURNAL_PATH_MAX) == 0)
		return 0;
	*where = "kept in /dev/shm";
	format_journal_name(name);
	*at = text_init(path, JOURNAL_PATH_MAX);
	if (journal_in_named("/dev/shm", name, bytes, at) == 0)
		return 0;
	*where = "kept in memory: if the process is killed its last records are lost";
	path[0] = 0;
	return journal_create(&session.journal, -1, NULL, bytes);
}

/* bytes of records after which the writer is woken: their pages stay resident */
#define EARLY_BYTES (1u << 20)

static size_t get_journal_bytes(void)
{
	uint64_t bytes = (uint64_t)get_files_keys(get_config())->journal_mib << 20;

	if (bytes)
		return bytes;
	bytes = place_free_memory("") / AUTO_PART >> 20 << 20;
	return bytes < AUTO_LEAST ? AUTO_LEAST : bytes > AUTO_MOST ? AUTO_MOST : bytes;
}

int session_make_journal(void)
{
	const struct files_keys *keys = get_files_keys(get_config());
	static char path[JOURNAL_PATH_MAX], wanted[JOURNAL_PATH_MAX];
	size_t bytes = get_journal_bytes();
	struct text at = text_init(path, sizeof(path));
	const char *where = NULL;
	int err = open_journal_in_file(bytes, &at);

	/*
	 * The smallest size may fit if a larger one does not: on a full disk, or under a limit on
	 * file sizes.
	 */
	if (err < 0 && !keys->journal_mib && bytes > AUTO_LEAST) {
		bytes = AUTO_LEAST;
		at = text_init(path, sizeof(path));
		err = open_journal_in_file(bytes, &at);
	}
	if (err) {
		int first = err;

		memcpy(wanted, path, sizeof(wanted));
		at = text_init(path, sizeof(path));
		err = open_journal_in_memory(bytes, path, &at, &where);
		if (first < 0)
			log_loss(LOSS_JOURNAL, "journal %s: %s; %s", wanted, strerror(-first),
				where);
		else if (!err && !session.journal.safe)
			log_loss(LOSS_JOURNAL, "journal: no shared memory is available; %s", where);
		else
			log_info(2, "journal: %s", where);
	}
	if (err)
		return err;
	/* A user who sets a large size wants the writer to be woken rarely. */
	if (!keys->journal_mib) {
		uint32_t early = EARLY_BYTES / session.journal.head->chunk_bytes;

		if (early < session.journal.early_chunks)
			session.journal.early_chunks = early;
	}
	session_fill_head(session.journal.head);
	strcpy(session.journal.head->journal_path, path);
	snprintf(session.journal.head->folder, JOURNAL_PATH_MAX, "%s", output.folder.path);
	return 0;
}

/*
 * Overwrites meta.json in place: on a full disk, this reuses the block that the file already has.
 */
static void write_over_meta(void)
{
	char *buf = malloc(META_MAX);
	int fd = buf ? openat(output.folder.dir.fd, "meta.json",
			       O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
		     : -1;

	if (fd >= 0) {
		struct text t = text_init(buf, META_MAX);
		struct stat st;

		meta_format(&t, &session.journal, NULL);
		if (!t.cut && t.len <= io_get_file_limit() && fstat(fd, &st) == 0 &&
			t.len <= (uint64_t)st.st_blocks * 512 && t.len >= (uint64_t)st.st_size)
			io_write_all(fd, buf, t.len);
		close(fd);
	}
	free(buf);
}

void session_name_journal(void)
{
	if (sink_write_meta(&output.sink) < 0 && session.journal.head->journal_path[0])
		write_over_meta();
}

void writer_leave_journal(void)
{
	struct journal *j = &session.journal;

	io_kept_close(&j->lock);
	/*
	 * Maps private memory of the child at the same address, so that code which still reads or
	 * writes the journal finds the zeros of an empty one. If the mapping were kept, it would
	 * keep the file's lock, or count as a mapping of the segment.
	 */
	if (j->head)
		mmap(j->head, j->bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
