/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/kept/dump_book.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/dump/kept/dump_source.h"

#define IDS_MAX (1u << 20)

struct site_slot {
	char *text; /* set until it is parsed */
	struct dump_site *site;
};

struct dump_book {
	uint64_t stacks_at, comms_at; /* bytes of the files that have been read */
	struct site_slot *stack;
	uint32_t nstack;
	struct staged_comm *comm;
	char **comm_text;
	uint32_t ncomm;
	struct dump_source *source;
};

struct dump_book *dump_book_open(void)
{
	struct dump_book *b = calloc(1, sizeof(*b));

	if (b && !(b->source = dump_source_open())) {
		free(b);
		b = NULL;
	}
	return b;
}

void dump_book_free(struct dump_book *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->nstack; i++) {
		free(b->stack[i].text);
		dump_site_free(b->stack[i].site);
	}
	for (uint32_t i = 0; i < b->ncomm; i++)
		free(b->comm_text[i]);
	free(b->stack);
	free(b->comm);
	free(b->comm_text);
	dump_source_free(b->source);
	free(b);
}

static int record_stack_text(struct dump_book *b, const struct staged_head *h)
{
	const char *text = (const char *)(h + 1);

	if (h->id >= IDS_MAX || !memchr(text, 0, h->bytes - sizeof(*h)))
		return 0;
	if (h->id >= b->nstack) {
		uint32_t want = (h->id + 1024) & ~1023u;
		struct site_slot *more = realloc(b->stack, want * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + b->nstack, 0, (want - b->nstack) * sizeof(*more));
		b->stack = more;
		b->nstack = want;
	}
	free(b->stack[h->id].text);
	b->stack[h->id].text = strdup(text);
	return b->stack[h->id].text ? 0 : -ENOMEM;
}

static int keep_staged_comm(struct dump_book *b, const struct staged_head *h)
{
	struct staged_comm c, *more;
	struct staged_head *own;
	char **texts;

	if (!staged_comm_read(h, &c))
		return 0;
	own = malloc(h->bytes);
	more = own ? realloc(b->comm, (b->ncomm + 1) * sizeof(*more)) : NULL;
	if (more)
		b->comm = more;
	texts = more ? realloc(b->comm_text, (b->ncomm + 1) * sizeof(*texts)) : NULL;
	if (!texts) {
		free(own);
		return -ENOMEM;
	}
	b->comm_text = texts;
	memcpy(own, h, h->bytes);
	staged_comm_read(own, &b->comm[b->ncomm]);
	b->comm_text[b->ncomm++] = (char *)own;
	return 0;
}

static int read_part(struct dump_book *b, int dirfd, const char *path, uint64_t *at,
	int (*keep)(struct dump_book *b, const struct staged_head *h))
{
	int err = 0, fd = io_open_regular(dirfd, path, O_RDONLY | O_NOFOLLOW, 0);
	struct stat st;
	char *all;
	ssize_t n;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size <= *at) {
		close(fd);
		return 0;
	}
	all = malloc((size_t)st.st_size - *at);
	n = all ? pread(fd, all, (size_t)st.st_size - *at, (off_t)*at) : -1;
	close(fd);
	for (uint64_t k = 0; n > 0 && !err && k < (uint64_t)n;) {
		const struct staged_head *h = (const struct staged_head *)(all + k);

		if (!staged_head_valid(h, (uint64_t)n - k))
			break;
		err = keep(b, h);
		k += h->bytes;
		*at += h->bytes;
	}
	free(all);
	return all ? err : -ENOMEM;
}

int dump_book_read(struct dump_book *b, int dirfd)
{
	int err = read_part(b, dirfd, DUMP_STACKS_PART, &b->stacks_at, record_stack_text);

	return err ? err : read_part(b, dirfd, DUMP_COMMS_PART, &b->comms_at, keep_staged_comm);
}

const struct dump_site *dump_book_get_site(struct dump_book *b, uint32_t stack)
{
	struct site_slot *s = stack && stack < b->nstack ? &b->stack[stack] : NULL;

	if (!s || (!s->site && !s->text))
		return NULL;
	if (!s->site) {
		s->site = dump_site_parse(s->text, b->source);
		if (s->site) {
			free(s->text);
			s->text = NULL;
		}
	}
	return s->site;
}

const struct staged_comm *dump_book_find_comm(const struct dump_book *b, uint64_t id)
{
	for (uint32_t i = b->ncomm; i-- > 0;)
		if (b->comm[i].id == id)
			return &b->comm[i];
	return NULL;
}

/* The ranks are a text with ranges: 0-3;8. */
int32_t dump_get_comm_member(const struct staged_comm *c, uint32_t n)
{
	const char *p = c->world_ranks;

	while (*p) {
		char *end;
		unsigned long lo = strtoul(p, &end, 10), hi = lo;

		if (end == p)
			return -1;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (hi >= lo && n <= hi - lo)
			return (int32_t)(lo + n);
		n -= (uint32_t)(hi - lo + 1);
		p = end + (*end == ';');
		if (*end && *end != ';')
			return -1;
	}
	return -1;
}

int32_t dump_get_world_rank(const struct staged_comm *c, int32_t rank)
{
	int32_t world = c && rank >= 0 ? dump_get_comm_member(c, (uint32_t)rank) : -1;

	return world >= 0 ? world : rank;
}
