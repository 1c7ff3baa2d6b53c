/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a JSON object, one by one, as they stand: for parts of meta.json, which are known to be JSON. */
#ifndef PROBE_SINK_JSON_MEMBER_H
#define PROBE_SINK_JSON_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "text/text.h"

struct json_span {
	const char *at;
	size_t n;
};

/* *at: the object's first character at first. False: there is no further member. */
bool json_member_next(const char **at, struct json_span *key, struct json_span *value);

/*
 * The value of `key` (at most 32 bytes) in a line that a sink of ours wrote, with a blank behind each colon; NULL: it is not
 * there. Of a key that occurs twice, also inside a text, the first.
 */
const char *find_line_member(const char *line, const char *key);

/* What a value reads as: a string's characters, anything else as it stands. */
void text_json_value(struct text *out, const struct json_span *value);

#endif
