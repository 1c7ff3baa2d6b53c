/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/split_steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/io.h"
#include "sink/files.h"

#define READ_BYTES (1u << 20)
#define LINE_BYTES_MAX (64u << 20) /* maximum length of a line; libprobe writes no longer ones */
#define TMP_SUFFIX ".tmp"
#define ALERTS "alerts.jsonl"

/* ---- lines; in a table, a line may contain a line break in quotes ---- */

struct lines {
	gzFile gz; /* also reads uncompressed files */
	char *buf;
	size_t cap, n, at;
	bool table; /* lines are those of a table, with quotes */
	bool end;
};

static int open_lines(struct lines *l, int dir, const char *name, bool table)
{
	int fd = files_open_own(dir, name, O_RDONLY);

	*l = (struct lines){.table = table};
	if (fd < 0)
		return fd;
	l->gz = gzdopen(fd, "rb");
	if (!l->gz) {
		close(fd);
		return -ENOMEM;
	}
	gzbuffer(l->gz, READ_BYTES / 4);
	return 0;
}

static void close_lines(struct lines *l)
{
	if (l->gz)
		gzclose(l->gz);
	free(l->buf);
	*l = (struct lines){0};
}

static int read_more_lines(struct lines *l)
{
	int got;

	if (l->n > l->at)
		memmove(l->buf, l->buf + l->at, l->n - l->at);
	l->n -= l->at;
	l->at = 0;
	if (l->cap - l->n < READ_BYTES) {
		size_t cap = l->cap ? 2 * l->cap : 2 * (size_t)READ_BYTES;
		char *more = cap > 2 * (size_t)LINE_BYTES_MAX ? NULL : realloc(l->buf, cap);

		if (!more)
			return -ENOMEM;
		l->buf = more;
		l->cap = cap;
	}
	got = gzread(l->gz, l->buf + l->n, READ_BYTES);
	if (got < 0)
		return -EIO;
	l->n += (size_t)got;
	l->end = !got;
	return 0;
}

/*
 * Returns the end of the line at `at`, after its line break; 0: the line break is not in the
 * buffer.
 */
static size_t find_line_end(const struct lines *l)
{
	bool quoted = false;

	for (size_t i = l->at; i < l->n; i++) {
		if (l->buf[i] == '"')
			quoted = l->table && !quoted;
		else if (l->buf[i] == '\n' && !quoted)
			return i + 1;
	}
	return l->end ? l->n : 0;
}

/*
 * Returns 1 if there is a line: *line has *n bytes, including its line break, and is valid until
 * the next call. Returns 0 after the last, or -errno.
 */
static int read_split_line(struct lines *l, const char **line, size_t *n)
{
	size_t end = 0;

	while (l->at == l->n || !(end = find_line_end(l))) {
		int err = l->end ? 0 : read_more_lines(l);

		if (err)
			return err;
		if (l->end && l->at == l->n)
			return 0;
	}
	*line = l->buf + l->at;
	*n = end - l->at;
	l->at = end;
	return 1;
}

/* ---- fields ---- */

/* Returns the start of field number `column`; NULL: the line has fewer fields. */
static const char *find_field(const char *line, size_t n, int column)
{
	bool quoted = false;

	for (size_t i = 0; i < n && column; i++) {
		if (line[i] == '"')
			quoted = !quoted;
		column -= line[i] == ',' && !quoted;
		if (!column)
			return line + i + 1;
	}
	return column ? NULL : line;
}

/* Returns -1 if the header has no such column. */
static int find_column(const char *header, size_t n, const char *name)
{
	size_t len = strlen(name);
	const char *f;

	for (int i = 0; (f = find_field(header, n, i)); i++)
		if ((size_t)(header + n - f) > len && memcmp(f, name, len) == 0 &&
			(f[len] == ',' || f[len] == '\n'))
			return i;
	return -1;
}

static bool parse_digits(const char *p, const char *end, uint64_t *v)
{
	const char *from = p;

	for (*v = 0; p < end && *p >= '0' && *p <= '9'; p++)
		*v = *v * 10 + (uint64_t)(*p - '0');
	return p > from;
}

/* ---- output ---- */

struct copy_out {
	int fd;
	char *buf;
	size_t n;
	int err;
};

