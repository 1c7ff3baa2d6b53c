/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/recover/fill_steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/rounds.h"
#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/compact_read.h"

#define META_MOST (4u << 20)
#define WORK "steps.tmp" /* new files that are not complete */
#define READY "steps.new" /* complete ones, which replace the old ones */

const char *const fill_name[] = {
	[FILL_DONE] = "filled",
	[FILL_MARKED] = "marked",
	[FILL_NO_PERIOD] = "no period",
	[FILL_FAILED] = "failed",
};

static void set_fill_error(struct fill_info *f, const char *action, int err)
{
	f->result = FILL_FAILED;
	snprintf(f->why, sizeof(f->why), "%s: %s", action, strerror(err));
}

/* ---- new files ---- */

struct step_files {
	const char *dir; /* the rank's folder */
	uint64_t per, block; /* per: steps in a file; block: first step of the open file */
	FILE *file;
	uint64_t rows, last;
	int err;
};

static void write_csv_field(FILE *f, const struct csv_text *t)
{
	if (!t->n || !(memchr(t->s, ',', t->n) || memchr(t->s, '"', t->n) ||
			     memchr(t->s, '\n', t->n) || memchr(t->s, '\r', t->n))) {
		fwrite(t->s, 1, t->n, f);
		return;
	}
	putc('"', f);
	for (size_t i = 0; i < t->n; i++) {
		if (t->s[i] == '"')
			putc('"', f);
		putc(t->s[i], f);
	}
	putc('"', f);
}

static void close_block(struct step_files *s)
{
	if (!s->file)
		return;
	if ((ferror(s->file) || fflush(s->file) || fsync(fileno(s->file)) < 0) && !s->err)
		s->err = errno ? errno : EIO;
	if (fclose(s->file) && !s->err)
		s->err = errno;
	s->file = NULL;
}

/* Opens the file of a step. A new file gets the first line of the file that is being read. */
static bool open_block(struct step_files *s, const struct csv *c, uint64_t step)
{
	uint64_t block = step / s->per * s->per;
	const char *name;
	char *path;

	if (s->file && block == s->block)
		return true;
	close_block(s);
	path = tool_format(
		"%s/" WORK "/calls_%" PRIu64 "-%" PRIu64 ".csv", s->dir, block, block + s->per - 1);
	s->file = fopen(path, "a");
	free(path);
	s->block = block;
	if (!s->file) {
		s->err = errno;
		return false;
	}
	if (ftell(s->file) == 0) {
		name = c->names;
		for (unsigned i = 0; i < c->ncolumns; i++, name += strlen(name) + 1)
			fprintf(s->file, "%s%s", i ? "," : "", name);
		putc('\n', s->file);
	}
	return true;
}

static void copy_rows(
	struct step_files *s, const struct rounds *r, const struct calls_file *rows_file)
{
	struct csv c;
	int err = calls_open_file(&c, rows_file, true, 1 << 18);
	int step = csv_find_column(&c, "step"), seq = csv_find_column(&c, "seq"),
	    start = csv_find_column(&c, "start_ns");
	uint64_t a, b, at;
	char text[24];

	if (err && err != -ENODATA)
		s->err = -err;
	while (!err && !s->err && csv_read_row(&c)) {
		if (!csv_parse_u64(csv_get_field(&c, seq), &a) ||
			!csv_parse_u64(csv_get_field(&c, start), &b))
			continue;
		at = get_rounds_before(r->end, r->n, b, a);
		if (!open_block(s, &c, at))
			break;
		s->last = at > s->last ? at : s->last;
		s->rows++;
		for (unsigned i = 0; i < c.ncolumns; i++) {
			if (i)
				putc(',', s->file);
			if ((int)i == step) {
				snprintf(text, sizeof(text), "%" PRIu64, at);
				fputs(text, s->file);
			} else {
				write_csv_field(s->file, &c.field[i]);
			}
		}
		putc('\n', s->file);
	}
	if (c.err)
		s->err = -c.err;
	csv_close(&c);
}

static bool is_calls_file(const char *name)
{
	return strncmp(name, "calls_", 6) == 0 && (strstr(name, ".csv") || is_compact_name(name));
}

