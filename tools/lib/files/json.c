/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "tools/lib/tool.h"

#define DEPTH_MAX 32

static FILE *to; /* NULL: stdout */
static char closing[DEPTH_MAX];
static unsigned depth;
static bool some; /* the innermost object or list has an element */

static FILE *json_out(void)
{
	return to ? to : stdout;
}

static void print_json_text(const char *s)
{
	size_t cap = 6 * strlen(s) + 3;
	char *buf = tool_alloc(cap);
	struct text t = text_over(buf, cap);

	text_json(&t, s);
	fputs(buf, json_out());
	free(buf);
}

static void start_json_item(const char *key)
{
	if (depth) {
		fputs(some ? ",\n" : "\n", json_out());
		fprintf(json_out(), "%*s", (int)depth, "");
	}
	some = true;
	if (key) {
		print_json_text(key);
		fputs(": ", json_out());
	}
}

void json_begin_in(FILE *f)
{
	json_begin();
	to = f;
}

void json_begin(void)
{
	to = NULL;
	depth = 0;
	some = false;
}

static void open_json_bracket(const char *key, char open, char close)
{
	start_json_item(key);
	putc(open, json_out());
	if (depth < DEPTH_MAX)
		closing[depth++] = close;
	some = false;
}

void json_object(const char *key)
{
	open_json_bracket(key, '{', '}');
}

void json_list(const char *key)
{
	open_json_bracket(key, '[', ']');
}

void json_end(void)
{
	if (!depth)
		return;
	depth--;
	if (some)
		fprintf(json_out(), "\n%*s", (int)depth, "");
	putc(closing[depth], json_out());
	some = true;
	if (!depth)
		putc('\n', json_out());
}

void json_string(const char *key, const char *value)
{
	if (!value) {
		json_null(key);
		return;
	}
	start_json_item(key);
	print_json_text(value);
}

void json_u64(const char *key, uint64_t v)
{
	start_json_item(key);
	fprintf(json_out(), "%" PRIu64, v);
}

void json_i64(const char *key, int64_t v)
{
	start_json_item(key);
	fprintf(json_out(), "%" PRId64, v);
}

void json_double(const char *key, double v)
{
	if (!isfinite(v)) {
		json_null(key);
		return;
	}
	start_json_item(key);
	fprintf(json_out(), "%.9g", v);
}

void json_bool(const char *key, bool v)
{
	start_json_item(key);
	fputs(v ? "true" : "false", json_out());
}

void json_null(const char *key)
{
	start_json_item(key);
	fputs("null", json_out());
}