static int open_copy(struct copy_out *o, int dir, const char *name)
{
	*o = (struct copy_out){.fd = io_create_file(dir, name), .buf = malloc(READ_BYTES)};
	if (o->fd < 0)
		o->err = o->fd;
	else if (!o->buf)
		o->err = -ENOMEM;
	return o->err;
}

static void flush_copy(struct copy_out *o)
{
	if (!o->err && o->n)
		o->err = io_write_all(o->fd, o->buf, o->n);
	o->n = 0;
}

static void write_split_line(struct copy_out *o, const char *line, size_t n)
{
	if (o->n + n > READ_BYTES)
		flush_copy(o);
	if (n > READ_BYTES) {
		if (!o->err)
			o->err = io_write_all(o->fd, line, n);
		return;
	}
	memcpy(o->buf + o->n, line, n);
	o->n += n;
}

static int close_copy(struct copy_out *o)
{
	flush_copy(o);
	free(o->buf);
	if (o->fd >= 0 && close(o->fd) < 0 && !o->err)
		o->err = -errno;
	return o->err;
}

/* ---- one file ---- */

/* Reads the step of a line. Returns false if it has none; the line is then not moved. */
static bool read_line_step(const char *line, size_t n, int column, uint64_t *step)
{
	static const char key[] = "\"step\": ";
	const char *at =
		column >= 0 ? find_field(line, n, column) : memmem(line, n, key, sizeof(key) - 1);

	if (at && column < 0)
		at += sizeof(key) - 1;
	return at && parse_digits(at, line + n, step);
}

/* column -1: lines of JSON. */
static int move_lines(struct lines *in, int column, uint32_t first, struct copy_out *kept,
	struct copy_out *moved, struct split_steps *count)
{
	const char *line;
	uint64_t step;
	size_t n;
	int more;

	while ((more = read_split_line(in, &line, &n)) > 0) {
		bool goes = read_line_step(line, n, column, &step) && step >= first;

		write_split_line(goes ? moved : kept, line, n);
		++*(goes ? &count->moved : &count->kept);
		if (kept->err || moved->err)
			return kept->err ? kept->err : moved->err;
	}
	return more;
}

/* plain: the name without .gz; the rows that are not moved are written uncompressed. */
static int move_file_rows(int from, int to, const char *name, const char *plain, bool table,
	uint32_t first, struct split_steps *done)
{
	struct split_steps here = {0};
	struct copy_out kept = {.fd = -1}, moved = {.fd = -1};
	char tmp[NAME_MAX + 1];
	const char *header = NULL;
	struct lines in;
	int column = -1, err = open_lines(&in, from, name, table);
	size_t n = 0;

	if (err)
		return err;
	if ((size_t)snprintf(tmp, sizeof(tmp), "%s" TMP_SUFFIX, plain) >= sizeof(tmp))
		err = -ENAMETOOLONG;
	if (!err && table) {
		err = read_split_line(&in, &header, &n);
		column = err > 0 ? find_column(header, n, "step") : -1;
		/* An empty file has nothing to move. */
		if (err <= 0 || column < 0) {
			close_lines(&in);
			return err <= 0 ? err : -EPROTO;
		}
		err = 0;
	}
	if (!err)
		err = open_copy(&kept, from, tmp);
	if (!err)
		err = open_copy(&moved, to, plain);
	if (!err && header) {
		write_split_line(&kept, header, n);
		write_split_line(&moved, header, n);
	}
	if (!err)
		err = move_lines(&in, column, first, &kept, &moved, &here);
	close_lines(&in);
	err = close_copy(&kept) ? kept.err : err;
	err = close_copy(&moved) ? moved.err : err;
	if (!err && here.moved) {
		if (renameat(from, tmp, from, plain) < 0)
			err = -errno;
		else if (strcmp(name, plain))
			unlinkat(from, name, 0);
		/* If only the header is left, the file is removed. */
		if (!err && !here.kept)
			unlinkat(from, plain, 0);
		done->files++;
	} else {
		unlinkat(from, tmp, 0);
		if (!here.moved || err)
			unlinkat(to, plain, 0);
	}
	done->kept += here.kept;
	done->moved += here.moved;
	return err;
}

/*
 * Parses <word>_<a>-<b>.csv, <word>_<a>-<b>.<part>.csv, both also with .gz or .compact; and
 * <word>_step<a>-<b>.csv.
 */
