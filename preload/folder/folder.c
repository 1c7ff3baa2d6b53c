/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "folder/folder_mark.h"
#include "folder/owner.h"

#define META_LEAD 8192 /* state, owner and journal are within the first bytes of a meta.json */
#define OLD_MAX 100000 /* largest n tried in rank<R>.<n> */

static const char in_use[] = "is in use by another process",
		  no_folder[] = "is a link, or not a folder",
		  of_another[] = "belongs to another user",
		  open_to_all[] = "can be written by others",
		  strange[] = "holds links, FIFOs or other users' files under our names";

/*
 * Opens the output folder: it may be reached through links, and belong to another user. Only what is created inside it must
 * belong to this user.
 */
static int open_output(const char *out)
{
	int fd = open(out, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_rank_folder(int out, const char *name)
{
	int fd = openat(out, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Writes a name that no other process uses. The pid alone is not enough: processes in other
 * containers, or on other hosts, may have the same pid.
 */
static void format_draft_name(char *buf, size_t cap, const struct journal_owner *me)
{
	uint64_t name = hash_str(hash_str(me->start_time, me->host), me->boot_id);

	name = hash_u64(hash_u64(name, me->pid_ns), (uint64_t)me->pid);
	snprintf(buf, cap, "meta.json.%016llx", (unsigned long long)name);
}

/*
 * Reads the state of a file that this process creates in the folder, because the file system may
 * map or squash user ids.
 */
static int read_own_file_state(int dirfd, const char *name, struct stat *mine)
{
	int fd = openat(dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), err = 0;
	bool named = fd < 0;

	/* The file system does not support unnamed files: makes one with a name. */
	if (named)
		fd = openat(
			dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, mine) < 0)
		err = -errno;
	close(fd);
	if (named)
		unlinkat(dirfd, name, 0);
	return err;
}

/*
 * Returns NULL if only this user can write to the folder, or the reason otherwise. made: this process created the name just
 * now, but another may have replaced it since.
 */
static const char *check_folder_owner(
	int dirfd, const struct journal_owner *me, bool made, int *err)
{
	struct stat st, mine;
	char name[64];

	*err = 0;
	format_draft_name(name, sizeof(name), me);
	if (fstat(dirfd, &st) < 0)
		*err = -errno;
	else
		*err = read_own_file_state(dirfd, name, &mine);
	if (*err == -EACCES || *err == -EPERM || *err == -EEXIST)
		return of_another;
	if (*err)
		return NULL;
	if (st.st_uid != mine.st_uid)
		return of_another;
	/*
	 * If a file made with mode 0600 is writable by all, modes have no meaning on this file
	 * system; the same holds for modes chosen by the system.
	 */
	return !made && st.st_mode & 022 && !(mine.st_mode & 022) ? open_to_all : NULL;
}

/*
 * True if the folder has something that is not libprobe's under a name that will be written: made
 * by another user while the folder was open to all, or by hand.
 */
static bool has_strange(int dirfd)
{
	/* Every .csv belongs to libprobe: files of kinds have names that the training gives. */
	static const char *const ours[] = {
		"module_struct.json", "parallel.json", "meta.json", "journal.bin", "open.jsonl"};
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct stat here, st;
	bool found = false;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (struct dirent *e; !found && fstat(dirfd, &here) == 0 && (e = readdir(d));)
		for (unsigned i = 0; i < sizeof(ours) / sizeof(*ours); i++)
			if ((strncmp(e->d_name, ours[i], strlen(ours[i])) == 0 ||
				    strstr(e->d_name, ".csv")) &&
				fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
				found |= !S_ISREG(st.st_mode) || st.st_uid != here.st_uid ||
					 st.st_nlink > 1;
	closedir(d);
	return found;
}

/*
 * Writes meta.json so that it appears atomically with all its text, and only if there is none: it
 * is made under another name, then linked. On file systems without links, by an exclusive create.
 */
static int write_meta(int dirfd, const struct journal_owner *me, const char *text, size_t n)
{
	char tmp[64];
	int err = 0, fd;

	format_draft_name(tmp, sizeof(tmp), me);
	fd = io_create_file(dirfd, tmp);
	if (fd < 0)
		return fd;
	err = n > io_get_file_limit() ? -EFBIG : io_write_all(fd, text, n);
	close(fd);
	if (!err && linkat(dirfd, tmp, dirfd, "meta.json", 0) < 0)
		err = -errno;
	unlinkat(dirfd, tmp, 0);
	if (err != -EPERM && err != -EOPNOTSUPP && err != -EMLINK && err != -ENOSYS)
		return err;
	fd = openat(dirfd, "meta.json", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		IO_FILE_MODE);
	if (fd < 0)
		return -errno;
	err = n > io_get_file_limit() ? -EFBIG : io_write_all(fd, text, n);
	close(fd);
	if (err)
		unlinkat(dirfd, "meta.json", 0);
	return err;
}

/* True if the folder's owner is `me` before exec, has finished, or is dead. */
static bool is_folder_abandoned(int dirfd, const struct journal_owner *me)
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
	/*
	 * Through the descriptor: the folder may have been moved since, or its path cannot be
	 * written in JSON.
	 */
	snprintf(journal, sizeof(journal), "/proc/self/fd/%d/journal.bin", dirfd);
	return access(journal, F_OK) < 0 || owner_life(&o, journal) == OWNER_DEAD;
}

static bool is_at(int out, const char *name, int dirfd)
{
	struct stat here, there;

	return fstat(dirfd, &here) == 0 && fstatat(out, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/*
 * Moves an abandoned folder to <name>.<n>. If several processes try this, only the one that has
 * set the mark in this very folder may rename it. Another process that read the same old
 * meta.json then cannot rename the new folder of the first one.
 */
static int rename_abandoned_folder(int out, const char *name, int dirfd)
{
	struct stat st;
	char to[NAME_MAX + 1];
	int err, mark = mark_folder(dirfd);

	if (mark < 0)
		return mark;
	if (!is_at(out, name, dirfd)) {
		unmark_folder(dirfd, mark);
		return -EAGAIN;
	}
	err = -EEXIST;
	for (int n = 1; n < OLD_MAX && err == -EEXIST; n++) {
		if ((size_t)snprintf(to, sizeof(to), "%s.%d", name, n) >= sizeof(to)) {
			err = -ENAMETOOLONG;
			break;
		}
		if (fstatat(out, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		/* rename() onto an existing, non-empty folder fails: nothing is ever overwritten. */
		err = renameat(out, name, out, to) == 0	       ? 0
		      : errno == ENOTEMPTY || errno == ENOTDIR ? -EEXIST
							       : -errno;
	}
	unmark_folder(dirfd, mark);
	return err;
}

/* An attempt to claim a name in the output folder. */
struct claim {
	const char *out, *name, *meta;
	size_t meta_bytes;
	const struct journal_owner *me;
	const struct folder_resume *resume; /* NULL: an abandoned folder is moved away */
	const char *why; /* why the name is not available */
};

/*
 * Takes over an abandoned folder with this name. Returns 0, -EAGAIN: try again, or 1: this run
 * cannot continue in it.
 */
static int open_resumed_folder(struct claim *c, int out, int dirfd)
{
	int err = 0, mark = c->resume ? mark_folder(dirfd) : -ENOENT;

	if (mark < 0)
		return mark == -EBUSY ? -EAGAIN : 1;
	/* Another process may have taken the folder between the check and the mark. */
	if (!is_at(out, c->name, dirfd) || !is_folder_abandoned(dirfd, c->me))
		err = -EAGAIN;
	else if (has_strange(dirfd) || c->resume->prepare(c->resume->arg, out, dirfd, c->name) ||
		 io_replace_file(dirfd, "meta.json", c->meta, c->meta_bytes))
		err = 1;
	unmark_folder(dirfd, mark);
	return err;
}

/* Claims an open folder. Returns 0, -EEXIST: not available, -EAGAIN: try again, or -errno. */
static int write_folder_claim(struct claim *c, int out, int fd, bool made)
{
	struct stat st;
	int err;

	c->why = check_folder_owner(fd, c->me, made, &err);
	if (c->why)
		return -EEXIST;
	if (!err)
		err = write_meta(fd, c->me, c->meta, c->meta_bytes);
	/*
	 * The folder was replaced by a rename, or moved and removed: the name belongs to another
	 * folder now.
	 */
	if (err == -ENOENT)
		return -EAGAIN;
	if (!err) {
		if (!has_strange(fd))
			return 0;
		unlinkat(fd, "meta.json", 0);
		c->why = strange;
		return -EEXIST;
	}
	if (err != -EEXIST)
		return err;
	c->why = in_use;
	if (fstatat(fd, "meta.json", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		c->why = strange;
	if (c->why == strange || !is_folder_abandoned(fd, c->me))
		return -EEXIST;
	err = open_resumed_folder(c, out, fd);
	if (err <= 0)
		return err;
	err = rename_abandoned_folder(out, c->name, fd);
	if (err == -EACCES || err == -EPERM)
		return -EEXIST;
	return !err || err == -EBUSY || err == -ENOENT ? -EAGAIN : err;
}

/*
 * Tries once to claim a folder. Returns a descriptor of the folder, which then belongs to this
 * process, or an error like write_folder_claim().
 */
static int open_claimed_folder(struct claim *c)
{
	int err = io_add_folders(c->out), out = err ? err : open_output(c->out), fd;
	bool made;
	struct stat st;

	if (out < 0)
		return out == -ENOENT ? -EAGAIN : out;
	made = mkdirat(out, c->name, IO_FOLDER_MODE) == 0;
	err = made || errno == EEXIST ? 0 : -errno;
	/* An existing folder may be usable even if none can be made (EACCES, EROFS). */
	fd = open_rank_folder(out, c->name);
	if (fd >= 0) {
		err = write_folder_claim(c, out, fd, made);
		if (!err && !is_at(out, c->name, fd)) /* moved away in the meantime */
			err = -EAGAIN;
		if (err)
			close(fd);
	} else if (fd == -ENOENT && fstatat(out, c->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		err = err ? err : -EAGAIN;
	} else if (fd == -ENOTDIR || fd == -ELOOP || fd == -EACCES || fd == -ENOENT) {
		c->why = fd == -EACCES ? of_another : no_folder;
		err = -EEXIST;
	} else {
		err = fd;
	}
	close(out);
	return err ? err : fd;
}

static int write_path(char *path, size_t cap, const char *out, const char *name)
{
	return (size_t)snprintf(path, cap, "%s/%s", out, name) < cap ? 0 : -ENAMETOOLONG;
}

/* Takes a name. Returns 0; -EEXIST: another process owns it; -errno. */
static int register_folder_name(struct folder *f, struct claim *c)
{
	int err = write_path(f->path, sizeof(f->path), c->out, c->name);

	for (int tries = 0; !err && tries < 8; tries++) {
		int fd = open_claimed_folder(c);

		if (fd >= 0) {
			io_kept_set(&f->dir, fd);
			return 0;
		}
		if (fd != -EAGAIN)
			err = fd;
	}
	if (!err && !c->why)
		return -ENOENT;
	return err ? err : -EEXIST;
}

static int format_rank_name(
	char *buf, size_t cap, int rank, const struct journal_owner *me, bool second)
{
	int n;

	if (rank < 0)
		n = snprintf(buf, cap, "host-%s-pid%lld", me->host, (long long)me->pid);
	else if (second)
		n = snprintf(buf, cap, "rank%d-pid%lld", rank, (long long)me->pid);
	else
		n = snprintf(buf, cap, "rank%d", rank);
	return (size_t)n < cap ? 0 : -ENAMETOOLONG;
}

int folder_take(struct folder *f, const char *out, int rank, const struct journal_owner *me,
	const char *meta, size_t meta_bytes, const struct folder_resume *resume, const char **why)
{
	char name[NAME_MAX + 1];
	struct claim c = {.out = out,
		.name = name,
		.meta = meta,
		.meta_bytes = meta_bytes,
		.me = me,
		.resume = rank < 0 ? NULL : resume};
	int err = format_rank_name(name, sizeof(name), rank, me, false);

	f->dir.fd = -1;
	*why = NULL;
	if (!err)
		err = register_folder_name(f, &c);
	if (err != -EEXIST || rank < 0)
		return err;
	*why = c.why;
	c.resume = NULL;
	err = format_rank_name(name, sizeof(name), rank, me, true);
	return err ? err : register_folder_name(f, &c);
}

/* Renames without replacing anything, not even an empty folder, which may be another user's. */
static int rename_to_new(int out, const char *from, const char *to)
{
	struct stat st;

	if (syscall(SYS_renameat2, out, from, out, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (fstatat(out, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(out, from, out, to) == 0 ? 0 : -errno;
}

/*
 * Frees a name if its folder belongs to this user and is abandoned. Returns 0: try again, or
 * -EEXIST: the folder stays.
 */
static int free_folder_name(int out, const char *name, const struct journal_owner *me)
{
	int fd = open_rank_folder(out, name), err = -EEXIST, dead;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return -EEXIST;
	if (!check_folder_owner(fd, me, false, &dead) && !dead) {
		/* An empty folder of this user is removed. */
		if (is_at(out, name, fd) && unlinkat(out, name, AT_REMOVEDIR) == 0)
			err = 0;
		else if (is_folder_abandoned(fd, me) && rename_abandoned_folder(out, name, fd) == 0)
			err = 0;
	}
	close(fd);
	return err;
}

int folder_rename(struct folder *f, const char *out, int rank, const struct journal_owner *me)
{
	char name[NAME_MAX + 1], path[sizeof(f->path)];
	const char *from = strrchr(f->path, '/') + 1;
	int err = -EEXIST, dir = open_output(out);

	if (dir < 0)
		return dir;
	if (!is_at(dir, from, f->dir.fd)) {
		close(dir);
		return -ENOENT;
	}
	for (int second = 0; second < 2 && err == -EEXIST; second++) {
		err = format_rank_name(name, sizeof(name), rank, me, second);
		if (!err)
			err = write_path(path, sizeof(path), out, name);
		for (int tries = 0; !err && tries < 8; tries++) {
			err = rename_to_new(dir, from, name);
			if (!err) {
				memcpy(f->path, path, sizeof(path));
				close(dir);
				return 0;
			}
			if (err == -ENOTEMPTY || err == -EEXIST)
				err = free_folder_name(dir, name, me);
		}
		if (!err)
			err = -EEXIST;
	}
	close(dir);
	return err;
}

int folder_reopen(struct folder *f)
{
	struct io_kept now;
	int fd;

	if (io_kept_is_same(&f->dir, NULL))
		return 0;
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	io_kept_set(&now, fd);
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
