/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/recover/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/segment.h"
#include "folder/opened.h"
#include "folder/owner.h"
#include "tools/probe/model/host/rank_owner.h"
#include "tools/probe/model/host/outside.h"
#include "tools/probe/recover/recover_struct.h"
#include "writer/complete.h"

#define META_LEAD 16384

static void set_recover_error(struct recover_info *r, const char *object, int err)
{
	r->result = RECOVER_FAILED;
	if (err == -EPROTO)
		snprintf(r->why, sizeof(r->why),
			"%s: written by another version of libprobe; use the probe command of that "
			"version",
			object);
	else if (err == -ENODATA)
		snprintf(r->why, sizeof(r->why),
			"%s: empty: its process was killed before it recorded a call, or "
			"has just started",
			object);
	else if (err == -EINVAL)
		snprintf(r->why, sizeof(r->why), "%s: not a journal, or its header is damaged",
			object);
	else if (err == -EPERM)
		snprintf(r->why, sizeof(r->why),
			"%s: not used: it belongs to another user than the folder, or has a second "
			"name",
			object);
	else
		snprintf(r->why, sizeof(r->why), "%s: %s", object, io_error_text(err));
}

/* Where a journal is. The file that is deleted at the end must be the one that was examined. */
struct place {
	int dir; /* its folder */
	const char *name; /* its name in this folder */
	int fd; /* the journal itself; -1: a shared memory segment */
	struct stat st;
};

static void close_place(struct place *p, int dirfd)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->dir >= 0 && p->dir != dirfd)
		close(p->dir);
	p->fd = p->dir = -1;
}

/* Opens the journal, if it is a regular file of the folder's owner and has no second name. */
static int open_place(struct journal *j, struct place *p, int dirfd)
{
	struct stat folder;
	char self[64];
	int err = 0;

	p->fd = journal_open_file(p->dir, p->name, O_NOFOLLOW);
	if (p->fd < 0)
		return p->fd;
	if (fstat(dirfd, &folder) < 0 || fstat(p->fd, &p->st) < 0)
		err = -errno;
	else if (p->st.st_uid != folder.st_uid || p->st.st_nlink > 1)
		err = -EPERM;
	if (!err) {
		/* Examines the open descriptor: the name may refer to another file by now. */
		snprintf(self, sizeof(self), "/proc/self/fd/%d", p->fd);
		err = journal_open(j, AT_FDCWD, self, false);
	}
	return err;
}

static void remove_journal_file(const struct place *p)
{
	struct stat st;

	if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == p->st.st_dev &&
		st.st_ino == p->st.st_ino)
		unlinkat(p->dir, p->name, 0);
}

/* Opens a segment that belongs to the folder's owner. */
static int open_own_segment(struct journal *j, int dirfd, const char *path)
{
	struct stat st;
	uid_t uid;
	int err = outside_user(path, &uid);

	if (err)
		return err;
	if (fstat(dirfd, &st) < 0 || st.st_uid != uid)
		return -EPERM;
	return journal_open(j, AT_FDCWD, path, false);
}

/*
 * Opens a journal outside the folder. Meanwhile its path may be that of another process's journal (the
 * folder was moved, the job started again), or of any file of another user. So the journal must have
 * the expected owner process, and belong to the user who owns the folder.
 */
