/* SPDX-License-Identifier: Apache-2.0 */
/* Files are generated in memory and written at the end, so that an error found late leaves no partial output. */
#include "gen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct out {
	struct out *next;
	const char *name;
	char *text;
	size_t len, cap;
};

static struct out *files;

struct out *add_output(const char *name)
{
	struct out *o = mem_new(sizeof(*o));

	o->name = name;
	o->next = files;
	files = o;
	return o;
}

static void append_bytes(struct out *o, const char *s, size_t n)
{
	if (o->len + n + 1 > o->cap) {
		size_t cap = o->cap ? o->cap : 4096;

		while (cap < o->len + n + 1)
			cap *= 2;
		o->text = realloc(o->text, cap);
		if (!o->text)
			gen_die("out of memory");
		o->cap = cap;
	}
	memcpy(o->text + o->len, s, n);
	o->len += n;
	o->text[o->len] = '\0';
}

void write_format(struct out *o, const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		gen_die("%s: a line is too long", o->name);
	append_bytes(o, line, (size_t)n);
}

void write_c_text(struct out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			write_format(o, "\\%c", c);
		else if (c == '\n')
			write_format(o, "\\n");
		else if (c == '\t')
			write_format(o, "\\t");
		else if (c < 0x20 || c >= 0x7f || c == '?')
			write_format(o, "\\%03o",
				c); /* three digits need no terminator; ? could begin a trigraph */
		else
			append_bytes(o, s + i, 1);
	}
}

void write_file_header(struct out *o, const char *source, const char *note)
{
	write_format(
		o, "/* Made by genwrap from %s; change that file instead. %s */\n", source, note);
}

static bool is_file_unchanged(const char *path, const struct out *o)
{
	FILE *f = fopen(path, "rb");
	bool equal = true;
	size_t at = 0, n;
	char buf[65536];

	if (!f)
		return false;
	while (equal && (n = fread(buf, 1, sizeof(buf), f)) > 0) {
		equal = n <= o->len - at && memcmp(buf, o->text + at, n) == 0;
		at += n;
	}
	equal = equal && at == o->len && !ferror(f);
	fclose(f);
	return equal;
}

void out_write(const char *dir)
{
	for (struct out *o = files; o; o = o->next) {
		const char *path = dir ? mem_print("%s/%s", dir, o->name) : o->name;
		const char *tmp = mem_print("%s.tmp%ld", path, (long)getpid());
		FILE *f;
		bool bad;

		/* make compares times: an unchanged file must not trigger a compilation. */
		if (is_file_unchanged(path, o))
			continue;
		f = fopen(tmp, "wb");
		if (!f)
			gen_die("cannot write %s: %s", tmp, strerror(errno));
		bad = fwrite(o->text, 1, o->len, f) != o->len;
		bad |= fclose(f) != 0;
		if (bad || rename(tmp, path) != 0) {
			int e = errno;

			unlink(tmp);
			gen_die("cannot write %s: %s", path, strerror(e));
		}
	}
}
