/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds text in a buffer of fixed size. Text that does not fit is cut, which sets `cut`; the
 * text is always NUL-terminated. The format of numbers never depends on the job's locale.
 */
#ifndef PROBE_BASE_TEXT_H
#define PROBE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *buf;
	size_t len, cap; /* cap >= 1, including the NUL */
	bool cut;
};

static inline struct text text_over(char *buf, size_t cap)
{
	buf[0] = 0;
	return (struct text){buf, 0, cap, false};
}

void text_put(struct text *t, const char *s, size_t n);
void text_str(struct text *t, const char *s);
void text_char(struct text *t, char c);
void text_u64(struct text *t, uint64_t v);
void text_i64(struct text *t, int64_t v);
void text_hex(struct text *t, uint64_t v, int digits); /* at least `digits` digits */
/* as %.<digits>g in the C locale; inf, -inf, nan */
void text_double(struct text *t, double v, int digits);
void text_json(
	/* as a quoted string with escapes; invalid UTF-8 as in text_escape() */
	struct text *t, const char *s);
int text_utf8_len(const char *s); /* bytes of the valid UTF-8 sequence at s, 0 if there is none */

/*
 * Text of the job is always written as UTF-8. An invalid byte is written as \xNN, and so is a
 * backslash that would look like the start of \xNN. text_escape() writes one character of s (not
 * empty) into `out`, at most 4 bytes and a NUL, and returns how many bytes of s it used.
 * text_unescape() decodes the n bytes at s into `to` (space for n bytes, may be s), and returns
 * their number.
 */
int text_escape(const char *s, char out[5]);
void text_escaped(struct text *t, const char *s); /* all of s through text_escape() */
size_t text_unescape(char *to, const char *s, size_t n);
void text_fmt(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))); /* does not accept floats */

#endif