static int open_outside(struct journal *j, struct place *p, int dirfd, char *path,
	const struct journal_owner *owner)
{
	struct segment s;
	char *slash = strrchr(path, '/');
	int err;

	close_place(p, dirfd);
	*p = (struct place){.dir = -1, .name = path, .fd = -1};
	if (segment_parse(path, &s)) {
		err = open_own_segment(j, dirfd, path);
	} else if (path[0] != '/') {
		return -ENOENT;
	} else {
		*slash = 0;
		p->name = slash + 1;
		p->dir = open(slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = p->dir < 0 ? -errno : 0;
		*slash = '/';
		if (!err)
			err = open_place(j, p, dirfd);
	}
	if (!err && !owner_same(&j->head->owner, owner)) {
		journal_close(j);
		err = -ENOENT;
	}
	return err;
}

/*
 * Finds and opens the journal: in the folder, or at the path in meta.json. If that path was not written
 * (the process was killed, or the disk was full), searches this host for it. Returns 0 or -errno.
 */
static int open_journal(
	struct journal *j, int dirfd, char *path, size_t cap, struct place *p, bool *found)
{
	char meta[META_LEAD], state[16], *other;
	struct journal_owner owner;
	ssize_t n;
	int err;

	*p = (struct place){.dir = dirfd, .name = "journal.bin"};
	err = open_place(j, p, dirfd);
	snprintf(path, cap, "journal.bin");
	if (err != -ENOENT)
		return err;
	n = io_read_file(dirfd, "meta.json", meta, sizeof(meta) - 1);
	if (n < 0)
		return -ENOENT;
	meta[n] = 0;
	meta_string(meta, "state", state, sizeof(state));
	meta_string(meta, "journal_path", path, cap);
	if (strcmp(state, "running") || owner_parse(meta, &owner) < 0)
		return -ENOENT;
	err = path[0] ? open_outside(j, p, dirfd, path, &owner) : -ENOENT;
	if (err != -ENOENT)
		return err;
	other = outside_of(&owner);
	if (!other)
		return err;
	snprintf(path, cap, "%s", other);
	free(other);
	*found = true;
	return open_outside(j, p, dirfd, path, &owner);
}

/* Returns whether the owner runs. dirfd: the open folder, which gives the journal's present path. */
static enum owner_life find_owner_life(const struct journal_head *h, int dirfd, const char *path)
{
	uint32_t state = atomic_load(&h->state);
	char here[64];

	if (state == JS_FINISHED || state == JS_RECOVERED)
		return OWNER_DEAD;
	if (strcmp(path, "journal.bin"))
		return recover_owner_life(&h->owner, h->journal_path, path, 1);
	snprintf(here, sizeof(here), "/proc/self/fd/%d/journal.bin", dirfd);
	return recover_owner_life(&h->owner, h->journal_path, here, 1);
}

static void record_possibly_alive(struct recover_info *r, enum owner_life life)
{
	r->result = RECOVER_LIVES;
	if (life == OWNER_UNKNOWN)
		snprintf(r->why, sizeof(r->why),
			"its process (%s) cannot be seen from here; run this on that host, or with "
			"--force if it is gone",
			r->owner);
	else
		snprintf(r->why, sizeof(r->why), "its process (%s) is running", r->owner);
}

/*
 * Removes the empty journal of a process that has ended. It has no rows, but occupies its full size.
 */
static bool remove_empty_journal(int dirfd, const struct place *p, struct recover_info *r)
{
	char meta[META_LEAD], here[64];
	struct journal_owner owner;
	ssize_t n = io_read_file(dirfd, "meta.json", meta, sizeof(meta) - 1);

	if (n < 0 || p->fd < 0)
		return false;
	meta[n] = 0;
	snprintf(here, sizeof(here), "/proc/self/fd/%d", p->fd);
	/*
	 * A process locks its journal a moment after it creates it, so an unlocked journal may be new.
	 * Only meta.json can show that the owner has ended.
	 */
	if (owner_parse(meta, &owner) < 0 ||
		recover_owner_life(&owner, here, here, 1) != OWNER_DEAD)
		return false;
	remove_journal_file(p);
	r->result = RECOVER_DONE;
	return true;
}

/*
 * Removes drafts of meta.json (preload/folder/folder.c) that processes left which were killed while they took the folder.
 * A draft whose process may run stays: it is about to be linked.
 */
static void remove_drafts(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char meta[META_LEAD];
	struct journal_owner owner;
	ssize_t n;

	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, "meta.json.", 10) || strlen(e->d_name) != 26 ||
			strspn(e->d_name + 10, "0123456789abcdef") != 16)
			continue;
		n = io_read_file(dirfd, e->d_name, meta, sizeof(meta) - 1);
		meta[n < 0 ? 0 : n] = 0;
		if (owner_parse(meta, &owner) == 0 &&
			recover_owner_life(&owner, "", "", 0) == OWNER_DEAD)
			unlinkat(dirfd, e->d_name, 0);
	}
	if (d)
		closedir(d);
}

