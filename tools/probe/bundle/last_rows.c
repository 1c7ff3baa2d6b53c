/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/bundle/last_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "tools/lib/tool.h"

#define HEADER_MAX 65536
#define ROW_BYTES 4096u /* rows are shorter than this on average */
#define PIECE (1u << 20)

struct tail {
	char *text;
	size_t n, cap;
	size_t keep; /* minimum number of bytes before the end that are kept */
	int cut; /* the beginning was dropped */
};

static void remove_beginning(struct tail *t)
{
	if (t->n < 2 * t->keep + PIECE)
		return;
	memmove(t->text, t->text + t->n - t->keep, t->keep);
	t->n = t->keep;
	t->cut = 1;
}

/* Returns 0, or -1 if the rest cannot be read. What was read before is kept. */
static int read_tail(struct tail *t, gzFile g)
{
	int n;

	for (;;) {
		if (t->cap < t->n + PIECE) {
			t->cap = t->n + PIECE;
			t->text = tool_realloc(t->text, t->cap);
		}
		n = gzread(g, t->text + t->n, PIECE);
		if (n <= 0)
			return n;
		t->n += (size_t)n;
		remove_beginning(t);
	}
}

/*
 * Returns the offset of the last `max` whole lines; *rows: their number. An unterminated last line
 * does not count.
 */
static size_t find_last_lines(struct tail *t, unsigned max, unsigned *rows)
{
	size_t at;

	while (t->n && t->text[t->n - 1] != '\n')
		t->n--;
	*rows = 0;
	for (at = t->n; at && *rows < max;) {
		const char *end = at > 1 ? memrchr(t->text, '\n', at - 1) : NULL;

		/* The first line may lack its beginning. */
		if (!end && t->cut)
			break;
		at = end ? (size_t)(end - t->text) + 1 : 0;
		++*rows;
	}
	return at;
}

char *read_last_rows(const char *path, unsigned max, size_t *bytes, unsigned *rows, int *whole)
{
	struct tail t = {.keep = (size_t)max * ROW_BYTES + PIECE};
	char header[HEADER_MAX], *text = NULL;
	struct stat st;
	gzFile g = gzopen(path, "rbe");
	size_t at, n;

	if (!g)
		return NULL;
	if (gzgets(g, header, sizeof(header)) && (n = strlen(header)) && header[n - 1] == '\n') {
		if (gzdirect(g) && stat(path, &st) == 0 && (size_t)st.st_size > n + t.keep) {
			t.cut = 1;
			gzseek(g, (z_off_t)((size_t)st.st_size - t.keep), SEEK_SET);
		}
		(void)read_tail(&t, g);
		at = find_last_lines(&t, max, rows);
		*whole = !t.cut && !at;
		*bytes = n + t.n - at;
		text = tool_alloc(*bytes + 1);
		memcpy(text, header, n);
		if (t.n > at)
			memcpy(text + n, t.text + at, t.n - at);
	}
	gzclose(g);
	free(t.text);
	return text;
}
