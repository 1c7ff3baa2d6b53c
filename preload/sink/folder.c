/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "sink/owner.h"

#define META_LEAD 8192 /* state, owner and journal stand within the first bytes of a meta.json */
#define OLD_MAX 100000 /* rank<R>.<n> that are tried */
#define MOVING_S 60 /* a mark of that age was left by a process that died while it moved a folder */

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * meta.json appears with all its text at once and only if there is none: made under another name, then linked. File
 * systems without links get an exclusive create.
 */
static int put_meta(int dirfd, const struct journal_owner *me, const char *text, size_t n)
{
	uint64_t name = hash_str(hash_str(me->start_time, me->host), me->boot_id);
	char tmp[64];
	int err = 0;

	/* Not by pid alone: in containers, or on other hosts, others have the same. */
	name = hash_u64(hash_u64(name, me->pid_ns), (uint64_t)me->pid);
	snprintf(tmp, sizeof(tmp), "meta.json.%016llx", (unsigned long long)name);

	int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	err = n > io_file_limit() ? -EFBIG : io_write_all(fd, text, n);
	close(fd);
	if (!err && linkat(dirfd, tmp, dirfd, "meta.json", 0) < 0)
		err = -errno;
	unlinkat(dirfd, tmp, 0);
	if (err != -EPERM && err != -EOPNOTSUPP && err != -EMLINK && err != -ENOSYS)
		return err;
	fd = openat(dirfd, "meta.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	err = n > io_file_limit() ? -EFBIG : io_write_all(fd, text, n);
	close(fd);
	if (err)
		unlinkat(dirfd, "meta.json", 0);
	return err;
}

/* True if the folder's owner is `me` of an earlier program (exec), has finished, or is dead. */
static bool is_left(int dirfd, const struct journal_owner *me)
{
	char text[META_LEAD];
	struct journal_owner o;
	char state[16], journal[JOURNAL_PATH_MAX];
	ssize_t n = io_read_file(dirfd, "meta.json", text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = 0;
	if (owner_parse(text, &o) < 0)
		return false;
	meta_string(text, "state", state, sizeof(state));
	if (strcmp(state, "finished") == 0 || strcmp(state, "recovered") == 0)
		return true;
	if (owner_same(&o, me))
		return true;
	meta_string(text, "journal_path", journal, sizeof(journal));
	if (owner_life(&o, journal) != OWNER_DEAD)
		return false;
	/* The folder may have been moved since, or its path cannot be written in JSON. */
	snprintf(journal, sizeof(journal), "/proc/self/fd/%d/journal.bin", dirfd);
	return access(journal, F_OK) < 0 || owner_life(&o, journal) == OWNER_DEAD;
}

/* Marks the folder as being moved: only one of several newcomers may. 0, -EBUSY, -errno. */
static int mark_moving(int dirfd)
{
	struct stat st;

	for (int tries = 0; tries < 2; tries++) {
		int fd = openat(dirfd, "moving", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

		if (fd >= 0) {
			close(fd);
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
		if (fstatat(dirfd, "moving", &st, 0) < 0 || time(NULL) - st.st_mtime < MOVING_S)
			return -EBUSY;
		unlinkat(dirfd, "moving", 0);
	}
	return -EBUSY;
}

/*
 * Moves a left folder to <path>.<n>. Of several newcomers only the one that creates `moving` in that very folder may
 * rename it: another that read the same old meta.json cannot then rename the winner's new folder away.
 */
static int move_away(const char *path, int dirfd)
{
	struct stat here, there;
	char to[PATH_MAX];
	int err = mark_moving(dirfd);

	if (err)
		return err;
	if (fstat(dirfd, &here) < 0 || stat(path, &there) < 0 || here.st_ino != there.st_ino ||
		here.st_dev != there.st_dev) {
		unlinkat(dirfd, "moving", 0);
		return -EAGAIN;
	}
	err = -EEXIST;
	for (int n = 1; n < OLD_MAX && err == -EEXIST; n++) {
		if ((size_t)snprintf(to, sizeof(to), "%s.%d", path, n) >= sizeof(to)) {
			err = -ENAMETOOLONG;
			break;
		}
		if (access(to, F_OK) == 0)
			continue;
		/* rename() onto an existing, non-empty folder fails: nothing is ever overwritten. */
		err = rename(path, to) == 0 ? 0 : errno == ENOTEMPTY ? -EEXIST : -errno;
	}
	unlinkat(dirfd, "moving", 0);
	return err;
}

/* 0: taken; -EEXIST: somebody else's; -errno. */
static int take_path(struct folder *f, const char *path, const struct journal_owner *me,
	const char *meta, size_t n)
{
	int last = -EEXIST;

	for (int tries = 0; tries < 8; tries++) {
		int err = io_mkdirs(path);
		int fd = err ? err : open_dir(path);

		last = fd == -ENOENT ? -ENOENT : -EEXIST;
		if (fd == -ENOENT)
			continue; /* moved away under our hands */
		if (fd < 0)
			return fd;
		err = put_meta(fd, me, meta, n);
		if (!err) {
			io_keep(&f->dir, fd);
			snprintf(f->path, sizeof(f->path), "%s", path);
			return 0;
		}
		/* Renamed onto, or moved and removed: it is another folder now. */
		if (err == -ENOENT) {
			close(fd);
			continue;
		}
		if (err == -EEXIST && is_left(fd, me)) {
			err = move_away(path, fd);
			close(fd);
			if (err && err != -EAGAIN && err != -EBUSY && err != -ENOENT)
				return err == -EACCES || err == -EPERM ? -EEXIST : err;
			continue;
		}
		close(fd);
		return err;
	}
	return last;
}

static int rank_path(char *buf, size_t cap, const char *out, int rank,
	const struct journal_owner *me, bool second)
{
	int n;

	if (rank < 0)
		n = snprintf(buf, cap, "%s/host-%s-pid%lld", out, me->host, (long long)me->pid);
	else if (second)
		n = snprintf(buf, cap, "%s/rank%d-pid%lld", out, rank, (long long)me->pid);
	else
		n = snprintf(buf, cap, "%s/rank%d", out, rank);
	return (size_t)n < cap ? 0 : -ENAMETOOLONG;
}

int folder_take(struct folder *f, const char *out, int rank, const struct journal_owner *me,
	const char *meta, size_t meta_bytes, bool *other)
{
	char path[PATH_MAX];
	int err = rank_path(path, sizeof(path), out, rank, me, false);

	f->dir.fd = -1;
	*other = false;
	if (!err)
		err = take_path(f, path, me, meta, meta_bytes);
	if (err != -EEXIST || rank < 0)
		return err;
	*other = true;
	err = rank_path(path, sizeof(path), out, rank, me, true);
	return err ? err : take_path(f, path, me, meta, meta_bytes);
}

int folder_rename(struct folder *f, const char *out, int rank, const struct journal_owner *me)
{
	char path[PATH_MAX];
	int err = -EEXIST;

	for (int second = 0; second < 2 && err == -EEXIST; second++) {
		err = rank_path(path, sizeof(path), out, rank, me, second);
		for (int tries = 0; !err && tries < 8; tries++) {
			if (rename(f->path, path) == 0) {
				snprintf(f->path, sizeof(f->path), "%s", path);
				return 0;
			}
			err = -errno;
			if (err != -ENOTEMPTY && err != -EEXIST)
				return err;
			err = -EEXIST;

			int fd = open_dir(path);

			if (fd < 0)
				continue;
			if (is_left(fd, me) && move_away(path, fd) == 0)
				err = 0;
			close(fd);
		}
	}
	return err;
}

int folder_reopen(struct folder *f)
{
	struct io_kept now;
	int fd;

	if (io_kept_is(&f->dir, NULL))
		return 0;
	fd = open_dir(f->path);
	if (fd < 0)
		return fd;
	io_keep(&now, fd);
	if (now.dev != f->dir.dev || now.ino != f->dir.ino) {
		io_kept_close(&now);
		return -ENOENT;
	}
	f->dir = now;
	return 0;
}

void folder_close(struct folder *f)
{
	io_kept_close(&f->dir);
}
