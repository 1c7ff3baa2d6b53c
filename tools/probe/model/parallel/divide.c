/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/parallel/divide.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/parallel/ahead.h"

#define LOOK_MS 5 /* ms between two checks of the folder, at first */
#define LOOK_MS_MAX 100
struct shares {
	struct division division;
	struct run_readers run;
	struct ahead *ahead; /* threads; NULL: none */
	struct call_source **source; /* by part; part 0 has none. NULL: the report is not divided */
	char *folder; /* folder of partial results, which has to be removed; NULL: none */
	uint64_t key, nonce;
	int fd; /* only in parts other than 0: the stream that this part writes */
};

/*
 * Returns the part that reads the files of rank i. Part 0 joins the calls that the others read,
 * which is half of the work. It reads files of its own only if files are read twice: shares are
 * chosen by the cost of both. Neighbouring ranks go to different parts, because they are similar in
 * size.
 */
static unsigned owner_of_rank(unsigned i, unsigned parts, bool twice)
{
	unsigned each = !twice ? 0 : parts == 2 ? 3 : parts == 3 ? 8 : 0;

	if (each && i % each == 0)
		return 0;
	return 1 + (each ? i - i / each - 1 : i) % (parts - 1);
}

bool division_reads(const struct division *d, unsigned i, bool twice)
{
	return d->parts < 2 || owner_of_rank(i, d->parts, twice) == d->part;
}

/* ---- identification ---- */

static bool parse_count(const char *text, unsigned *out)
{
	char *end;
	unsigned long v = text ? strtoul(text, &end, 10) : 0;

	if (!text || *text < '0' || *text > '9' || *end || v > PARTS_MAX)
		return false;
	*out = (unsigned)v;
	return true;
}

