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
static bool has_element; /* the innermost object or list has an element */

static FILE *get_json_stream(void)
{
	return to ? to : stdout;
}

static void print_json_text(const char *s)
{
	size_t cap = 6 * strlen(s) + 3;
	char *buf = tool_alloc(cap);
	struct text t = text_init(buf, cap);

	text_add_json(&t, s);
	fputs(buf, get_json_stream());
	free(buf);
}

static void start_json_item(const char *key)
{
	if (depth) {
		fputs(has_element ? ",\n" : "\n", get_json_stream());
		fprintf(get_json_stream(), "%*s", (int)depth, "");
	}
	has_element = true;
	if (key) {
		print_json_text(key);
		fputs(": ", get_json_stream());
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
	has_element = false;
}

static void open_json_bracket(const char *key, char open, char close)
{
	start_json_item(key);
	putc(open, get_json_stream());
	if (depth < DEPTH_MAX)
		closing[depth++] = close;
	has_element = false;
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
	if (has_element)
		fprintf(get_json_stream(), "\n%*s", (int)depth, "");
	putc(closing[depth], get_json_stream());
	has_element = true;
	if (!depth)
		putc('\n', get_json_stream());
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
	fprintf(get_json_stream(), "%" PRIu64, v);
}

void json_i64(const char *key, int64_t v)
{
	start_json_item(key);
	fprintf(get_json_stream(), "%" PRId64, v);
}

void json_double(const char *key, double v)
{
	if (!isfinite(v)) {
		json_null(key);
		return;
	}
	start_json_item(key);
	fprintf(get_json_stream(), "%.9g", v);
}

void json_bool(const char *key, bool v)
{
	start_json_item(key);
	fputs(v ? "true" : "false", get_json_stream());
}

void json_null(const char *key)
{
	start_json_item(key);
	fputs("null", get_json_stream());
}
