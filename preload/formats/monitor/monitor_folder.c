/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/monitor/monitor_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "config/rooms/files.h"
#include "config/rooms/monitor.h"
#include "config/rooms/steps.h"
#include "journal/meta_part.h"
#include "folder/folder_mark.h"
#include "formats/monitor/monitor_owner.h"
#include "formats/monitor/monitor_row.h"
#include "sink/split_steps.h"

#define TAG 'm' /* tag of the folder (sink/places.h) */
#define FOLDERS_MAX 10000

void format_monitor_folder(const struct files *f, bool v2, int32_t rank_of, char *buf, size_t cap)
{
	static const char months[12][4] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	const struct journal_head *h = f->j->head;
	const struct config *c = f->cfg;
	const char *base =
		c && *get_monitor_keys(c)->monitor_dir ? get_monitor_keys(c)->monitor_dir : NULL;
	/* As in msprobe, in the time of Shanghai, which has had a fixed offset since 1991. */
	time_t at = (time_t)(h->clock.real_ns / 1000000000) + 8 * 3600;
	uint64_t id = hash_str(hash_str(h->owner.start_time, h->owner.host), h->owner.boot_id);
	char rank[32];
	const char *key;
	struct tm t;

	id = hash_u64(hash_u64(id, h->owner.pid_ns), (uint64_t)h->owner.pid);
	id ^= id >> 32;
	gmtime_r(&at, &t);
	key = journal_dict_get(f->j, DICT_META, META_MONITOR);
	if (key) {
		/*
		 * The name stored in the journal, of an earlier run's folder or of another one;
		 * as JSON, without characters to escape.
		 */
		snprintf(buf, cap, "%s%s/%s",
			base ? base
			: c  ? get_files_keys(c)->output_dir
			     : ".",
			base ? "" : "/monitor", key + strlen(key) + 2);
		buf[strcspn(buf, "\"")] = 0;
		return;
	}
	if (rank_of >= 0)
		snprintf(rank, sizeof(rank), "rank%d", rank_of);
	else
		snprintf(rank, sizeof(rank), "pid%lld", (long long)h->owner.pid);
	if (v2)
		snprintf(buf, cap, "%s%s/%s%s",
			base ? base
			: c  ? get_files_keys(c)->output_dir
			     : ".",
			base ? "" : "/monitor", rank_of >= 0 ? "rank_" : "",
			rank_of >= 0 ? rank + 4 : rank);
	else
		snprintf(buf, cap, "%s%s/%s%02d_%02d-%02d-%02d-%s-%08x",
			base ? base
			: c  ? get_files_keys(c)->output_dir
			     : ".",
			base ? "" : "/monitor", months[t.tm_mon], t.tm_mday, t.tm_hour, t.tm_min,
			t.tm_sec, rank, (unsigned)id);
}

/* True if the process of this journal has written into the folder. */
static bool is_own_monitor_folder(const struct files *f)
{
	const struct journal_commit *c = journal_get_commit(
		f->j, atomic_load_explicit(&f->j->head->commit_seq, memory_order_relaxed));

	for (int i = 0; i < JOURNAL_FILES; i++)
		if (c->file[i].path[0] == TAG && c->file[i].path[1] == ':')
			return true;
	return false;
}

/*
 * True if the process of this journal was killed after it had made the folder, and before the
 * journal named a file in it: the files in it are empty.
 */
static bool has_made_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	char path[JOURNAL_PATH_MAX];
	bool made;
	int fd;

	if (!f->j->left || f->from_files)
		return false;
	format_monitor_folder(f, v2, rank, path, sizeof(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	made = fd >= 0 && was_made_by(fd, f->j);
	if (fd >= 0)
		close(fd);
	return made;
}

/* ---- continuing in an earlier run's folder ---- */

/*
 * Returns the seconds since the first of January for "Dec03_21-34-40" at the start of s; -1: not
 * such a time.
 */
static int64_t read_folder_time(const char *s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	static const int days[] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
	unsigned day, hour, minute, second;
	char month[4] = "";
	const char *at;

	if (sscanf(s, "%3[A-Za-z]%2u_%2u-%2u-%2u", month, &day, &hour, &minute, &second) != 5)
		return -1;
	at = strlen(month) == 3 ? strstr(months, month) : NULL;
	if (!at || (at - months) % 3)
		return -1;
	return ((int64_t)(days[(at - months) / 3] + (int)day - 1) * 24 + hour) * 3600 +
	       minute * 60 + second;
}

/* between: two times, one per line, "": no limits. The range may span the end of a year. */
static bool was_made_between(const char *name, const char *between)
{
	const char *second = strchr(between, '\n');
	int64_t from = read_folder_time(between), to = second ? read_folder_time(second + 1) : -1,
		at = read_folder_time(name);

	if (at < 0 || !*between)
		return at >= 0;
	if (from < 0 || to < 0)
		return false;
	return from <= to ? at >= from && at <= to : at >= from || at <= to;
}

static bool is_folder_of_rank(const char *name, int32_t rank)
{
	const char *at = strstr(name, "-rank");
	unsigned hex;
	int of, n = 0;

	return at && sscanf(at, "-rank%d-%8x%n", &of, &hex, &n) == 2 && n && !at[n] && of == rank;
}

/* A folder of an earlier run, in which this run continues. */
struct earlier_monitor {
	char name[64]; /* "": none */
	struct timespec changed;
	/* a folder for which it cannot be decided whether its owner lives; "": none */
	char unsure[64];
};

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec >= b->tv_nsec;
}

