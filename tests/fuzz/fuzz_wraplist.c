/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as support_wrap_ops.yaml, and after a NUL byte any names to ask for, NUL between them.
 *
 *	clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Ipreload tests/fuzz/fuzz_wraplist.c \
 *		preload/config/{,import/,list/,load/}[a-z]*.c preload/terms/[a-z]*.c preload/stats/fenv.c preload/text/text.c -lyaml -o fuzz_wraplist
 *	./fuzz_wraplist -max_len=4096 corpus/ configs/
 *
 * Beside crashes it looks for: patterns that fnmatch(3) reads otherwise, unknown names that are reported twice, known
 * ones that are reported at all.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/builtin.h"
#include "config/config.h"
#include "config/list/glob.h"
#include "config/list/wraplist.h"

const struct builtin_text builtin_texts[] = {
	{"support_wrap_ops.yaml", "a:\n  - b\n"}, {NULL, NULL}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static void count(void *arg, const char *line)
{
	CHECK(*line && strlen(line) < 512);
	for (; *line; line++)
		CHECK((unsigned char)*line >= 0x20 && *line != 0x7f);
	++*(unsigned *)arg;
}

static void check_glob(const char *pattern, const char *name)
{
	glob_match(pattern, name);
	if (glob_check(pattern) || strlen(pattern) > 16 || strlen(name) > 16)
		return; /* fnmatch takes exponential time */
	CHECK(glob_match(pattern, name) == (fnmatch(pattern, name, 0) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t len = nul ? (size_t)(nul - data) : size;
	unsigned lines = 0;
	char *names = calloc(1, size - len + 2);
	struct wraplist *w;

	CHECK(names);
	memcpy(names, data + len, size - len);
	w = wraplist_load_text("fuzz.yaml", (const char *)data, len, count, &lines);
	CHECK(w);
	CHECK(lines <= 34);
	CHECK(!wraplist_match(w, "no such section", "b"));
	/* name NUL section or pattern NUL ... */
	for (const char *p = names + 1; p < names + (size - len) + 1;) {
		const char *section = p + strlen(p) < names + (size - len) ? p + strlen(p) + 1 : p;
		bool hit = wraplist_match(w, section, p);

		CHECK(hit == wraplist_match(w, section, p));
		check_glob(section, p);
		wraplist_match(w, "mpi", p);
		p += strlen(p) + 1;
	}
	lines = 0;
	wraplist_match(w, "a", "b");
	wraplist_emit_unknown(w, "a", count, &lines);
	CHECK(lines <= 33);
	lines = 0;
	wraplist_emit_unknown(w, "a", count, &lines);
	CHECK(lines == 0);
	wraplist_free(w);
	free(names);
	return 0;
}
