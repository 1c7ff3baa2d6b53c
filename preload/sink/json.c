/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/json.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define DEPTH_MAX 16

static const char *space(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

static const char *digits(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n ? s + n : NULL;
}

/* Each returns what is behind the thing at s, or NULL if there is none. */

static const char *number(const char *s)
{
	s += *s == '-';
	s = *s == '0' ? s + 1 : digits(s);
	if (s && *s == '.')
		s = digits(s + 1);
	if (s && (*s == 'e' || *s == 'E')) {
		s++;
		s = digits(s + (*s == '+' || *s == '-'));
	}
	return s;
}

static const char *string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	while (*s != '"') {
		int n = text_utf8_len(s);

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

static const char *value(const char *s, int depth);

/* Items up to `close`, with a key each in an object. */
static const char *list(const char *s, char close, int depth)
{
	s = space(s + 1);
	if (*s == close)
		return s + 1;
	while (s) {
		if (close == '}') {
			s = string(s);
			s = s ? space(s) : NULL;
			if (!s || *s++ != ':')
				return NULL;
		}
		s = value(space(s), depth + 1);
		s = s ? space(s) : NULL;
		if (s && *s == close)
			return s + 1;
		s = s && *s == ',' ? space(s + 1) : NULL;
	}
	return NULL;
}

static const char *value(const char *s, int depth)
{
	static const char *const words[] = {"true", "false", "null"};

	if (depth > DEPTH_MAX)
		return NULL;
	if (*s == '{' || *s == '[')
		return list(s, *s == '{' ? '}' : ']', depth);
	if (*s == '"')
		return string(s);
	for (int i = 0; i < 3; i++)
		if (strncmp(s, words[i], strlen(words[i])) == 0)
			return s + strlen(words[i]);
	return number(s);
}

bool json_is_value(const char *s)
{
	s = value(space(s), 0);
	return s && *space(s) == 0;
}