static enum monitor_use find_monitor_use(int dirfd, const char *name, const struct journal *mine)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	enum monitor_use use = fd < 0 ? MONITOR_UNJUDGED : find_monitor_folder_use(fd, mine);

	if (fd >= 0)
		close(fd);
	return use;
}

/* Finds the newest matching folder that is not in use. */
static void find_earlier_folder(
	const struct files *f, const char *base, int32_t rank, struct earlier_monitor *found)
{
	DIR *d = opendir(base);
	struct stat st;

	*found = (struct earlier_monitor){.name = ""};
	for (struct dirent *e; d && (e = readdir(d));) {
		enum monitor_use use;

		if (!is_folder_of_rank(e->d_name, rank) ||
			!was_made_between(e->d_name, get_files_keys(f->cfg)->append_between) ||
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
			strlen(e->d_name) >= sizeof(found->name) ||
			(*found->name && !is_newer(&st.st_mtim, &found->changed)))
			continue;
		use = find_monitor_use(dirfd(d), e->d_name, f->j);
		if (use == MONITOR_UNJUDGED)
			snprintf(found->unsure, sizeof(found->unsure), "%s", e->d_name);
		if (use != MONITOR_LEFT)
			continue;
		found->changed = st.st_mtim;
		snprintf(found->name, sizeof(found->name), "%s", e->d_name);
	}
	if (d)
		closedir(d);
}

/* True if another job has rank<R> of this output folder: this folder may be that job's. */
static bool is_second_folder(const struct files *f)
{
	char self[64], path[JOURNAL_PATH_MAX];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->dirfd);
	n = readlink(self, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;

	const char *slash = strrchr(path, '/');

	return slash && strstr(slash, "-pid");
}

