/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL_SHOWN 25 /* one mistake can have many consequences */

static void print_spec_error(void *arg, struct pos at, const char *fmt, va_list ap)
{
	(void)arg;
	if (gen.failures > FAIL_SHOWN)
		return;
	fprintf(stderr, "%s:%u:%u: ", at.file, at.line, at.col);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

struct spec_load gen = {.arena = {.limit = SIZE_MAX / 4}, .say = print_spec_error};

void gen_die(const char *fmt, ...)
{
	va_list ap;

	fputs("genwrap: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

int gen_get_exit_status(void)
{
	if (gen.failures > FAIL_SHOWN)
		fprintf(stderr, "genwrap: %u more errors\n", gen.failures - FAIL_SHOWN);
	return gen.failures ? 1 : 0;
}

const char *gen_get_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *gen_read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	size_t cap = 1 << 16, n = 0, got;
	char *t = malloc(cap), *kept;

	if (!f || !t)
		gen_die("cannot read %s: %s", path, strerror(errno));
	while ((got = fread(t + n, 1, cap - n, f)) > 0) {
		n += got;
		if (n == cap) {
			cap *= 2;
			t = realloc(t, cap);
			if (!t)
				gen_die("out of memory");
		}
	}
	if (ferror(f))
		gen_die("cannot read %s: %s", path, strerror(errno));
	fclose(f);
	kept = mem_text(t, n);
	free(t);
	*len = n;
	return kept;
}

struct node *yaml_read(const char *path)
{
	struct nodes docs;
	size_t len;
	char *text = gen_read_file(path, &len);

	docs = nodes_read(&gen, path, text, len);
	if (docs.n > 1)
		fail(docs.item[1]->at,
			"a second YAML document begins here; each file describes one library");
	return docs.n ? docs.item[0] : NULL;
}
