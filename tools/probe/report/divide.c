/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/divide.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "tools/lib/tool.h"
#include "tools/probe/report/ahead.h"

#define MISSING_S 60 /* a part that has not grown for so long is missing */
#define TOUCH_MS 10000 /* so often who waits shows that its part is of now */
#define LOOK_MS 100

struct shares {
	struct ahead *ahead; /* threads; NULL: `source` */
	struct call_source **source;
	unsigned n;
	char *folder; /* of partial results, to be removed; NULL: there is none */
	unsigned parts;
};

/* Neighbouring ranks go to different processes: they are alike in size. */
static unsigned owner_of_rank(unsigned i, unsigned n)
{
	return i % n;
}

/* ---- who is who ---- */

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

/* What must be the same in all parts. */
static uint64_t key_of_run(const struct division *d, struct calls *const *reader, unsigned n)
{
	uint64_t h = hash_u64(hash_u64(d->options, n), d->parts);

	for (unsigned i = 0; i < n; i++)
		h = hash_str(h, reader[i]->dir->name);
	return h | 1;
}

/* ---- on any hosts ---- */

static char *part_path(const char *folder, unsigned k, const char *suffix)
{
	return tool_format("%s/part-%u%s", folder, k, suffix);
}

/*
 * since: when this part began, by the clock of the file server. What lies there from longer before than anybody waits is of an
 * earlier report that was ended in the middle.
 */
static uint64_t size_of_part(const char *folder, unsigned k, time_t since, bool *done)
{
	char *whole = part_path(folder, k, ""), *begun = part_path(folder, k, ".tmp");
	struct stat st;
	uint64_t size = 0;

	*done = stat(whole, &st) == 0 && st.st_mtime + MISSING_S >= since;
	if (*done || stat(begun, &st) == 0)
		size = (uint64_t)st.st_size + 1;
	free(whole);
	free(begun);
	return size;
}

static int write_part(const char *folder, unsigned part, uint64_t key, struct calls *const *reader,
	unsigned n, unsigned parts, const volatile sig_atomic_t *stop, time_t *since)
{
	char *begun = part_path(folder, part, ".tmp"), *whole = part_path(folder, part, "");
	struct calls **own = tool_alloc((n + 1) * sizeof(*own));
	char *lock = tool_format("%s/merged-by", folder);
	struct stat st;
	unsigned m = 0;
	int fd, err;

	for (unsigned i = 0; i < n; i++)
		if (owner_of_rank(i, parts) == part)
			own[m++] = reader[i];
	/* Of an earlier report that was ended in the middle: in this one nobody puts together what is not there yet. */
	unlink(whole);
	unlink(lock);
	fd = open(begun, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	*since = fd >= 0 && fstat(fd, &st) == 0 ? st.st_mtime : 0;
	err = fd < 0 ? -errno : stream_write_calls(fd, key, own, m, stop);
	if (fd >= 0 && close(fd) < 0 && !err)
		err = -errno;
	if (!err && rename(begun, whole) < 0)
		err = -errno;
	if (err)
		tool_error("report: %s: %s; the other parts wait for it in vain: give --parts a "
			   "folder with "
			   "room that all hosts see",
			begun, strerror(-err));
	free(own);
	free(begun);
	free(whole);
	free(lock);
	return err;
}

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000},
		NULL);
}

static double read_steady_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void touch_part(const char *folder, unsigned k)
{
	char *path = part_path(folder, k, "");

	utimensat(AT_FDCWD, path, NULL, 0);
	free(path);
}

/* Waits until all are there. false: some are missing; said. */
static bool wait_for_parts(const char *folder, unsigned me, unsigned parts, time_t since,
	const volatile sig_atomic_t *stop)
{
	double changed = read_steady_s();
	uint64_t last = UINT64_MAX, waited_ms = 0;

	while (!*stop) {
		uint64_t sum = 0;
		unsigned missing = 0, first = 0;
		struct stat st;
		char *names = NULL, *was;

		/* Another one has merged, and removed it. */
		if (stat(folder, &st) < 0)
			return true;
		for (unsigned k = 0; k < parts; k++) {
			bool done;

			sum += size_of_part(folder, k, since, &done);
			if (!done && !missing++)
				first = k;
		}
		if (!missing)
			return true;
		if (sum != last) {
			last = sum;
			changed = read_steady_s();
		}
		if (read_steady_s() - changed < MISSING_S) {
			if (waited_ms % TOUCH_MS == 0)
				touch_part(folder, me);
			waited_ms += LOOK_MS;
			sleep_ms(LOOK_MS);
			continue;
		}
		for (unsigned k = first; k < parts; k++) {
			bool done;

			size_of_part(folder, k, since, &done);
			if (done)
				continue;
			was = names;
			names = tool_format("%s%s%u", was ? was : "", was ? ", " : "", k);
			free(was);
		}
		tool_error("report: part %u of %u: %s %s of %u did not come for %d s: look what "
			   "its process says, or "
			   "start all parts again (--part 0/1: this process alone); what is there "
			   "is in %s",
			me, parts, missing == 1 ? "part" : "parts", names, parts, MISSING_S,
			folder);
		free(names);
		return false;
	}
	return false;
}

