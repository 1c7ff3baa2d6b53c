/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a CSV file (plain, or compressed when they begin like that), and as the rows of a rank.
 *
 *	S="tools/lib/files/csv.c tools/lib/source.c tools/probe/model/read/calls.c tools/lib/intern.c tools/lib/tool.c \
 *		tools/probe/model/read/overlay.c"
 *	clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Ipreload -I. tests/fuzz/fuzz_csv.c $S \
 *		build/libcore.a -lyaml -lz -lm -o fuzz_csv
 *	./fuzz_csv -max_len=20000 corpus/
 *
 * Beside crashes it looks for results that depend on the size of the buffer, rows that do not lie inside the buffer, and
 * reading that never ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/probe/model/read/calls.h"
#include "tools/lib/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

struct seen {
	int opened;
	uint64_t rows, damaged, hash;
	bool truncated;
};

static struct seen look(const char *path, size_t buffer, bool keep, uint64_t limit)
{
	static struct csv c;
	struct seen s = {.opened = csv_open(&c, path, limit, keep, buffer)};

	while (s.opened == 0 && csv_read_row(&c)) {
		for (unsigned i = 0; i < c.ncolumns; i++) {
			const struct csv_text *t = csv_get_field(&c, (int)i);

			CHECK(t->n == 0 || (t->s >= c.buf && t->s + t->n <= c.buf + c.end));
			for (size_t k = 0; k < t->n; k++)
				s.hash = (s.hash ^ (unsigned char)t->s[k]) * 0x100000001b3u;
			s.hash = s.hash * 31 + t->n;
		}
		CHECK(++s.rows <= 1u << 20);
	}
	s.damaged = c.damaged;
	s.truncated = c.truncated;
	csv_close(&c);
	return s;
}

static void same(struct seen a, struct seen b)
{
	CHECK(a.opened == b.opened && a.rows == b.rows && a.hash == b.hash);
	CHECK(a.damaged == b.damaged && a.truncated == b.truncated);
}

static void count_bad(
	void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs)
{
	(void)s;
	CHECK(nans || infs);
	CHECK(c->rows);
	++*(uint64_t *)arg;
}

/* The same bytes as a rank's only file. */
static void as_calls(const char *path)
{
	struct rank_dir dir = {.path = (char *)"/nonexistent", .state = RANK_FINISHED};
	struct calls s;
	struct call c;
	uint64_t bad = 0, calls = 0, rows = 0;

	calls_open(&s, &dir, 0, NULL);
	TOOL_GROW(s.file, s.nfile, s.cap_file);
	s.file[s.nfile++] = (struct calls_file){
		.path = tool_strdup(path), .last = UINT64_MAX, .limit = UINT64_MAX};
	s.bad = count_bad;
	s.bad_arg = &bad;
	while (calls_read_next(&s, &c)) {
		calls++;
		rows += c.rows;
		CHECK(c.rows);
	}
	CHECK(rows == s.rows && calls <= rows && bad <= rows);
	calls_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	char path[64];
	struct seen s;

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	CHECK(ftruncate(fd, 0) == 0);
	CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	s = look(path, 0, true, UINT64_MAX);
	/* How much of damaged compressed data comes out before zlib sees the damage depends on the buffer. */
	if (size < 2 || data[0] != 0x1f || data[1] != 0x8b) {
		same(s, look(path, 1 << 16, false, UINT64_MAX));
		same(s, look(path, 5000, true, UINT64_MAX));
	}
	look(path, 0, false, size / 2);
	as_calls(path);
	return 0;
}
