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

static inline struct text text_init(char *buf, size_t cap)
{
	buf[0] = 0;
	return (struct text){buf, 0, cap, false};
}

void text_add_bytes(struct text *t, const char *s, size_t n);
void text_add_string(struct text *t, const char *s);
void text_add_char(struct text *t, char c);
void text_add_u64(struct text *t, uint64_t v);
void text_add_i64(struct text *t, int64_t v);
void text_add_hex(struct text *t, uint64_t v, int digits); /* at least `digits` digits */
/* as %.<digits>g in the C locale; inf, -inf, nan */
void text_add_double(struct text *t, double v, int digits);
void text_add_json(
	/* as a quoted string with escapes; invalid UTF-8 as in text_format_escape() */
	struct text *t, const char *s);
int text_measure_utf8(
	const char *s); /* bytes of the valid UTF-8 sequence at s, 0 if there is none */

/*
 * Text of the job is always written as UTF-8. An invalid byte is written as \xNN, and so is a
 * backslash that would look like the start of \xNN. text_format_escape() writes one character of s (not
 * empty) into `out`, at most 4 bytes and a NUL, and returns how many bytes of s it used.
 * text_parse_escapes() decodes the n bytes at s into `to` (space for n bytes, may be s), and returns
 * their number.
 */
int text_format_escape(const char *s, char out[5]);
void text_escaped(struct text *t, const char *s); /* all of s through text_format_escape() */
size_t text_parse_escapes(char *to, const char *s, size_t n);
void text_add_format(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))); /* does not accept floats */

#endif
