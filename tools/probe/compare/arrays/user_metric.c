/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/arrays/user_metric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/lib/tool.h"

#define LINE_MAX_BYTES 256

/* Formats s in single quotes, as one word of sh. malloc'd. */
static char *format_word(const char *s)
{
	char *out = tool_alloc(4 * strlen(s) + 3), *to = out;

	*to++ = '\'';
	for (; *s; s++) {
		if (*s == '\'') {
			memcpy(to, "'\\''", 4);
			to += 4;
		} else {
			*to++ = *s;
		}
	}
	*to++ = '\'';
	*to = 0;
	return out;
}

/*
 * Runs the command. line: the first line that it prints. Returns the status of waitpid(), or -1 if
 * the command could not be started.
 */
static int read_first_line(const char *command, char line[LINE_MAX_BYTES])
{
	char rest[4096];
	FILE *f = popen(command, "re");

	line[0] = 0;
	if (!f)
		return -1;
	if (!fgets(line, LINE_MAX_BYTES, f))
		line[0] = 0;
	/* Reads the rest of the output, so that a closed pipe does not kill the command. */
	while (fread(rest, 1, sizeof(rest), f) > 0)
		;
	line[strcspn(line, "\r\n")] = 0;
	return pclose(f);
}

void measure_row_pair(
	struct row *r, const char *command, const char *dir_a, const char *dir_b, struct pool *p)
{
	char line[LINE_MAX_BYTES], *a, *b, *quoted_a, *quoted_b, *whole;
	int status;

	r->measured = "N/A";
	if (!r->b || !r->a->data || !r->b->data)
		return;
	a = tool_format("%s/%s", dir_a, r->a->data);
	b = tool_format("%s/%s", dir_b, r->b->data);
	quoted_a = format_word(a);
	quoted_b = format_word(b);
	whole = tool_format("%s %s %s", command, quoted_a, quoted_b);
	status = read_first_line(whole, line);
	if (status == 0)
		r->measured = pool_copy_text(p, line);
	else if (status > 0 && WIFSIGNALED(status))
		r->measured = pool_format(p, "failed: signal %d", WTERMSIG(status));
	else
		r->measured =
			pool_format(p, "failed: exit %d", status > 0 ? WEXITSTATUS(status) : 127);
	free(a);
	free(b);
	free(quoted_a);
	free(quoted_b);
	free(whole);
}