/*
 * Describes a folder without a journal. Its process may run: it has not created its journal yet, or writes its files without
 * one (full disk). Or it has finished, or was killed before it had a journal, or its journal was lost.
 */
static void set_reason_without_journal(int dirfd, bool force, struct recover_info *r)
{
	char meta[META_LEAD], state[16], path[JOURNAL_PATH_MAX];
	struct journal_owner owner;
	ssize_t n = io_read_file(dirfd, "meta.json", meta, sizeof(meta) - 1);
	enum owner_life life;

	remove_drafts(dirfd);
	if (n == -ENOENT)
		snprintf(r->why, sizeof(r->why),
			"nothing to do: no journal and no meta.json: its process was killed before "
			"it "
			"recorded a call, or has just started, or the file was removed");
	if (n < 0)
		return;
	meta[n] = 0;
	meta_string(meta, "state", state, sizeof(state));
	meta_string(meta, "journal_path", path, sizeof(path));
	if (strcmp(state, "running") || owner_parse(meta, &owner) < 0)
		return;
	life = recover_owner_life(&owner, path, path, 0);
	snprintf(r->owner, sizeof(r->owner), "host %.71s, pid %lld", owner.host,
		(long long)owner.pid);
	if (life != OWNER_DEAD && !(life == OWNER_UNKNOWN && force))
		record_possibly_alive(r, life);
	else if (path[0])
		snprintf(r->why, sizeof(r->why),
			"its journal (%.160s) does not exist any more: rows that were not "
			"yet in the files are lost",
			path);
	else
		snprintf(r->why, sizeof(r->why),
			"nothing to do: its process ended without a journal");
}

static void copy_journal_rows(struct journal *j, int dirfd, const char *path, const struct place *p,
	bool force, struct recover_info *r)
{
	enum owner_life life = find_owner_life(j->head, dirfd, path);
	struct completed done;
	int err;

	snprintf(r->owner, sizeof(r->owner), "host %.71s, pid %lld", j->head->owner.host,
		(long long)j->head->owner.pid);
	if (life == OWNER_LIVES || (life == OWNER_UNKNOWN && !force)) {
		record_possibly_alive(r, life);
		journal_close(j);
		return;
	}
	r->spilled = j->head->spilled;
	err = complete_folder(j, dirfd, UINT32_MAX, &done);
	r->rows = done.rows;
	r->open = done.open;
	r->damaged = done.damaged;
	journal_close(j);
	if (err) {
		set_recover_error(r, "writing", err);
		return;
	}
	r->result = RECOVER_DONE;
	write_recovered_structure(dirfd);
	unlinkat(dirfd, OPENED_FILE, 0);
	if (p->fd >= 0)
		remove_journal_file(p);
	else
		outside_remove(path);
}

void recover_folder(int dirfd, bool force, struct recover_info *r)
{
	struct journal j;
	char path[JOURNAL_PATH_MAX];
	struct place p;

	*r = (struct recover_info){.result = RECOVER_NOTHING};
	/*
	 * Only one `recover` at a time may work here: two would write the same rows. The lock is
	 * released when the caller closes its descriptor.
	 */
	if (flock(dirfd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		r->result = RECOVER_FAILED;
		snprintf(r->why, sizeof(r->why), "another probe recover is working here");
		return;
	}

	int err = open_journal(&j, dirfd, path, sizeof(path), &p, &r->found);

	if (!err)
		copy_journal_rows(&j, dirfd, path, &p, force, r);
	else if (err == -ENOENT)
		set_reason_without_journal(dirfd, force, r);
	else if (err != -ENODATA || !remove_empty_journal(dirfd, &p, r))
		set_recover_error(r, path, err);
	close_place(&p, dirfd);
}
