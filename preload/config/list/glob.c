/* SPDX-License-Identifier: Apache-2.0 */
#include "config/list/glob.h"

#include <stddef.h>
#include <string.h>

bool glob_is(const char *text)
{
	return text[strcspn(text, "*?[\\")] != 0;
}

/*
 * Matches c with the set after a [ at p. Returns the position after the set's ], or NULL if it
 * has none. *hit: c is in the set.
 */
static const char *set_match(const char *p, unsigned char c, bool *hit)
{
	bool negated = *p == '!' || *p == '^', in = false;
	const char *first;

	p += negated;
	for (first = p; *p && (*p != ']' || p == first);) {
		unsigned char lo, hi;

		if (*p == '\\' && p[1])
			p++;
		lo = hi = (unsigned char)*p++;
		if (p[0] == '-' && p[1] && p[1] != ']') {
			p++;
			if (*p == '\\' && p[1])
				p++;
			hi = (unsigned char)*p++;
		}
		in |= lo <= c && c <= hi;
	}
	*hit = in != negated;
	return *p ? p + 1 : NULL;
}

const char *glob_check(const char *p)
{
	bool hit;

	while (*p) {
		char c = *p++;

		if (c == '\\' && !*p++)
			return "ends in a backslash";
		if (c != '[')
			continue;

		const char *end = set_match(p, 0, &hit);

		if (!end)
			return "has a [ without its ]";
		for (const char *q = p; q + 1 < end; q++)
			if (q[0] == '[' && (q[1] == ':' || q[1] == '.' || q[1] == '='))
				return "uses [:class:], which is not supported";
		p = end;
	}
	return NULL;
}

/*
 * Matches one element of the pattern, which is not *, with one byte. Returns the position after
 * the element, or NULL.
 */
static const char *match_one_element(const char *p, unsigned char c)
{
	bool hit;
	const char *end;

	switch (*p) {
	case '?':
		return p + 1;
	case '[':
		end = set_match(p + 1, c, &hit);
		if (end)
			return hit ? end : NULL;
		break; /* the set is not closed: the bracket stands for itself */
	case '\\':
		if (p[1])
			p++;
		break;
	}
	return (unsigned char)*p == c ? p + 1 : NULL;
}

bool glob_match(const char *p, const char *s)
{
	/*
	 * After a mismatch, only the last * is extended by one byte: what earlier ones matched
	 * stays valid.
	 */
	const char *star = NULL, *from = NULL;

	while (*s) {
		const char *next;

		if (*p == '*') {
			star = ++p;
			from = s;
			continue;
		}
		next = *p ? match_one_element(p, (unsigned char)*s) : NULL;
		if (next) {
			p = next;
			s++;
		} else if (star) {
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}
