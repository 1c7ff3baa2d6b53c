/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/unwritten.h"

#define BENCH_BYTES_MAX (INT64_C(1) << 30)
#define BENCH_PATH_MAX 4300

/*
 * True if all tensors of one side are finite. Memory that was never written counts as finite.
 * Scalars are ignored, as in msprobe's overflow_check.
 */
static bool is_finite_side(const struct staged_call *c, enum tensor_io io)
{
	bool aten = strcmp(c->lib, "aten") == 0;

	for (unsigned i = 0; i < c->n; i++) {
		const struct stats *s = &c->tensor[i]->stats;

		if (c->tensor[i]->io == io && s->n && (s->nans || s->infs) &&
			!dump_is_number(c, c->tensor[i]) &&
			!(aten && is_possibly_unwritten(c->op, io == IO_OUT, c->tensor[i]->index)))
			return false;
	}
	return true;
}

bool dump_has_overflow(const struct dump_group *g)
{
	return is_finite_side(&g->call[0], IO_IN) && !is_finite_side(&g->call[g->n - 1], IO_OUT);
}

struct dump_bench {
	char *text;
	size_t bytes;
};

struct dump_bench *dump_bench_open(const char *path, uint32_t step, int32_t rank)
{
	struct dump_bench *b = calloc(1, sizeof(*b));
	char file[BENCH_PATH_MAX];
	struct stat st;
	int fd;

	snprintf(file, sizeof(file), "%s/step%u/rank%d/dump.json", path, step, rank);
	fd = b ? io_open_regular(AT_FDCWD, file, O_RDONLY, 0) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= BENCH_BYTES_MAX)
		b->text = malloc((size_t)st.st_size + 1);
	if (b && b->text) {
		ssize_t n = io_read_file(AT_FDCWD, file, b->text, (size_t)st.st_size);

		b->bytes = n > 0 ? (size_t)n : 0;
		b->text[b->bytes] = 0;
	}
	if (fd >= 0)
		close(fd);
	if (b && !b->text) {
		free(b);
		b = NULL;
	}
	return b;
}

void dump_bench_free(struct dump_bench *b)
{
	if (b)
		free(b->text);
	free(b);
}

/*
 * Finds the entry `name` by its braces, which names and file names do not contain. Returns false
 * if there is none.
 */
static bool find_bench_entry(
	const struct dump_bench *b, const char *name, const char **from, const char **to)
{
	char key[DUMP_NAME_MAX + 8];
	const char *p;
	int depth = 0;

	snprintf(key, sizeof(key), "\"%s\": {", name);
	p = strstr(b->text, key);
	if (!p)
		return false;
	*from = p + strlen(key) - 1;
	for (p = *from; *p; p++) {
		depth += *p == '{';
		depth -= *p == '}';
		if (!depth) {
			*to = p;
			return true;
		}
	}
	return false;
}

/*
 * True if the text has the checksums of this side of all calls, in their order. Texts in between
 * belong to the other side.
 */
static bool has_same_sums(
	const char *from, const char *to, const struct dump_group *g, enum tensor_io io)
{
	char sum[32];

	for (unsigned k = 0; k < g->n; k++) {
		const struct staged_call *c = &g->call[k];

		for (unsigned i = 0; i < c->n; i++) {
			if (c->tensor[i]->io != io || !(c->tensor[i]->flags & TF_CRC))
				continue;
			snprintf(sum, sizeof(sum), "\"md5\": \"%08x\"", c->tensor[i]->crc);
			from = strstr(from, sum);
			if (!from || from > to)
				return false;
			from++;
		}
	}
	return true;
}

bool dump_is_different(const struct dump_bench *b, const char *name, const struct dump_group *g)
{
	const char *from, *to, *out;

	if (!b || !find_bench_entry(b, name, &from, &to))
		return false;
	out = strstr(from, "\"output\":");
	if (!out || out > to)
		return false;
	return has_same_sums(from, out, g, IO_IN) && !has_same_sums(out, to, g, IO_OUT);
}