/* Makes the first <path>.<n> that does not exist. Returns a descriptor, or -errno. */
static int add_next_folder(const char *path)
{
	char next[JOURNAL_PATH_MAX + 16];

	for (unsigned n = 1; n < FOLDERS_MAX; n++) {
		int fd;

		snprintf(next, sizeof(next), "%s.%u", path, n);
		if (mkdir(next, IO_FOLDER_MODE) < 0) {
			if (errno != EEXIST)
				return -errno;
			continue;
		}
		fd = open(next, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

/* Moves rows of steps that run again to <path>.<n>, which is only made if there are such rows. */
static int handle_repeated_rows(int from, const char *path, uint32_t first)
{
	char made[64], name[JOURNAL_PATH_MAX + 16];
	struct split_steps done;
	int to = add_next_folder(path), err;
	ssize_t n;

	err = to < 0 ? to : move_steps(from, to, first, &done);
	if (to >= 0) {
		snprintf(made, sizeof(made), "/proc/self/fd/%d", to);
		n = readlink(made, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		rmdir(name);
		close(to);
	}
	return err;
}

/*
 * Takes the folder for this process, after moving away the rows that it will write again. Returns
 * 0, -EBUSY (in use), or -errno.
 */
static int open_monitor_folder(const struct files *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = write_monitor_owner(fd, f->j);
	if (!err) {
		err = handle_repeated_rows(
			fd, path, (uint32_t)get_steps_keys(f->cfg)->start_iteration);
		if (err)
			remove_monitor_owner(fd, f->j);
	}
	close(fd);
	return err;
}

/*
 * Writes the folder's name into the journal, because it cannot be computed from the journal.
 * name: without characters to escape.
 */
static int write_monitor_name(const struct files *f, const char *name)
{
	char part[96];
	int n = snprintf(part, sizeof(part), "monitor_folder%c\"%s\"", 0, name);

	return n < (int)sizeof(part)
		       ? journal_dict_add(f->j, DICT_META, META_MONITOR, part, (size_t)n + 1)
		       : -ENAMETOOLONG;
}

static void tell_of_unjudged(const char *name)
{
	log_loss(LOSS_FOLDER,
		"append_output: the monitor's folder %s may be in use on another host, or "
		"lacks rows that are in a journal: this run gets a folder of its own; run "
		"probe recover on that run's output",
		name);
}

/* Continues in the folder of an earlier run. Returns 1, 0 if there is none, or -errno. */
static int open_resumed_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	const struct config *c = f->cfg;
	struct earlier_monitor found;
	char path[JOURNAL_PATH_MAX], *end;
	struct stat st;
	int err;

	if (!c || !get_files_keys(c)->append_output || rank < 0 || f->j->kind == JK_MEMORY ||
		f->j->left || f->from_files || is_second_folder(f))
		return 0;
	format_monitor_folder(f, v2, rank, path, sizeof(path));
	if (!v2) {
		end = strrchr(path, '/');
		*end = 0;
		find_earlier_folder(f, path, rank, &found);
		if (*found.unsure && !*found.name)
			tell_of_unjudged(found.unsure);
		if (!*found.name)
			return 0;
		*end = '/';
		snprintf(end + 1, sizeof(path) - (size_t)(end + 1 - path), "%s", found.name);
	} else if (lstat(path, &st) < 0) {
		return 0;
	}
	err = open_monitor_folder(f, path);
	if (!err && !v2)
		err = write_monitor_name(f, found.name);
	return err ? err : 1;
}

/* Moves existing files to <path>.<n>. Returns -EEXIST if they could not be moved. */
static int rename_monitor_folder_files(const char *path)
{
	char old[JOURNAL_PATH_MAX + 16];
	struct stat st;

	for (unsigned n = 1; n < FOLDERS_MAX; n++) {
		snprintf(old, sizeof(old), "%s.%u", path, n);
		if (lstat(old, &st) < 0)
			return rename(path, old) < 0 ? -errno : 0;
	}
	return -EEXIST;
}

/*
 * In the second version all jobs use the same name for a rank. If a living process uses the
 * folder, this run uses another name.
 */
static int set_second_monitor_name(const struct files *f, const char *path)
{
	char name[64];
	int n = snprintf(name, sizeof(name), "%s-pid%lld", strrchr(path, '/') + 1,
		(long long)f->j->head->owner.pid);

	return n < (int)sizeof(name) ? write_monitor_name(f, name) : -ENAMETOOLONG;
}

/*
 * Makes the rank's path free: files of an earlier run are moved to <name>.<n>. If a living process
 * uses them, this run gets another name (second version). Returns 0 or -errno; -EEXIST: neither is
 * possible.
 */
static int handle_earlier_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	char path[JOURNAL_PATH_MAX];
	int fd, mark, err;
	struct stat st;

	format_monitor_folder(f, v2, rank, path, sizeof(path));
	if (lstat(path, &st) < 0)
		return 0;
	/* For a tool that makes the files later: existing files are never overwritten. */
	if (f->j->kind == JK_MEMORY && !v2)
		return -EEXIST;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || f->j->kind == JK_MEMORY || f->j->left || f->from_files) {
		if (fd >= 0)
			close(fd);
		return rename_monitor_folder_files(path);
	}
	mark = mark_folder(fd);
	if (mark < 0 || find_monitor_folder_use(fd, f->j) != MONITOR_LEFT)
		err = v2 ? set_second_monitor_name(f, path) : -EEXIST;
	else
		err = rename_monitor_folder_files(path);
	if (mark >= 0)
		unmark_folder(fd, mark);
	close(fd);
	return err;
}

int init_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	int resumed = is_own_monitor_folder(f) || has_made_monitor_folder(f, v2, rank)
			      ? 1
			      : open_resumed_monitor_folder(f, v2, rank);

	/* If this run does not continue in an earlier run's folder, it gets a new one. */
	return resumed > 0 ? 0 : handle_earlier_monitor_folder(f, v2, rank);
}

int init_ranks_monitor_folder(const struct files *f, int32_t rank)
{
	return is_own_monitor_folder(f) ? handle_earlier_monitor_folder(f, true, rank)
					: init_monitor_folder(f, true, rank);
}
