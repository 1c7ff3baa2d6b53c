/* SPDX-License-Identifier: Apache-2.0 */
#include "config/marker.h"

#include <string.h>

static bool has_blank(const char *text, size_t len)
{
	return memchr(text, ' ', len) || memchr(text, '\t', len);
}

const char *marker_parse(const char *text, size_t len, struct marker *m)
{
	const char *end = text + len, *first = len ? memchr(text, ':', len) : NULL, *last = first;

	memset(m, 0, sizeof(*m));
	if (!len)
		return NULL;
	m->form = MARKER_FUNCTION;
	if (!first || (first + 1 < end && first[1] == ':')) {
		if (has_blank(text, len))
			return "a function's name holds no blank";
		if (text[0] == ':' || end[-1] == ':' || end[-1] == '.')
			return "a part of the name is missing";
		return NULL;
	}
	for (const char *p = first + 1; (p = memchr(p, ':', (size_t)(end - p))); p++)
		last = p;
	if (last == first || first == text || last == first + 1 || last + 1 == end)
		return "not of the form language:file:function";
	m->form = MARKER_LANGUAGE;
	m->language = text;
	m->nlanguage = (size_t)(first - text);
	m->file = first + 1;
	m->nfile = (size_t)(last - m->file);
	m->function = last + 1;
	m->nfunction = (size_t)(end - m->function);
	if (has_blank(m->function, m->nfunction))
		return "a function's name holds no blank";
	return NULL;
}

/* True if s ends with `tail`, and `tail` starts at the beginning of s or after a separator. */
static bool has_marker_tail(const char *s, const char *tail, size_t n, char separator)
{
	size_t len = strlen(s);

	return len >= n && memcmp(s + len - n, tail, n) == 0 &&
	       (len == n || s[len - n - 1] == separator || *tail == separator);
}

bool marker_is(const struct marker *m, const char *language, const char *file, const char *function)
{
	return strlen(language) == m->nlanguage &&
	       memcmp(language, m->language, m->nlanguage) == 0 &&
	       has_marker_tail(file, m->file, m->nfile, '/') &&
	       has_marker_tail(function, m->function, m->nfunction, '.');
}
