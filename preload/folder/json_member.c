/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/json_member.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *read_past_json_blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Returns the position after the value that begins at p. */
static const char *find_value_end(const char *p)
{
	unsigned depth = 0;

	for (; *p; p++) {
		if (*p == '"') {
			for (p++; *p && *p != '"'; p++)
				if (*p == '\\' && p[1])
					p++;
			if (!*p)
				break;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if (*p == '}' || *p == ']') {
			if (!depth)
				break;
			depth--;
		} else if (!depth && (*p == ',' || *p == ':')) {
			break;
		}
	}
	return p;
}

static struct json_span get_span(const char *from, const char *to)
{
	while (to > from && strchr(" \t\r\n", to[-1]))
		to--;
	return (struct json_span){from, (size_t)(to - from)};
}

bool json_member_next(const char **at, struct json_span *key, struct json_span *value)
{
	const char *p = *at, *end;

	if (*p != '{' && *p != ',')
		return false;
	p = read_past_json_blanks(p + 1);
	end = find_value_end(p);
	if (*end != ':')
		return false;
	*key = get_span(p, end);
	p = read_past_json_blanks(end + 1);
	end = find_value_end(p);
	*value = get_span(p, end);
	*at = end;
	return true;
}

static void write_code_point(struct text *out, uint32_t c)
{
	if (c < 0x80) {
		text_add_char(out, (char)c);
	} else if (c < 0x800) {
		text_add_char(out, (char)(0xc0 | c >> 6));
		text_add_char(out, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		text_add_char(out, (char)(0xe0 | c >> 12));
		text_add_char(out, (char)(0x80 | (c >> 6 & 63)));
		text_add_char(out, (char)(0x80 | (c & 63)));
	} else {
		text_add_char(out, (char)(0xf0 | c >> 18));
		text_add_char(out, (char)(0x80 | (c >> 12 & 63)));
		text_add_char(out, (char)(0x80 | (c >> 6 & 63)));
		text_add_char(out, (char)(0x80 | (c & 63)));
	}
}

/* Returns the value of four hexadecimal digits at p, or 0. */
static uint32_t read_hex4(const char *p, const char *end)
{
	uint32_t c = 0;

	for (int i = 0; i < 4; i++, p++) {
		unsigned d = p >= end		      ? 16
			     : *p >= '0' && *p <= '9' ? (unsigned)(*p - '0')
			     : (*p | 32) >= 'a' && (*p | 32) <= 'f'
				     ? (unsigned)((*p | 32) - 'a' + 10)
				     : 16;

		if (d > 15)
			return 0;
		c = c << 4 | d;
	}
	return c;
}

static const char *put_escaped(struct text *out, const char *p, const char *end)
{
	static const char what[] = "nrtbf", is[] = "\n\r\t\b\f";
	const char *w = *p ? strchr(what, *p) : NULL;
	uint32_t c, low;

	if (*p != 'u') {
		text_add_char(out, w ? is[w - what] : *p);
		return p + 1;
	}
	c = read_hex4(p + 1, end);
	p += end - p < 5 ? end - p : 5;
	low = c >> 10 == 0x36 && end - p > 5 && p[0] == '\\' && p[1] == 'u' ? read_hex4(p + 2, end)
									    : 0;
	if (low >> 10 == 0x37) {
		c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
		p += 6;
	}
	write_code_point(out, c);
	return p;
}

void text_json_value(struct text *out, const struct json_span *value)
{
	const char *p = value->at, *end = p + value->n;

	if (!value->n || *p != '"') {
		text_add_bytes(out, p, value->n);
		return;
	}
	for (p++, end--; p < end;)
		if (*p == '\\' && p + 1 < end)
			p = put_escaped(out, p + 1, end);
		else
			text_add_char(out, *p++);
}

const char *find_line_member(const char *line, const char *key)
{
	char quoted[40];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	at = strstr(line, quoted);
	return at ? at + strlen(quoted) : NULL;
}
