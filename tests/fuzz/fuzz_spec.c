/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as custom.yaml, and after a NUL byte any symbols, NUL between them.
 *
 *	make build/libcore.a
 *	clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Ipreload tests/fuzz/fuzz_spec.c \
 *		preload/spec/[a-z]*.c preload/config/{reader,report,glob}.c preload/base/{dtype,redop}.c -lyaml -o fuzz_spec
 *	./fuzz_spec -max_len=4096 corpus/ configs/apis/
 *
 * Beside crashes it looks for: messages without a place, rows that are kept in spite of a mistake, rows that cannot be
 * called, names that are not what they were a moment ago.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/list/glob.h"
#include "elf/demangle/demangle.h"
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

#define ARENA_MAX ((size_t)16 << 20)

static const struct kind kind_list[] = {
	{.name = "barrier", .op = "barrier", .collective = true},
	{.name = "allreduce",
		.op = "all_reduce",
		.collective = true,
		.nin = 1,
		.in = {{EXT_PRODUCT, ON_ALL, ROLE_SEND, ROLE_SDTYPE, .term = {ROLE_COUNT},
			.nterm = 1}},
		.nout = 1,
		.out = {{EXT_PRODUCT, ON_ALL, ROLE_RECV, ROLE_RDTYPE, .term = {ROLE_COUNT},
			.nterm = 1}}},
	{.name = "bcast",
		.op = "broadcast",
		.collective = true,
		.rooted = true,
		.nout = 1,
		.out = {{EXT_PRODUCT, ON_ALL, ROLE_BUF, ROLE_DTYPE, .term = {ROLE_COUNT},
			.nterm = 1}}},
	{.name = "send",
		.op = "send",
		.nin = 1,
		.in = {{EXT_PRODUCT, ON_ALL, ROLE_SEND, ROLE_SDTYPE, .term = {ROLE_COUNT},
			.nterm = 1}}},
};

struct input {
	const char *text;
	size_t len;
	bool own; /* as genwrap reads it */
};

static void say(void *arg, struct pos at, const char *fmt, va_list ap)
{
	char line[256];

	(void)arg;
	CHECK(at.line >= 1 && at.col >= 1 && strcmp(at.file, "fuzz.yaml") == 0);
	CHECK(vsnprintf(line, sizeof(line), fmt, ap) > 0);
}

static void check_type(const struct type *t)
{
	CHECK(t->ctype <= CT_STRUCT);
	if (t->ctype != CT_STRUCT)
		return;
	CHECK(t->members && t->members->n && t->members->size && t->members->align);
	CHECK(t->members->size % t->members->align == 0);
	for (unsigned i = 0; i < t->members->n; i++)
		CHECK(t->members->member[i] > CT_VOID && t->members->member[i] < CT_STRUCT);
}

static void check_row(const struct func *f)
{
	CHECK(f->symbol && *f->symbol && f->list && f->args.n <= API_ARGS_MAX);
	CHECK(f->completion == DONE_RETURN);
	CHECK((f->task == TASK_DATA) == (f->kind != NULL));
	CHECK(f->find == FIND_SYMBOL || !glob_check(f->symbol));
	check_type(&f->ret);
	for (unsigned i = 0; i < f->args.n; i++) {
		check_type(&f->args.item[i].type);
		CHECK(f->args.item[i].type.ctype != CT_VOID);
	}
}

static void run(struct spec_load *l, void *arg)
{
	const struct input *in = arg;
	const struct kinds kinds = {kind_list, sizeof(kind_list) / sizeof(kind_list[0])};
	struct nodes docs = nodes_read(l, "fuzz.yaml", in->text, in->len);

	for (unsigned i = 0; i < docs.n; i++) {
		struct funcs funcs = {NULL, 0};

		spec_read(l, "fuzz.yaml", docs.item[i], &kinds, &funcs);
		funcs_sort(l, &funcs);
		for (unsigned k = 0; k < funcs.n && !in->own; k++)
			check_row(funcs.item[k]);
	}
}

static void read_it(const char *text, size_t len, bool own)
{
	struct spec_load l = {.arena.limit = ARENA_MAX, .say = say, .run_time = !own};
	struct input in = {text, len, own};
	int err = load_try(&l, run, &in);

	CHECK(err == 0 || err == -12 /* ENOMEM */ || err == -7 /* E2BIG */);
	arena_free(&l.arena);
}

static void name_it(const char *symbol)
{
	char a[300], b[300];
	struct cxx_params p;
	int n = format_cxx_symbol(symbol, a, sizeof(a), &p);

	CHECK(n == format_cxx_symbol(symbol, b, sizeof(b), NULL));
	if (n < 0)
		return;
	CHECK(n < (int)sizeof(a) && (int)strlen(a) == n && strcmp(a, b) == 0);
	CHECK(p.n >= -1 && p.n <= CXX_PARAMS_MAX);
	/* One byte less is not enough. */
	CHECK(format_cxx_symbol(symbol, b, (size_t)n, NULL) == -1);
	CHECK(format_cxx_symbol(symbol, b, (size_t)n + 1, NULL) == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t len = nul ? (size_t)(nul - data) : size;
	char *text = calloc(1, size + 1);

	CHECK(text);
	memcpy(text, data, size);
	read_it(text, len, false);
	read_it(text, len, true);
	for (const char *p = text + len; p < text + size; p += strlen(p) + 1)
		name_it(p);
	if (size && size < 200 && !nul)
		name_it(text);
	free(text);
	return 0;
}
