/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/pickle.h"

#include <string.h>

void pickle_start(struct target *t)
{
	target_write(t, "\x80\x02", 2); /* PROTO 2 */
}

void pickle_stop(struct target *t)
{
	target_write(t, ".", 1); /* STOP */
}

static void write_little(struct target *t, uint64_t v, unsigned bytes)
{
	unsigned char b[8];

	for (unsigned i = 0; i < bytes; i++)
		b[i] = (unsigned char)(v >> 8 * i);
	target_write(t, b, bytes);
}

/*
 * Returns the length of the UTF-8 character at s, or 0 if it is invalid: Python refuses such a
 * string.
 */
static size_t measure_character(const unsigned char *s)
{
	size_t n = s[0] < 0x80			 ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : (s[0] & 0xf0) == 0xe0	 ? 3
						 : 0;

	if (s[0] >= 0xf0 && s[0] < 0xf5)
		n = 4;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

void pickle_write_text(struct target *t, const char *s)
{
	size_t n = 0, k;

	/* BINUNICODE: the length comes first. Invalid UTF-8 becomes a question mark. */
	for (const char *p = s; *p; p += k ? k : 1) {
		k = measure_character((const unsigned char *)p);
		n += k ? k : 1;
	}
	target_write(t, "X", 1);
	write_little(t, n, 4);
	for (; *s; s += k ? k : 1) {
		k = measure_character((const unsigned char *)s);
		target_write(t, k ? s : "?", k ? k : 1);
	}
}

void pickle_write_int(struct target *t, int64_t v)
{
	if (v >= INT32_MIN && v <= INT32_MAX) {
		target_write(t, "J", 1); /* BININT */
		write_little(t, (uint32_t)v, 4);
	} else {
		target_write(t, "\x8a\x08", 2); /* LONG1 of 8 bytes, two's complement */
		write_little(t, (uint64_t)v, 8);
	}
}

void pickle_write_bool(struct target *t, bool v)
{
	target_write(t, v ? "\x88" : "\x89", 1);
}

void pickle_start_dict(struct target *t)
{
	target_write(t, "}(", 2); /* EMPTY_DICT MARK */
}

void pickle_close_dict(struct target *t)
{
	target_write(t, "u", 1); /* SETITEMS */
}

void pickle_start_list(struct target *t)
{
	target_write(t, "](", 2); /* EMPTY_LIST MARK */
}

void pickle_close_list(struct target *t)
{
	target_write(t, "e", 1); /* APPENDS */
}

void pickle_write_pair(struct target *t)
{
	target_write(t, "\x86", 1); /* TUPLE2 */
}
