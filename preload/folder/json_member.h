/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterates over the members of a JSON object without decoding them: for parts of meta.json that
 * are known to be valid.
 */
#ifndef PROBE_SINK_JSON_MEMBER_H
#define PROBE_SINK_JSON_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "text/text.h"

struct json_span {
	const char *at;
	size_t n;
};

/*
 * Finds the next member. *at: the object's first character at first. Returns false after the last
 * member.
 */
bool json_member_next(const char **at, struct json_span *key, struct json_span *value);

/*
 * Returns the value of `key` (at most 32 bytes) in a line written by one of libprobe's sinks,
 * with a blank after each colon, or NULL. If the key occurs twice, even inside a text, the first
 * one.
 */
const char *find_line_member(const char *line, const char *key);

/* Writes the characters of a string, or any other value unchanged. */
void text_json_value(struct text *out, const struct json_span *value);

#endif
