/* SPDX-License-Identifier: Apache-2.0 */
/* Cells with text, quoted where readers of CSV and spreadsheets need it. */
#include <string.h>

#include "sink/column.h"

/* Bytes that a cell cannot hold unquoted, anywhere or at its beginning. */
static const bool special[256] = {['"'] = true,
	[','] = true,
	['\r'] = true,
	['\n'] = true,
	['\\'] = true,
	[0x80 ... 0xff] = true};

/* True if spreadsheets take a cell with those bytes of s, at most max, for a formula. */
static bool is_like_formula(const char *s, size_t max)
{
	for (; max && *s == '\''; max--)
		s++;
	return max && (*s == '=' || *s == '+' || *s == '-' || *s == '@');
}

/* Writes at most max bytes of s, in at most `most` bytes; whole characters. */
static void write_text_cell(struct text *out, const char *s, size_t max, size_t most)
{
	size_t first = strcspn(s, ",\"\r\n");
	bool quoted = s[first] && first < max, marked = is_like_formula(s, max);

	if (quoted)
		text_add_char(out, '"');
	if (marked)
		text_add_char(out, '\'');
	most -= marked;
	while (max && *s) {
		char c[5];
		size_t n = (size_t)text_format_escape(s, c), bytes = strlen(c) + (*s == '"');

		if (n > max || bytes > most)
			break;
		if (*s == '"')
			text_add_char(out, '"');
		text_add_string(out, c);
		s += n;
		max -= n;
		most -= bytes;
	}
	if (quoted)
		text_add_char(out, '"');
}

/* Number of bytes of s, at most max, if a cell can hold it unquoted; else SIZE_MAX. */
static size_t measure_plain_text(const char *s, size_t max)
{
	size_t n = 0;

	if (is_like_formula(s, max))
		return SIZE_MAX;
	while (n < max && s[n] && !special[(unsigned char)s[n]])
		n++;
	return n == max || !s[n] ? n : SIZE_MAX;
}

void csv_add_field_max(struct text *out, const char *s, size_t max)
{
	size_t n = measure_plain_text(s, max);

	if (n != SIZE_MAX)
		text_add_bytes(out, s, n);
	else
		write_text_cell(out, s, max, 2 * max);
}

void csv_add_field(struct text *out, const char *s)
{
	write_text_cell(out, s, SIZE_MAX, SIZE_MAX);
}

void csv_close_row(struct text *out)
{
	out->len--;
	text_add_char(out, '\n');
}

char *csv_write_field(char *p, const char *s, size_t max)
{
	char *at = p;
	size_t n = 0;

	for (; n < max && s[n] && !special[(unsigned char)s[n]]; n++)
		*at++ = s[n];
	if (n < max && !s[n] && !is_like_formula(s, n))
		return at;

	struct text t = text_init(p, 2 * max + 3);

	csv_add_field_max(&t, s, max);
	return p + t.len;
}
