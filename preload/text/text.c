/* SPDX-License-Identifier: Apache-2.0 */
#include "text/text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/decimal.h"
#include "text/write.h"

void text_add_bytes(struct text *t, const char *s, size_t n)
{
	size_t space = t->cap - 1 - t->len;

	if (n > space) {
		n = space;
		t->cut = true;
	}
	memcpy(t->buf + t->len, s, n);
	t->len += n;
	t->buf[t->len] = 0;
}

void text_add_string(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
	if (__builtin_expect(t->len + 1 >= t->cap, 0)) {
		t->cut = true;
		return;
	}
	t->buf[t->len++] = c;
	t->buf[t->len] = 0;
}

void text_add_u64(struct text *t, uint64_t v)
{
	char tmp[20 + WRITE_SLACK];

	text_add_bytes(t, tmp, (size_t)(write_u64(tmp, v) - tmp));
}

void text_add_i64(struct text *t, int64_t v)
{
	if (v < 0)
		text_add_char(t, '-');
	text_add_u64(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void text_add_hex(struct text *t, uint64_t v, int digits)
{
	char tmp[16];
	int i = 16;

	do
		tmp[--i] = "0123456789abcdef"[v & 15];
	while ((v >>= 4) || 16 - i < digits);
	text_add_bytes(t, tmp + i, (size_t)(16 - i));
}

void text_add_double(struct text *t, double v, int digits)
{
	char tmp[DECIMAL_TEXT_MAX];
	int n = 0;

	if (isnan(v)) {
		text_add_string(t, "nan");
		return;
	}
	if (isinf(v)) {
		text_add_string(t, v < 0 ? "-inf" : "inf");
		return;
	}
	if (digits >= 1 && digits <= DECIMAL_DIGITS_MAX)
		n = decimal_format(tmp, v, digits);
	if (n) {
		text_add_bytes(t, tmp, (size_t)n);
		return;
	}
	/* The C locale object is static in glibc: no allocation, and only this thread sees the change. */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t was = c ? uselocale(c) : (locale_t)0;

	n = snprintf(tmp, sizeof(tmp), "%.*g", digits, v);

	if (c)
		uselocale(was);
	text_add_bytes(t, tmp, n > 0 ? (size_t)n : 0);
}

int text_measure_utf8(const char *str)
{
	const unsigned char *s = (const unsigned char *)str;
	int n = s[0] < 0x80		      ? 1
		: s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		: (s[0] & 0xf0) == 0xe0	      ? 3
		: s[0] >= 0xf0 && s[0] < 0xf5 ? 4
					      : 0;

	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static int parse_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

int text_format_escape(const char *s, char out[5])
{
	int n = text_measure_utf8(s);
	bool escape = !n || (s[0] == '\\' && s[1] == 'x' && parse_hex_digit(s[2]) >= 0 &&
				    parse_hex_digit(s[3]) >= 0);

	if (escape) {
		out[0] = '\\';
		out[1] = 'x';
		out[2] = "0123456789abcdef"[(unsigned char)*s >> 4];
		out[3] = "0123456789abcdef"[*s & 15];
		out[4] = 0;
		return 1;
	}
	memcpy(out, s, (size_t)n);
	out[n] = 0;
	return n;
}

void text_escaped(struct text *t, const char *s)
{
	char c[5];

	while (*s) {
		s += text_format_escape(s, c);
		text_add_string(t, c);
	}
}

size_t text_parse_escapes(char *to, const char *s, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		bool escaped = s[i] == '\\' && n - i >= 4 && s[i + 1] == 'x' &&
			       parse_hex_digit(s[i + 2]) >= 0 && parse_hex_digit(s[i + 3]) >= 0;

		to[len++] =
			escaped ? (char)(parse_hex_digit(s[i + 2]) * 16 + parse_hex_digit(s[i + 3]))
				: s[i];
		i += escaped ? 3 : 0;
	}
	return len;
}

void text_add_json(struct text *t, const char *s)
{
	text_add_char(t, '"');
	for (const unsigned char *p = (const unsigned char *)s; *p;) {
		char c[5];
		int n = text_format_escape((const char *)p, c);

		if (*p < 0x20 || *p == 0x7f) {
			text_add_string(t, "\\u00");
			text_add_hex(t, *p, 2);
		} else {
			if (c[0] == '"' || c[0] == '\\')
				text_add_char(t, '\\');
			text_add_string(t, c);
		}
		p += n;
	}
	text_add_char(t, '"');
}

void text_add_format(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(t->buf + t->len, t->cap - t->len, fmt, ap);

	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= t->cap - t->len) {
		t->len = t->cap - 1;
		t->cut = true;
	} else {
		t->len += (size_t)n;
	}
}