static int open_folder_at(int dirfd, const char *name)
{
	return openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Removes the calls files in the folder. */
static void remove_calls_files(int dirfd)
{
	DIR *d = fdopendir(dup(dirfd));

	if (!d)
		return;
	rewinddir(d);
	for (struct dirent *e; (e = readdir(d));)
		if (is_calls_file(e->d_name))
			unlinkat(dirfd, e->d_name, 0);
	closedir(d);
}

static void remove_work(int dirfd)
{
	int fd = open_folder_at(dirfd, WORK);

	if (fd < 0)
		return;
	remove_calls_files(fd);
	unlinkat(fd, "meta.json", 0);
	close(fd);
	unlinkat(dirfd, WORK, AT_REMOVEDIR);
}

/* Writes meta.json with the new numbers beside the new files. */
static int write_new_meta(int dirfd, int work, const struct step_files *s)
{
	char *all = tool_alloc(META_MOST + 1), *at, *end, *text;
	ssize_t n = io_read_file(dirfd, "meta.json", all, META_MOST);
	int err;

	if (n < 0) {
		free(all);
		return (int)n;
	}
	all[n] = 0;
	at = strstr(all, "\"steps\": {");
	end = at ? strchr(at, '}') : NULL;
	if (!end) {
		free(all);
		return -EINVAL;
	}
	text = tool_format("%.*s\"steps\": {\"current\": %" PRIu64 ", \"last_recorded\": %" PRIu64
			   ", \"source\": \"period\", \"per_file\": %" PRIu64 "%s",
		(int)(at - all), all, s->last, s->last, s->per, end);
	err = io_replace_file(work, "meta.json", text, strlen(text));
	free(text);
	free(all);
	return err;
}

/* From here on only the files in READY are valid, also after a crash during the move. */
static int move_ready_files(int dirfd)
{
	int ready = open_folder_at(dirfd, READY), err = 0;
	DIR *d = ready < 0 ? NULL : fdopendir(dup(dirfd));
	struct stat st;

	if (!d) {
		if (ready >= 0)
			close(ready);
		return -errno;
	}
	/* If meta.json is still in READY, no new file has been moved, so all others are old. */
	if (fstatat(ready, "meta.json", &st, 0) == 0) {
		for (struct dirent *e; (e = readdir(d));)
			if (is_calls_file(e->d_name))
				unlinkat(dirfd, e->d_name, 0);
		if (renameat(ready, "meta.json", dirfd, "meta.json") < 0)
			err = -errno;
	}
	closedir(d);
	d = fdopendir(dup(ready));
	for (struct dirent *e; d && !err && (e = readdir(d));)
		if (is_calls_file(e->d_name) && renameat(ready, e->d_name, dirfd, e->d_name) < 0)
			err = -errno;
	if (d)
		closedir(d);
	close(ready);
	if (!err && unlinkat(dirfd, READY, AT_REMOVEDIR) < 0)
		err = -errno;
	fsync(dirfd);
	return err;
}

static int write_new_files(
	int dirfd, const struct folders *f, const struct rounds *r, struct step_files *s)
{
	struct calls list;
	int work, err;

	remove_work(dirfd);
	if (mkdirat(dirfd, WORK, 0777) < 0)
		return -errno;
	work = open_folder_at(dirfd, WORK);
	if (work < 0)
		return -errno;
	calls_open(&list, &f->dir[0], 0, NULL);
	for (unsigned i = 0; i < list.nfile && !s->err; i++)
		copy_rows(s, r, &list.file[i]);
	close_block(s);
	calls_close(&list);
	err = s->err ? -s->err : write_new_meta(dirfd, work, s);
	fsync(work);
	close(work);
	if (!err && renameat(dirfd, WORK, dirfd, READY) < 0)
		err = -errno;
	if (err)
		remove_work(dirfd);
	return err;
}

static void update_folder_steps(int dirfd, const struct folders *f, struct fill_info *out)
{
	struct step_files s = {.dir = f->dir[0].path, .per = 100};
	struct rounds r;
	int err;

	find_rounds(&r, &f->dir[0], NULL);
	out->confidence = r.confidence;
	out->calls = r.length;
	out->steps = r.n;
	if (!out->calls || out->confidence < ROUNDS_SURE) {
		out->result = FILL_NO_PERIOD;
	} else {
		if (f->dir[0].meta.block_steps)
			s.per = f->dir[0].meta.block_steps;
		err = write_new_files(dirfd, f, &r, &s);
		out->rows = s.rows;
		if (!err)
			err = move_ready_files(dirfd);
		if (err)
			set_fill_error(out, "writing", -err);
	}
	free(r.end);
}

void write_missing_steps(const char *path, struct fill_info *out)
{
	int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct folders f;
	struct stat st;
	int err = 0;

	*out = (struct fill_info){.result = FILL_DONE};
	if (dirfd < 0) {
		set_fill_error(out, path, errno);
		return;
	}
	if (fstatat(dirfd, READY, &st, AT_SYMLINK_NOFOLLOW) == 0)
		err = move_ready_files(dirfd);
	if (err) {
		set_fill_error(out, READY, -err);
	} else if (folders_open(&f, path)) {
		set_fill_error(out, path, EINVAL);
	} else {
		if (meta_has_steps(&f.dir[0].meta)) {
			out->result = FILL_MARKED;
			snprintf(out->why, sizeof(out->why), "%s", f.dir[0].meta.step_source);
		} else {
			update_folder_steps(dirfd, &f, out);
		}
		folders_close(&f);
	}
	close(dirfd);
}
