/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/key.h"

bool config_is_note(const char *line)
{
	return strstr(line, ": " CONFIG_NOTE) != NULL;
}

void report_start(struct report *r, config_report_fn *fn, void *arg, const char *file)
{
	*r = (struct report){.fn = fn, .arg = arg, .file = file};
}

/* Moves a cut at `len` back so that no UTF-8 character is cut in two. */
static size_t get_whole_characters(const char *s, size_t len)
{
	size_t at = len;

	while (at > 0 && len - at < 3 && ((unsigned char)s[at] & 0xc0) == 0x80)
		at--;
	return ((unsigned char)s[at] & 0xc0) == 0x80 ? len : at;
}

static void emit_report_line(struct report *r, char line[REPORT_LINE_MAX], int len)
{
	if (len >= REPORT_LINE_MAX) {
		size_t at = get_whole_characters(line, REPORT_LINE_MAX - 4);

		memcpy(line + at, "...", 4);
	}
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	r->fn(r->arg, line);
}

void report_emit_at(struct report *r, size_t line, size_t col, const char *fmt, ...)
{
	char buf[REPORT_LINE_MAX];
	size_t flen = strlen(r->file);
	const char *file = r->file;
	int n;

	if (!r->fn)
		return;
	if (!r->lines && r->can_parse)
		r->held = !r->can_parse(r->text_of);
	r->can_parse = NULL;
	if (r->held || r->lines++ >= REPORT_LINES)
		return;
	if (flen > REPORT_FILE_MAX) {
		file += flen - REPORT_FILE_MAX;
		while (((unsigned char)*file & 0xc0) == 0x80)
			file++;
	}

	const char *dots = file == r->file ? "" : "...";

	if (line)
		n = snprintf(buf, sizeof(buf), "%s%s:%zu:%zu: ", dots, file, line, col);
	else
		n = snprintf(buf, sizeof(buf), "%s%s: ", dots, file);
	if (n < 0)
		return;

	va_list ap;

	va_start(ap, fmt);
	int m = vsnprintf(buf + n, sizeof(buf) - (size_t)n, fmt, ap);

	va_end(ap);
	if (m >= 0)
		emit_report_line(r, buf, n + m);
}

void report_stop(struct report *r)
{
	char buf[REPORT_LINE_MAX];

	if (!r->fn || r->lines <= REPORT_LINES)
		return;
	emit_report_line(r, buf,
		snprintf(buf, sizeof(buf), "%.*s: %u further problems are not shown",
			REPORT_FILE_MAX, r->file, r->lines - REPORT_LINES));
	r->lines = 0;
}

char *report_format_quoted(char out[REPORT_VALUE_MAX], const char *text, size_t len)
{
	const size_t room = REPORT_VALUE_MAX - 6; /* quotes, dots, NUL */
	size_t n = len > room ? get_whole_characters(text, room) : len;
	char *p = out;

	*p++ = '"';
	for (size_t i = 0; i < n; i++)
		*p++ = text[i] ? text[i] : '?'; /* other control characters: emit_report_line() */
	memcpy(p, n < len ? "...\"" : "\"", n < len ? 5 : 2);
	return out;
}
