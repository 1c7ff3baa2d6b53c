/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/monitor_folder.h"

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
#include "journal/meta_part.h"
#include "sink/monitor_row.h"
#include "sink/split_steps.h"

#define TAG 'm' /* of the place */
#define FOLDERS_MAX 10000

void name_monitor_folder(const struct files *f, bool v2, int32_t rank_of, char *buf, size_t cap)
{
	static const char months[12][4] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	const struct journal_head *h = f->j->head;
	const struct config *c = f->cfg;
	const char *base = c && *c->monitor_dir ? c->monitor_dir : NULL;
	/* As there, in the time of Shanghai, which has had no other but this since 1991. */
	time_t at = (time_t)(h->clock.real_ns / 1000000000) + 8 * 3600;
	uint64_t id = hash_str(hash_str(h->owner.start_time, h->owner.host), h->owner.boot_id);
	char rank[32];
	const char *key;
	struct tm t;

	id = hash_u64(hash_u64(id, h->owner.pid_ns), (uint64_t)h->owner.pid);
	id ^= id >> 32;
	gmtime_r(&at, &t);
	if (!v2 && (key = journal_dict_get(f->j, DICT_META, META_MONITOR))) {
		/* An earlier run's, as JSON: a name without anything to be escaped. */
		snprintf(buf, cap, "%s%s/%s",
			base ? base
			: c  ? c->output_dir
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
			: c  ? c->output_dir
			     : ".",
			base ? "" : "/monitor", rank_of >= 0 ? "rank_" : "",
			rank_of >= 0 ? rank + 4 : rank);
	else
		snprintf(buf, cap, "%s%s/%s%02d_%02d-%02d-%02d-%s-%08x",
			base ? base
			: c  ? c->output_dir
			     : ".",
			base ? "" : "/monitor", months[t.tm_mon], t.tm_mday, t.tm_hour, t.tm_min,
			t.tm_sec, rank, (unsigned)id);
}

/* Has this journal's process written into the folder? */
static bool owns_monitor_folder(const struct files *f)
{
	const struct journal_commit *c = journal_commit(
		f->j, atomic_load_explicit(&f->j->head->commit_seq, memory_order_relaxed));

	for (int i = 0; i < JOURNAL_FILES; i++)
		if (c->file[i].path[0] == TAG && c->file[i].path[1] == ':')
			return true;
	return false;
}

/* ---- going on in an earlier run's ---- */

/* Seconds since the first of January, of "Dec03_21-34-40" at the start of a text. -1: it is no such time. */
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

/* between: two times, a line each, "": any. The year's end may lie between them. */
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

/* The newest that fits. False: there is none. */
static bool find_earlier_folder(
	const char *base, int32_t rank, const char *between, char *name, size_t cap)
{
	struct timespec newest = {0};
	DIR *d = opendir(base);
	bool found = false;
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));) {
		if (!is_folder_of_rank(e->d_name, rank) || !was_made_between(e->d_name, between) ||
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || strlen(e->d_name) >= cap)
			continue;
		if (found && (st.st_mtim.tv_sec < newest.tv_sec ||
				     (st.st_mtim.tv_sec == newest.tv_sec &&
					     st.st_mtim.tv_nsec < newest.tv_nsec)))
			continue;
		found = true;
		newest = st.st_mtim;
		snprintf(name, cap, "%s", e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

/* Another job has rank<R> of this output folder: what is here may be its. */
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

/* The first <path>.<n> that is not there; a descriptor of it, or -errno. */
static int make_next_folder(const char *path)
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

/* Rows of steps that run again move to <path>.<n>, which is there only if there are any. */
static int take_rows_out(const char *path, uint32_t first)
{
	char made[64], name[JOURNAL_PATH_MAX + 16];
	struct split_steps done;
	int from = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), to, err;
	ssize_t n;

	if (from < 0)
		return -errno;
	to = make_next_folder(path);
	err = to < 0 ? to : split_steps(from, to, first, &done);
	if (to >= 0) {
		snprintf(made, sizeof(made), "/proc/self/fd/%d", to);
		n = readlink(made, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		rmdir(name);
		close(to);
	}
	close(from);
	return err;
}

/* 1: this run goes on in one; 0: there is none; -errno. */
static int resume_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	const struct config *c = f->cfg;
	char path[JOURNAL_PATH_MAX], name[64], part[96], *end;
	struct stat st;
	int err;

	if (!c || !c->append_output || rank < 0 || f->j->kind == JK_MEMORY || f->j->left ||
		f->from_files || is_second_folder(f))
		return 0;
	name_monitor_folder(f, v2, rank, path, sizeof(path));
	if (!v2) {
		end = strrchr(path, '/');
		*end = 0;
		if (!find_earlier_folder(path, rank, c->append_between, name, sizeof(name)))
			return 0;
		*end = '/';
		snprintf(end + 1, sizeof(path) - (size_t)(end + 1 - path), "%s", name);
	} else if (lstat(path, &st) < 0) {
		return 0;
	}
	err = take_rows_out(path, (uint32_t)c->start_iteration);
	if (!err && !v2) {
		int n = snprintf(part, sizeof(part), "monitor_folder%c\"%s\"", 0, name);

		err = journal_dict_add(f->j, DICT_META, META_MONITOR, part, (size_t)n + 1);
	}
	return err ? err : 1;
}

/* What an earlier run has left under the name moves to <name>.<n>. -EEXIST: it stays there. */
static int clear_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	char path[JOURNAL_PATH_MAX], old[JOURNAL_PATH_MAX + 16];
	struct stat st;

	name_monitor_folder(f, v2, rank, path, sizeof(path));
	if (lstat(path, &st) < 0)
		return 0;
	/* Written from files afterwards: never over what is there. */
	if (f->j->kind == JK_MEMORY && !v2)
		return -EEXIST;
	for (unsigned n = 1; n < FOLDERS_MAX; n++) {
		snprintf(old, sizeof(old), "%s.%u", path, n);
		if (lstat(old, &st) < 0)
			return rename(path, old) < 0 ? -errno : 0;
	}
	return -EEXIST;
}

int begin_monitor_folder(const struct files *f, bool v2, int32_t rank)
{
	int resumed = owns_monitor_folder(f) ? 1 : resume_monitor_folder(f, v2, rank);

	/* Where it cannot be gone on in, this run has one of its own. */
	return resumed > 0 ? 0 : clear_monitor_folder(f, v2, rank);
}
