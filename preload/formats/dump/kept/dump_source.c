/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/kept/dump_source.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define FILES_MAX 64 /* files in the cache; the least recently used is replaced */
#define FILE_BYTES_MAX (4u << 20)

struct source_file {
	char *path, *text;
	size_t bytes;
	uint32_t *line; /* position of each line */
	uint32_t nline;
	uint64_t used;
};

struct dump_source {
	uint64_t now;
	struct source_file file[FILES_MAX];
};

struct dump_source *dump_source_open(void)
{
	return calloc(1, sizeof(struct dump_source));
}

static void remove_source(struct source_file *f)
{
	free(f->path);
	free(f->text);
	free(f->line);
	*f = (struct source_file){0};
}

void dump_source_free(struct dump_source *s)
{
	for (unsigned i = 0; s && i < FILES_MAX; i++)
		remove_source(&s->file[i]);
	free(s);
}

static void find_source_lines(struct source_file *f)
{
	uint32_t n = 1;

	for (size_t i = 0; i < f->bytes; i++)
		n += f->text[i] == '\n';
	f->line = malloc(n * sizeof(*f->line));
	if (!f->line)
		return;
	f->line[f->nline++] = 0;
	for (size_t i = 0; i + 1 < f->bytes; i++)
		if (f->text[i] == '\n')
			f->line[f->nline++] = (uint32_t)i + 1;
}

/* Reads a file into the cache. One that cannot be read is cached as a file without lines. */
static void read_source(struct source_file *f, const char *path)
{
	struct stat st;
	ssize_t n = -1;
	int fd = path[0] == '<' ? -1 : io_open_regular(AT_FDCWD, path, O_RDONLY, 0);

	f->path = strdup(path);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= FILE_BYTES_MAX)
		f->text = malloc((size_t)st.st_size);
	if (f->text)
		n = pread(fd, f->text, (size_t)st.st_size, 0);
	close(fd);
	if (n <= 0)
		return;
	f->bytes = (size_t)n;
	find_source_lines(f);
}

static struct source_file *find_source(struct dump_source *s, const char *path)
{
	struct source_file *oldest = &s->file[0];

	for (unsigned i = 0; i < FILES_MAX; i++) {
		struct source_file *f = &s->file[i];

		if (f->path && strcmp(f->path, path) == 0)
			return f;
		if (f->used < oldest->used)
			oldest = f;
	}
	remove_source(oldest);
	read_source(oldest, path);
	return oldest;
}

void dump_source_read_line(
	struct dump_source *s, const char *file, unsigned line, char *out, size_t cap)
{
	struct source_file *f = find_source(s, file);
	const char *at, *end;
	size_t n;

	out[0] = 0;
	f->used = ++s->now;
	if (!line || line > f->nline)
		return;
	at = f->text + f->line[line - 1];
	end = line < f->nline ? f->text + f->line[line] : f->text + f->bytes;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (end > at && strchr(" \t\r\n", end[-1]))
		end--;
	n = (size_t)(end - at);
	if (n >= cap)
		n = cap - 1;
	memcpy(out, at, n);
	out[n] = 0;
}