static bool read_block_name(const char *name, unsigned long long *a, unsigned long long *b)
{
	const char *at = strrchr(name, '_');
	int n = 0, part = 0;

	if (!at || at == name)
		return false;
	if (sscanf(at, "_%llu-%llu%n", a, b, &n) < 2 &&
		sscanf(at, "_step%llu-%llu%n", a, b, &n) < 2)
		return false;
	at += n;
	if (sscanf(at, ".%*u%n", &part) == 0 && part)
		at += part;
	return strcmp(at, ".csv") == 0 || strcmp(at, ".csv.gz") == 0 || strcmp(at, ".compact") == 0;
}

bool has_divided_calls(int dirfd, const char *suffix, uint32_t first)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;

	for (struct dirent *e; d && !found && (e = readdir(d));) {
		unsigned long long a, b;

		found = strncmp(e->d_name, "calls_", 6) == 0 && strstr(e->d_name, suffix) &&
			read_block_name(e->d_name, &a, &b) && a < first && b >= first;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return found;
}

static int move_rows_of_name(
	int from, int to, const char *name, uint32_t first, struct split_steps *done)
{
	char plain[NAME_MAX + 1];
	unsigned long long a, b;
	size_t n = strlen(name);
	struct stat st;

	if (strcmp(name, ALERTS) == 0)
		return move_file_rows(from, to, name, name, false, first, done);
	if (!read_block_name(name, &a, &b) || b < first)
		return 0;
	if (a >= first) {
		done->files++;
		return renameat(from, name, to, name) < 0 ? -errno : 0;
	}
	snprintf(plain, sizeof(plain), "%s", name);
	if (n > 3 && strcmp(name + n - 3, ".gz") == 0)
		plain[n - 3] = 0;
	/* A killed process may have left both files: the plain one is valid (files.h). */
	if (strcmp(plain, name) && fstatat(from, plain, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return unlinkat(from, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	return move_file_rows(from, to, name, plain, true, first, done);
}

int move_steps(int from, int to, uint32_t first, struct split_steps *done)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char **name = NULL;
	size_t n = 0, cap = 0;

	*done = (struct split_steps){0};
	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	/* Reads all names first: a file renamed meanwhile could be returned twice, or not at all. */
	for (struct dirent *e; !err && (e = readdir(d));) {
		if (n == cap) {
			char **more = realloc(name, (cap = cap ? 2 * cap : 64) * sizeof(*name));

			if (!more) {
				err = -ENOMEM;
				break;
			}
			name = more;
		}
		name[n] = strdup(e->d_name);
		err = name[n] ? 0 : -ENOMEM;
		n += !err;
	}
	closedir(d);
	for (size_t i = 0; i < n; i++) {
		if (!err)
			err = move_rows_of_name(from, to, name[i], first, done);
		free(name[i]);
	}
	free(name);
	return err;
}

int read_column(int dir, const char *table, const char *column,
	void (*visit)(void *arg, const char *field, const char *end), void *arg)
{
	struct lines in;
	const char *line, *field;
	size_t n;
	int at = -1, err = open_lines(&in, dir, table, true);

	if (err)
		return err == -ENOENT ? 0 : err;
	while ((err = read_split_line(&in, &line, &n)) > 0) {
		if (at < 0) {
			at = find_column(line, n, column);
			if (at < 0)
				break;
			continue;
		}
		field = find_field(line, n, at);
		if (field)
			visit(arg, field, line + n);
	}
	close_lines(&in);
	return err < 0 ? err : 0;
}

static void set_largest(void *arg, const char *field, const char *end)
{
	int64_t *most = arg;
	uint64_t v;

	if (parse_digits(field, end, &v) && v <= INT64_MAX && (int64_t)v > *most)
		*most = (int64_t)v;
}

int64_t find_column_max(int dir, const char *table, const char *column)
{
	int64_t most = 0;
	int err = read_column(dir, table, column, set_largest, &most);

	return err ? err : most;
}

int copy_between_folders(int from, int to, const char *name)
{
	struct copy_out out;
	struct lines in;
	const char *line;
	size_t n;
	int more, err = open_lines(&in, from, name, false);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = open_copy(&out, to, name);
	while (!err && (more = read_split_line(&in, &line, &n)) != 0) {
		if (more < 0)
			err = more;
		else
			write_split_line(&out, line, n);
	}
	close_lines(&in);
	close_copy(&out);
	return err ? err : out.err;
}
