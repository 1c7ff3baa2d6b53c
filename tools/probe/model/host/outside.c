/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/host/outside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/journal.h"
#include "journal/segment.h"
#include "tools/lib/tool.h"

/* s; a process may take this long between creating a journal and filling in its head */
#define BLANK_S 60

static bool may_see(uid_t uid)
{
	return geteuid() == 0 || uid == geteuid();
}

static bool is_old(int64_t made)
{
	return time(NULL) - made > BLANK_S;
}

static void add_outside_journal(
	struct outside_list *l, const char *path, uint64_t bytes, int64_t made)
{
	struct outside o = {.bytes = bytes};
	struct journal j;
	int err = journal_open(&j, AT_FDCWD, path, true);

	o.blank = err == -ENODATA && is_old(made);
	if (err && !o.blank)
		return;
	if (!err) {
		o.owner = j.head->owner;
		o.folder = tool_strdup(j.head->folder);
		journal_close(&j);
	} else {
		o.folder = tool_strdup("");
	}
	o.path = tool_strdup(path);
	TOOL_GROW(l->at, l->n, l->cap);
	l->at[l->n++] = o;
}

/*
 * Parses a line of the kernel's list of segments: key, id, ..., resident memory (bytes),
 * swapped-out memory. A segment is created with the maximum size of its journal, but occupies only
 * the memory that was touched.
 */
static bool parse_segment_line(const char *line, struct segment *s, uint64_t *taken)
{
	unsigned long rss, swap;
	int key;

	if (sscanf(line, "%d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &key,
		    &s->id, &rss, &swap) != 4)
		return false;
	s->key = (uint32_t)key;
	*taken = (uint64_t)rss + swap;
	return true;
}

/*
 * Returns the bytes of memory that a segment occupies; 0 if none, or if the kernel does not report
 * it.
 */
static uint64_t segment_bytes_taken(const struct segment *which)
{
	FILE *f = fopen("/proc/sysvipc/shm", "re");
	char *line = NULL;
	size_t cap = 0;
	uint64_t taken, bytes = 0;
	struct segment s;

	while (f && !bytes && getline(&line, &cap, f) > 0)
		if (parse_segment_line(line, &s, &taken) && s.id == which->id &&
			s.key == which->key)
			bytes = taken;
	free(line);
	if (f)
		fclose(f);
	return bytes;
}

static void find_segments(struct outside_list *l)
{
	FILE *f = fopen("/proc/sysvipc/shm", "re");
	char *line = NULL, path[SEGMENT_PATH_MAX];
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0) {
		struct segment_state state;
		struct segment s;
		uint64_t taken;

		if (!parse_segment_line(line, &s, &taken))
			continue;
		if ((s.key & SEGMENT_KEY_MASK) != SEGMENT_KEY ||
			segment_read_state(&s, &state) < 0 || !may_see(state.uid))
			continue;
		segment_format_path(&s, path);
		add_outside_journal(l, path, taken, state.made);
	}
	free(line);
	if (f)
		fclose(f);
}

static bool is_named_so(const char *name)
{
	size_t n = strlen(name), end = strlen(".journal");

	return strncmp(name, "libprobe-", 9) == 0 && n > 9 + end &&
	       strcmp(name + n - end, ".journal") == 0;
}

static bool has_outside_journal(const struct outside_list *l, const char *path)
{
	for (unsigned i = 0; i < l->n; i++)
		if (strcmp(l->at[i].path, path) == 0)
			return true;
	return false;
}

static void find_files(struct outside_list *l, const char *dir)
{
	char *full = dir && dir[0] == '/' ? realpath(dir, NULL) : NULL;
	DIR *d = full ? opendir(full) : NULL;
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));) {
		char *path;

		if (!is_named_so(e->d_name) ||
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode) || !may_see(st.st_uid))
			continue;
		path = tool_format("%s/%s", full, e->d_name);
		if (!has_outside_journal(l, path))
			add_outside_journal(l, path, (uint64_t)st.st_size, st.st_mtime);
		free(path);
	}
	if (d)
		closedir(d);
	free(full);
}

void outside_find(struct outside_list *l, char *const *dirs, unsigned ndirs)
{
	*l = (struct outside_list){0};
	find_segments(l);
	find_files(l, "/dev/shm");
	find_files(l, getenv("PROBE_JOURNAL_DIR"));
	for (unsigned i = 0; i < ndirs; i++)
		find_files(l, dirs[i]);
}

void outside_free(struct outside_list *l)
{
	for (unsigned i = 0; i < l->n; i++) {
		free(l->at[i].path);
		free(l->at[i].folder);
	}
	free(l->at);
}

char *outside_of(const struct journal_owner *o)
{
	struct outside_list l;
	char *path = NULL;

	outside_find(&l, NULL, 0);
	for (unsigned i = 0; i < l.n && !path; i++)
		if (!l.at[i].blank && owner_same(&l.at[i].owner, o))
			path = tool_strdup(l.at[i].path);
	outside_free(&l);
	return path;
}

int outside_user(const char *path, uid_t *uid)
{
	struct segment_state state;
	struct segment s;
	struct stat st;

	if (segment_parse(path, &s)) {
		int err = segment_read_state(&s, &state);

		*uid = state.uid;
		return err;
	}
	if (lstat(path, &st) < 0)
		return -errno;
	*uid = st.st_uid;
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

uint64_t outside_bytes(const char *path)
{
	struct segment s;
	struct stat st;

	if (segment_parse(path, &s))
		return segment_bytes_taken(&s);
	return lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_blocks * 512;
}

static int open_outside_file(const char *path)
{
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/*
 * Determines from the owner's lock on the file whether the owner runs. Only possible on the same
 * kernel.
 */
static enum owner_life sign_of_lock(const char *path, const struct journal_owner *o)
{
	enum owner_life life = OWNER_UNKNOWN;
	struct journal j;
	int fd;

	if (journal_open(&j, AT_FDCWD, path, true))
		return OWNER_UNKNOWN;

	bool locked = owner_same(&j.head->owner, o) && j.head->locked;

	journal_close(&j);
	fd = locked ? open_outside_file(path) : -1;
	if (fd < 0)
		return OWNER_UNKNOWN;
	/* A shared lock, so that several readers do not mistake each other for the owner. */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		life = OWNER_DEAD;
	else if (errno == EWOULDBLOCK)
		life = OWNER_LIVES;
	close(fd);
	return life;
}

enum owner_life outside_sign(const char *path, const struct journal_owner *o, uint32_t mine)
{
	struct segment_state state;
	struct journal_owner me;
	struct segment s;

	if (segment_parse(path, &s)) {
		if (segment_read_state(&s, &state) < 0)
			return OWNER_UNKNOWN;
		return state.attached > mine ? OWNER_LIVES : OWNER_DEAD;
	}
	owner_self(&me);
	if (!path[0] || !me.boot_id[0] || strcmp(me.boot_id, o->boot_id))
		return OWNER_UNKNOWN;
	return sign_of_lock(path, o);
}

int outside_remove(const char *path)
{
	struct segment s;
	struct stat here, there;
	int fd, err = -EBUSY;

	if (segment_parse(path, &s))
		return segment_remove(&s);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* A file system without such locks cannot show an owner. */
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
		err = -ENOENT;
		if (fstat(fd, &here) == 0 && lstat(path, &there) == 0 && S_ISREG(here.st_mode) &&
			here.st_ino == there.st_ino && here.st_dev == there.st_dev)
			err = unlink(path) < 0 ? -errno : 0;
	}
	close(fd);
	return err;
}
