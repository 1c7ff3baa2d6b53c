/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/json_check.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "text/text.h"

#define DEPTH_MAX 16

static const char *read_past_space(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

static const char *read_past_digits(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n ? s + n : NULL;
}

/* Each function returns the position after the element at s, or NULL if there is none. */

static const char *read_past_number(const char *s)
{
	s += *s == '-';
	s = *s == '0' ? s + 1 : read_past_digits(s);
	if (s && *s == '.')
		s = read_past_digits(s + 1);
	if (s && (*s == 'e' || *s == 'E')) {
		s++;
		s = read_past_digits(s + (*s == '+' || *s == '-'));
	}
	return s;
}

static const char *read_past_string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	while (*s != '"') {
		int n = text_measure_utf8(s);

		if ((unsigned char)*s < 0x20 || !n)
			return NULL;
		if (*s != '\\') {
			s += n;
		} else if (s[1] == 'u') {
			for (int i = 2; i < 6; i++)
				if (!isxdigit((unsigned char)s[i]))
					return NULL;
			s += 6;
		} else if (s[1] && strchr("\"\\/bfnrt", s[1])) {
			s += 2;
		} else {
			return NULL;
		}
	}
	return s + 1;
}

static const char *read_past_value(const char *s, int depth);

/* Skips items up to `close`, each with a key in an object. */
static const char *read_past_list(const char *s, char close, int depth)
{
	s = read_past_space(s + 1);
	if (*s == close)
		return s + 1;
	while (s) {
		if (close == '}') {
			s = read_past_string(s);
			s = s ? read_past_space(s) : NULL;
			if (!s || *s++ != ':')
				return NULL;
		}
		s = read_past_value(read_past_space(s), depth + 1);
		s = s ? read_past_space(s) : NULL;
		if (s && *s == close)
			return s + 1;
		s = s && *s == ',' ? read_past_space(s + 1) : NULL;
	}
	return NULL;
}

static const char *read_past_value(const char *s, int depth)
{
	static const char *const words[] = {"true", "false", "null"};

	if (depth > DEPTH_MAX)
		return NULL;
	if (*s == '{' || *s == '[')
		return read_past_list(s, *s == '{' ? '}' : ']', depth);
	if (*s == '"')
		return read_past_string(s);
	for (int i = 0; i < 3; i++)
		if (strncmp(s, words[i], strlen(words[i])) == 0)
			return s + strlen(words[i]);
	return read_past_number(s);
}

bool json_is_value(const char *s)
{
	s = read_past_value(read_past_space(s), 0);
	return s && *read_past_space(s) == 0;
}
