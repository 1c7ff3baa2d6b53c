/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/name_book.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/layout.h"

#define NAMES_MAX JOURNAL_NAME_ID
/* number of buckets with cached text; above it, texts are made each time */
#define BUCKETS_KEPT 4096u
#define FILE_MAX (256u << 20)

/* Texts of a parameter: "name" NUL "name.grad" NUL. */
struct name_book {
	char **text; /* index: number - 1 */
	uint32_t n;
	char (*bucket)[20]; /* index: number */
	char spare[20];
};

static struct name_book *get_book(struct name_book **b)
{
	if (!*b)
		*b = calloc(1, sizeof(**b));
	return *b;
}

bool name_book_add(struct name_book **book, uint32_t id, const char *name)
{
	struct name_book *b = get_book(book);
	size_t n = strlen(name);
	char *text;

	if (!b || !id || id > NAMES_MAX)
		return b;
	if (id > b->n) {
		uint32_t want = (id + 1023) & ~1023u;
		char **more = realloc(b->text, want * sizeof(*more));

		if (!more)
			return false;
		memset(more + b->n, 0, (want - b->n) * sizeof(*more));
		b->text = more;
		b->n = want;
	}
	text = malloc(2 * n + sizeof(".grad") + 1);
	if (!text)
		return false;
	memcpy(text, name, n + 1);
	memcpy(text + n + 1, name, n);
	memcpy(text + 2 * n + 1, ".grad", sizeof(".grad"));
	free(b->text[id - 1]);
	b->text[id - 1] = text;
	return true;
}

static const char *get_bucket_text(struct name_book *b, uint32_t number)
{
	char *at = b->spare;

	if (!b->bucket)
		b->bucket = calloc(BUCKETS_KEPT, sizeof(*b->bucket));
	if (b->bucket && number < BUCKETS_KEPT)
		at = b->bucket[number];
	if (at == b->spare || !at[0])
		snprintf(at, sizeof(b->spare), "bucket%u", number);
	return at;
}

const char *name_book_get_text(struct name_book *b, uint32_t name)
{
	uint32_t id = name & JOURNAL_NAME_ID;
	const char *text;

	if (!b)
		return "";
	if (name & JOURNAL_NAME_BUCKET)
		return get_bucket_text(b, id);
	text = id && id <= b->n ? b->text[id - 1] : NULL;
	if (!text)
		return "";
	return name & JOURNAL_NAME_GRAD ? text + strlen(text) + 1 : text;
}

void name_book_free(struct name_book *b)
{
	for (uint32_t i = 0; b && i < b->n; i++)
		free(b->text[i]);
	if (b) {
		free(b->text);
		free(b->bucket);
	}
	free(b);
}

/* ---- reading names.csv: number and name of each parameter, in the second and third field ---- */

/* Removes the quotes of a field in place. Returns the position after the field's comma. */
static char *read_name_field(char *p, char **field)
{
	char *to = p;

	*field = p;
	if (*p != '"') {
		p += strcspn(p, ",\n");
	} else {
		for (p++; *p && !(*p == '"' && p[1] != '"'); *to++ = *p++)
			p += *p == '"';
		if (*p)
			p++;
		if (*p && to < p)
			*to = 0;
	}
	if (!*p)
		return p;
	*p = 0;
	return p + 1;
}

static bool read_rows(struct name_book **b, char *text)
{
	for (char *line = text, *next; *line; line = next) {
		char *id, *name, *p;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		if (strncmp(line, "param,", 6) != 0)
			continue;
		p = read_name_field(line + 6, &id);
		read_name_field(p, &name);
		if (!name_book_add(b, (uint32_t)strtoul(id, NULL, 10), name))
			return false;
	}
	return true;
}

/*
 * Returns how many bytes of the file are valid, according to the journal's last commit; the whole
 * size if that commit does not list the file.
 */
static uint64_t get_committed_bytes(const struct journal *j, int fd, const char *path)
{
	uint64_t seq = atomic_load_explicit(&j->head->commit_seq, memory_order_acquire);
	const struct journal_commit *c = journal_get_commit(j, seq);
	struct stat st;

	for (int i = 0; i < JOURNAL_FILES; i++)
		if (strcmp(c->file[i].path, path) == 0)
			return c->file[i].bytes;
	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

int name_book_read(struct name_book **b, struct files *f)
{
	char *text = NULL;
	int fd = f->j->left ? files_open_own(files_get_dir(f), "names.csv", O_RDONLY | O_CLOEXEC)
			    : -1;
	uint64_t bytes = fd < 0 ? 0 : get_committed_bytes(f->j, fd, "names.csv");
	int err = 0;
	ssize_t n;

	if (bytes && bytes <= FILE_MAX) {
		text = malloc(bytes + 1);
		n = text ? pread(fd, text, bytes, 0) : 0;
		if (text)
			text[n > 0 ? n : 0] = 0;
		err = text && read_rows(b, text) ? 0 : -ENOMEM;
		free(text);
	}
	if (fd >= 0)
		close(fd);
	return err;
}
