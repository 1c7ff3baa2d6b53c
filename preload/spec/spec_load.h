/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State while a spec file is read: its memory, and the receiver of error messages. Every function
 * in spec/ gets the load that it works for; there is no other state.
 *
 * If memory or the arena's limit is exceeded, reading ends by a longjmp() into load_try(). So no
 * function of spec/ holds anything that would have to be freed (the YAML reader belongs to the
 * load).
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
	load_say_fn *say; /* receives one error; no newline */
	void *arg;
	unsigned failures;
	/*
	 * The file is a user's, read in the job's process: its functions have no adapter, are
	 * called through libffi, and may be C++ functions.
	 */
	bool run_time;
	struct reader *reader; /* open, or NULL */
	jmp_buf out;
};

#define LOAD_PRINTF(a, b) __attribute__((format(printf, a, b)))

/*
 * Calls run(l, arg). Returns 0, -ENOMEM, or -E2BIG (the arena's limit). All memory stays in the arena until
 * arena_free(&l->arena).
 */
int load_try(struct spec_load *l, void (*run)(struct spec_load *l, void *arg), void *arg);

/* Reports an error; reading continues, so that all errors are reported. */
void load_fail(struct spec_load *l, struct pos at, const char *fmt, ...) LOAD_PRINTF(3, 4);

/* Allocate from the load's arena. They never return NULL. */
void *load_new(struct spec_load *l, size_t size); /* zeroed */
char *load_print(struct spec_load *l, const char *fmt, ...) LOAD_PRINTF(2, 3);
char *load_vprint(struct spec_load *l, const char *fmt, va_list ap) LOAD_PRINTF(2, 0);
char *load_text(struct spec_load *l, const char *s, size_t n);
/*
 * Returns `array`, moved if necessary, with space for one more element after n elements of `size`
 * bytes.
 */
void *load_grow(struct spec_load *l, void *array, size_t n, size_t size);

#endif