bool division_by_launcher(struct division *d)
{
	static const struct {
		const char *rank, *size;
	} list[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"},
		{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++) {
		unsigned k, n;

		if (!parse_count(getenv(list[i].rank), &k) ||
			!parse_count(getenv(list[i].size), &n) || n < 2 || k >= n)
			continue;
		d->part = k;
		d->parts = n;
		return true;
	}
	return false;
}

bool division_parse(struct division *d, const char *text)
{
	char first[16];
	const char *slash = strchr(text, '/');

	if (!slash || (size_t)(slash - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(slash - text));
	first[slash - text] = 0;
	return parse_count(first, &d->part) && parse_count(slash + 1, &d->parts) && d->parts &&
	       d->part < d->parts;
}

/* A hash of the options that must be the same in all parts. */
static uint64_t key_of_run(const struct division *d, const struct folders *f)
{
	uint64_t h = hash_u64(hash_u64(d->options, f->n), d->parts);

	for (unsigned i = 0; i < f->n; i++)
		h = hash_str(h, f->dir[i].name);
	return h | 1;
}

/* ---- on any hosts ---- */

/*
 * The parts find each other through files in their folder, whose names contain a number that part 0 has drawn: an earlier
 * report that was interrupted may have left some files.
 *
 *	merged-by   contains the number
 *	part-K-X    created by part K to show that it has started; later its stream
 *	go-X        all parts have started, and part 0 runs: begin
 */
static char *lock_path(const char *folder)
{
	return tool_format("%s/merged-by", folder);
}

static char *part_path(const char *folder, unsigned k, uint64_t nonce)
{
	return tool_format("%s/part-%u-%016llx", folder, k, (unsigned long long)nonce);
}

static char *go_path(const char *folder, uint64_t nonce)
{
	return tool_format("%s/go-%016llx", folder, (unsigned long long)nonce);
}

/*
 * The interval grows each time, because the folder may be on a file server, and there may be a
 * thousand parts. The statx() makes the server's client ask again. Otherwise it would not notice a
 * new file for half a minute.
 */
static void wait_for_look(const char *folder, unsigned *ms)
{
	struct statx now;

	nanosleep(&(struct timespec){.tv_nsec = (long)*ms * 1000000}, NULL);
	*ms = *ms * 5 / 4 < LOOK_MS_MAX ? *ms * 5 / 4 : LOOK_MS_MAX;
	statx(AT_FDCWD, folder, AT_STATX_FORCE_SYNC, STATX_MTIME, &now);
}

static double read_steady_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void say_missing(
	const char *folder, unsigned me, unsigned parts, const char *names, bool one)
{
	tool_error("report: part %u of %u: %s %s of %u did not come for %d s: look what its "
		   "process says and whether it sees %s, or start all parts again (--part 0/1: "
		   "this process alone)",
		me, parts, one ? "part" : "parts", names, parts, SOURCE_MISSING_S, folder);
}

/* Writes a small file atomically. */
static int write_whole(const char *path, const void *p, size_t n)
{
	char *begun = tool_format("%s.tmp", path);
	int fd = open(begun, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
	    err = fd < 0 ? -errno : io_write_all(fd, p, n);

	if (fd >= 0 && close(fd) < 0 && !err)
		err = -errno;
	if (!err && rename(begun, path) < 0)
		err = -errno;
	free(begun);
	return err;
}

/* Returns 0 if there is none. */
static uint64_t read_nonce(const char *folder)
{
	char *lock = lock_path(folder);
	int fd = open(lock, O_RDONLY | O_CLOEXEC);
	uint64_t nonce = 0;

	if (fd >= 0 && read(fd, &nonce, sizeof(nonce)) != sizeof(nonce))
		nonce = 0;
	if (fd >= 0)
		close(fd);
	free(lock);
	return nonce;
}

/* Removes the files of the parts of this report and of earlier ones. */
static void remove_parts(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, "part-", 5) == 0 || strncmp(e->d_name, "go-", 3) == 0 ||
			strncmp(e->d_name, "merged-by", 9) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static uint64_t draw_nonce(uint64_t key)
{
	uint64_t h = hash_u64(hash_u64(key, clock_ns(CLOCK_REALTIME)), (uint64_t)getpid());

	return h | 1;
}

static int fail_in_folder(const char *path, int err)
{
	tool_error("report: %s: %s; --parts names a folder for partial results that all hosts "
		   "see and may write into",
		path, strerror(-err));
	return err;
}

static bool has_come_to_folder(const struct shares *s, unsigned k)
{
	char *path = part_path(s->folder, k, s->nonce);
	struct stat st;
	bool there = stat(path, &st) == 0;

	free(path);
	return there;
}

static char *name_missing_parts(const struct shares *s)
{
	char *names = tool_strdup("");

	for (unsigned k = 1; k < s->division.parts; k++) {
		if (has_come_to_folder(s, k))
			continue;
		tool_add_item(&names, ", ", "%u", k);
	}
	return names;
}

/* In part 0: waits for all other parts. Returns false if one did not start (reported). */
static bool gather_parts(struct shares *s, const volatile sig_atomic_t *stop)
{
	char *lock = lock_path(s->folder), *go = go_path(s->folder, s->nonce), *names;
	double changed = read_steady_s();
	unsigned last = UINT_MAX, missing = s->division.parts - 1, look = LOOK_MS,
		 parts = s->division.parts;
	int err;

	remove_parts(s->folder);
	err = write_whole(lock, &s->nonce, sizeof(s->nonce));
	while (!err && !*stop) {
		missing = 0;
		for (unsigned k = 1; k < parts; k++)
			missing += !has_come_to_folder(s, k);
		if (!missing)
			break;
		if (missing != last)
			changed = read_steady_s();
		last = missing;
		if (read_steady_s() - changed > SOURCE_MISSING_S) {
			names = name_missing_parts(s);
			say_missing(s->folder, 0, parts, names, missing == 1);
			free(names);
			break;
		}
		wait_for_look(s->folder, &look);
	}
	if (!err && !missing)
		err = write_whole(go, &s->nonce, sizeof(s->nonce));
	if (err)
		fail_in_folder(s->folder, err);
	free(lock);
	free(go);
	return !err && !missing;
}

/*
 * In another part: creates its file, and waits until part 0 reports that all have started. If the
 * file for a number already exists, that number is an earlier report's. Returns false if part 0 did
 * not start (reported), or after *stop.
 */
static bool join_parts(struct shares *s, const volatile sig_atomic_t *stop)
{
	unsigned me = s->division.part, parts = s->division.parts;
	double changed = read_steady_s();
	unsigned look = LOOK_MS;
	int fd = -1, err = 0;
	bool go = false;

	while (!err && !go && !*stop) {
		uint64_t now = read_nonce(s->folder);
		struct stat st;
		char *path;

		if (now && now != s->nonce) {
			if (fd >= 0)
				close(fd);
			s->nonce = now;
			path = part_path(s->folder, me, now);
			fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
			if (fd < 0 && errno != EEXIST && errno != ENOENT)
				err = fail_in_folder(path, -errno);
			free(path);
			changed = read_steady_s();
		}
		path = go_path(s->folder, s->nonce);
		go = fd >= 0 && stat(path, &st) == 0;
		free(path);
		if (go)
			break;
		if (!err && read_steady_s() - changed > SOURCE_MISSING_S) {
			if (fd < 0)
				say_missing(s->folder, me, parts, "0", true);
			else
				tool_error(
					"report: part %u of %u: part 0 did not start within %d s: "
					"it or another part was not started (see the output of "
					"part 0)",
					me, parts, SOURCE_MISSING_S);
			err = -ETIMEDOUT;
		}
		/* If part 0 ends early, it removes the folder. */
		if (!err && stat(s->folder, &st) < 0)
			mkdir(s->folder, 0777);
		wait_for_look(s->folder, &look);
	}
	s->fd = fd;
	return go;
}

static enum share_result write_part(struct shares *s, const volatile sig_atomic_t *stop)
{
	const struct run_readers *run = &s->run;
	struct calls **own = tool_alloc((run->n + 1) * sizeof(*own));
	unsigned m = 0;
	int err;

	for (unsigned i = 0; i < run->n; i++)
		if (division_reads(&s->division, i, run->twice))
			own[m++] = run->reader[i];
	err = stream_write_calls(s->fd, s->key, own, m, stop);
	if (close(s->fd) < 0 && !err)
		err = -errno;
	s->fd = -1;
	if (err)
		tool_error("report: a part in %s: %s; part 0 will wait for it and not finish: give "
			   "--parts a "
			   "folder with room that all hosts see",
			s->folder, strerror(-err));
	free(own);
	return err ? SHARE_FAILED : SHARE_LEFT;
}

static void open_streams(struct shares *s, const volatile sig_atomic_t *stop)
{
	s->source = tool_alloc(s->division.parts * sizeof(*s->source));
	for (unsigned k = 1; k < s->division.parts; k++)
		s->source[k] =
			call_source_open(part_path(s->folder, k, s->nonce), s->key, s->run.n, stop);
}

static bool meet_parts(struct shares *s, const char *where, const volatile sig_atomic_t *stop)
{
	s->folder = tool_format("%s/report.parts-%016llx", where, (unsigned long long)s->key);
	if (mkdir(s->folder, 0777) < 0 && errno != EEXIST)
		return !fail_in_folder(s->folder, -errno);
	if (s->division.part)
		return join_parts(s, stop);
	s->nonce = draw_nonce(s->key);
	return gather_parts(s, stop);
}

/* ---- both ---- */

/* An ahead_fn. */
static bool next_rank_call(void *shares, uint32_t rank, struct call *out)
{
	struct shares *s = shares;

	return s->run.next(s->run.arg, s, rank, out);
}

struct shares *shares_open(
	const struct division *d, const struct folders *f, const volatile sig_atomic_t *stop)
{
	struct shares *s = tool_alloc(sizeof(*s));

	s->division = *d;
	s->key = key_of_run(d, f);
	s->fd = -1;
	if (d->parts < 2 || meet_parts(s, d->folder ? d->folder : f->folder, stop))
		return s;
	shares_free(s);
	return NULL;
}

enum share_result shares_start(
	struct shares *s, const struct run_readers *run, const volatile sig_atomic_t *stop)
{
	unsigned jobs = s->division.jobs, others = jobs - 1 - (jobs >= JOBS_OF_JOIN);

	s->run = *run;
	if (s->division.parts > 1 && s->division.part)
		return write_part(s, stop);
	if (s->division.parts > 1)
		open_streams(s, stop);
	else if (jobs > 1)
		s->ahead = ahead_begin(
			run->reader, run->n, next_rank_call, s, others < run->n ? others : run->n);
	return SHARE_READ;
}

bool shares_get_next(struct shares *s, uint32_t rank, struct call *out)
{
	return s->ahead ? ahead_next(s->ahead, rank, out) : next_rank_call(s, rank, out);
}

static struct call_source *stream_of_rank(const struct shares *s, uint32_t rank)
{
	return s->source ? s->source[owner_of_rank(rank, s->division.parts, s->run.twice)] : NULL;
}

bool shares_read(struct shares *s, struct calls *reader, struct call *out)
{
	struct call_source *from = stream_of_rank(s, reader->rank);

	return from ? call_source_next(from, reader, out) : calls_read_next(reader, out);
}

uint64_t shares_get_position(const struct shares *s, const struct calls *reader)
{
	return s->ahead ? ahead_done(s->ahead, reader->rank) : calls_get_bytes_read(reader);
}

void shares_free(struct shares *s)
{
	if (!s)
		return;
	for (unsigned k = 1; s->source && k < s->division.parts; k++)
		call_source_close(s->source[k]);
	ahead_end(s->ahead);
	if (s->fd >= 0)
		close(s->fd);
	/* The files in the folder belong to part 0. */
	if (s->folder && !s->division.part)
		remove_parts(s->folder);
	if (s->folder)
		rmdir(s->folder);
	free(s->folder);
	free(s->source);
	free(s);
}
