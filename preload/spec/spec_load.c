/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/spec_load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/reader.h"

int load_try(struct spec_load *l, void (*run)(struct spec_load *l, void *arg), void *arg)
{
	int err = setjmp(l->out);

	if (!err) {
		run(l, arg);
		return 0;
	}
	if (l->reader) {
		reader_close(l->reader);
		l->reader = NULL;
	}
	return -err;
}

void load_fail(struct spec_load *l, struct pos at, const char *fmt, ...)
{
	va_list ap;

	l->failures++;
	va_start(ap, fmt);
	l->say(l->arg, at, fmt, ap);
	va_end(ap);
}

void *load_new(struct spec_load *l, size_t size)
{
	void *p = arena_new(&l->arena, size);

	if (!p)
		longjmp(l->out, l->arena.used + size > l->arena.limit ? E2BIG : ENOMEM);
	return p;
}

char *load_text(struct spec_load *l, const char *s, size_t n)
{
	char *t = load_new(l, n + 1);

	memcpy(t, s, n);
	return t;
}

char *load_vprint(struct spec_load *l, const char *fmt, va_list ap)
{
	va_list again;
	char *t;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		longjmp(l->out, ENOMEM);
	t = load_new(l, (size_t)n + 1);
	vsnprintf(t, (size_t)n + 1, fmt, ap);
	return t;
}

char *load_print(struct spec_load *l, const char *fmt, ...)
{
	va_list ap;
	char *t;

	va_start(ap, fmt);
	t = load_vprint(l, fmt, ap);
	va_end(ap);
	return t;
}

void *load_grow(struct spec_load *l, void *array, size_t n, size_t size)
{
	void *larger;

	/* Arrays grow at 0, 8, 16, 32 ... elements: they are full at powers of two. */
	if (n && (n < 8 || (n & (n - 1))))
		return array;
	larger = load_new(l, (n < 8 ? 8 : 2 * n) * size);
	if (n)
		memcpy(larger, array, n * size);
	return larger;
}
