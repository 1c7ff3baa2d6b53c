/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/probe/tool.h"

#define DEPTH_MAX 32

static char closing[DEPTH_MAX];
static unsigned depth;
static bool some; /* the innermost object or list has an element already */

static void quoted(const char *s)
{
	size_t cap = 6 * strlen(s) + 3;
	char *buf = tool_alloc(cap);
	struct text t = text_over(buf, cap);

	text_json(&t, s);
	fputs(buf, stdout);
	free(buf);
}

static void lead(const char *key)
{
	if (depth) {
		fputs(some ? ",\n" : "\n", stdout);
		printf("%*s", (int)depth, "");
	}
	some = true;
	if (key) {
		quoted(key);
		fputs(": ", stdout);
	}
}

void json_begin(void)
{
	depth = 0;
	some = false;
}

static void begin(const char *key, char open, char close)
{
	lead(key);
	putchar(open);
	if (depth < DEPTH_MAX)
		closing[depth++] = close;
	some = false;
}

void json_object(const char *key)
{
	begin(key, '{', '}');
}

void json_list(const char *key)
{
	begin(key, '[', ']');
}

void json_end(void)
{
	if (!depth)
		return;
	depth--;
	if (some)
		printf("\n%*s", (int)depth, "");
	putchar(closing[depth]);
	some = true;
	if (!depth)
		putchar('\n');
}

void json_string(const char *key, const char *value)
{
	if (!value) {
		json_null(key);
		return;
	}
	lead(key);
	quoted(value);
}

void json_u64(const char *key, uint64_t v)
{
	lead(key);
	printf("%" PRIu64, v);
}

void json_i64(const char *key, int64_t v)
{
	lead(key);
	printf("%" PRId64, v);
}

void json_double(const char *key, double v)
{
	if (!isfinite(v)) {
		json_null(key);
		return;
	}
	lead(key);
	printf("%.9g", v);
}

void json_bool(const char *key, bool v)
{
	lead(key);
	fputs(v ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	lead(key);
	fputs("null", stdout);
}