static enum share_result begin_part(struct shares *s, const struct division *d,
	const char *run_folder, struct calls *const *reader, unsigned n,
	const volatile sig_atomic_t *stop)
{
	uint64_t key = key_of_run(d, reader, n);
	time_t since;
	char *lock;
	int fd;

	s->folder = tool_format("%s/report.parts-%016llx", d->folder ? d->folder : run_folder,
		(unsigned long long)key);
	s->parts = d->parts;
	if (mkdir(s->folder, 0777) < 0 && errno != EEXIST) {
		tool_error("report: %s: %s; --parts names a folder for partial results that all "
			   "hosts see and may "
			   "write into",
			s->folder, strerror(errno));
		return SHARE_FAILED;
	}
	if (write_part(s->folder, d->part, key, reader, n, d->parts, stop, &since) ||
		!wait_for_parts(s->folder, d->part, d->parts, since, stop))
		return SHARE_FAILED;
	lock = tool_format("%s/merged-by", s->folder);
	fd = open(lock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	free(lock);
	if (fd < 0)
		return SHARE_LEFT;
	close(fd);
	/* They are counted when the parts are read. */
	for (unsigned i = 0; i < n; i++)
		reader[i]->rows = reader[i]->unreadable = 0;
	s->source = tool_alloc((d->parts + 1) * sizeof(*s->source));
	for (unsigned k = 0; k < d->parts; k++) {
		char *path = part_path(s->folder, k, "");

		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			tool_error("report: %s: %s", path, strerror(errno));
		free(path);
		if (fd < 0)
			return SHARE_FAILED;
		s->source[s->n++] = call_source_open(fd, key, n);
	}
	return SHARE_READ;
}

/* ---- either ---- */

enum share_result shares_begin(struct shares **out, const struct division *d,
	const char *run_folder, struct calls *const *reader, unsigned n,
	const volatile sig_atomic_t *stop)
{
	enum share_result r = SHARE_NONE;
	struct shares *s = tool_alloc(sizeof(*s));

	if (d->parts > 1)
		r = begin_part(s, d, run_folder, reader, n, stop);
	else if (d->jobs > 1) {
		s->ahead = ahead_begin(reader, n, d->jobs - 1 < n ? d->jobs - 1 : n);
		r = SHARE_READ;
	}
	if (r != SHARE_READ) {
		/* What is left in the folder of parts belongs to others, or to who starts again. */
		free(s->folder);
		s->folder = NULL;
		shares_end(s);
		s = NULL;
	}
	*out = s;
	return r;
}

bool shares_next(struct shares *s, struct calls *reader, struct call *out)
{
	return s->ahead ? ahead_next(s->ahead, reader->rank, out)
			: call_source_next(
				  s->source[owner_of_rank(reader->rank, s->n)], reader, out);
}

uint64_t shares_done(const struct shares *s, const struct calls *reader)
{
	return s->ahead ? ahead_done(s->ahead, reader->rank) : calls_done(reader);
}

static void remove_division(struct shares *s)
{
	char *lock = tool_format("%s/merged-by", s->folder);

	for (unsigned k = 0; k < s->parts; k++) {
		char *path = part_path(s->folder, k, "");

		unlink(path);
		free(path);
	}
	unlink(lock);
	rmdir(s->folder);
	free(lock);
}

void shares_end(struct shares *s)
{
	if (!s)
		return;
	for (unsigned k = 0; k < s->n; k++)
		call_source_close(s->source[k]);
	ahead_end(s->ahead);
	if (s->folder)
		remove_division(s);
	free(s->folder);
	free(s->source);
	free(s);
}
