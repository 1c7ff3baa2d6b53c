/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spec file being read: where its memory comes from and where mistakes are reported. Everything in this room gets
 * the load it works for; nothing is kept anywhere else.
 *
 * Out of memory, or beyond the arena's limit, the reading is given up by a jump back into load_try(): so no function
 * here holds anything that would have to be given back (the YAML reader hangs on the load).
 */
#ifndef PROBE_SPEC_SPEC_LOAD_H
#define PROBE_SPEC_SPEC_LOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "spec/arena.h"

struct reader;

struct pos {
	const char *file;
	unsigned line, col; /* from 1 */
};

typedef void load_say_fn(void *arg, struct pos at, const char *fmt, va_list ap);

struct spec_load {
	struct arena arena;
	load_say_fn *say; /* one mistake; no newline */
	void *arg;
	unsigned failures;
	/*
	 * The file is a user's, read in the job's process: its functions have no adapter, they are called through
	 * libffi, and they may be C++.
	 */
	bool run_time;
	struct reader *reader; /* open, or NULL */
	jmp_buf out;
};

#define LOAD_PRINTF(a, b) __attribute__((format(printf, a, b)))

/*
 * Calls run(l, arg). Returns 0, or why it was given up: -ENOMEM, -E2BIG (the arena's limit). What was made stays in the
 * arena until arena_free(&l->arena).
 */
int load_try(struct spec_load *l, void (*run)(struct spec_load *l, void *arg), void *arg);

/* Reports a mistake; reading goes on, so that all of them are reported. */
void load_fail(struct spec_load *l, struct pos at, const char *fmt, ...) LOAD_PRINTF(3, 4);

/* These never return NULL. */
void *load_new(struct spec_load *l, size_t size); /* zeroed */
char *load_print(struct spec_load *l, const char *fmt, ...) LOAD_PRINTF(2, 3);
char *load_vprint(struct spec_load *l, const char *fmt, va_list ap) LOAD_PRINTF(2, 0);
char *load_text(struct spec_load *l, const char *s, size_t n);
/* Returns `array` with room for one more behind n elements of `size` bytes. */
void *load_grow(struct spec_load *l, void *array, size_t n, size_t size);

#endif
