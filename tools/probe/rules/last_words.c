/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/last_words.h"

#include <stdlib.h>
#include <string.h>

#include "journal/ending.h"
#include "tools/lib/tool.h"

/* Returns how many bytes of s are shown, at most `most`, without cutting a character. */
static int count_shown(const char *s, int most)
{
	int n = (int)strnlen(s, (size_t)most);

	while (n && s[n] && (s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static bool is_exit_of_its_own(const struct meta_ending *e)
{
	return strcmp(e->how, "exit") == 0 || strcmp(e->how, "finalized") == 0;
}

/* Formats the message that the process itself left, or NULL. malloc'd. */
static char *said_of_leaving(const struct meta_ending *e, int most)
{
	char *code = e->code == ENDING_NONE ? tool_strdup("")
					    : tool_format(" with code %d", e->code),
	     *all = NULL;

	if (strcmp(e->how, "exception") == 0)
		all = tool_format("by an uncaught exception: %.*s%s", count_shown(e->text, most),
			e->text, count_shown(e->text, most) < (int)strlen(e->text) ? "..." : "");
	else if (strcmp(e->how, "abort") == 0)
		all = tool_format("by %s()%s", *e->text ? e->text : "abort", code);
	else if (strcmp(e->how, "exit") == 0)
		all = tool_format(
			"by exit%s%s%s", code, *e->inside ? ", inside of " : "", e->inside);
	else if (strcmp(e->how, "finalized") == 0)
		all = tool_format("after MPI_Finalize, by exit%s", code);
	free(code);
	return all;
}

char *last_words_text(const struct meta_ending *e, int most)
{
	char *said = said_of_leaving(e, most), *all;
	/*
	 * If the exception was not the last message, the program caught it, and what followed from
	 * it is not known.
	 */
	const char *shown = is_exit_of_its_own(e) ? e->text : e->shown;

	if (!said || !*shown)
		return said;
	all = tool_format("%s; the last exception before that: %.*s%s", said,
		count_shown(shown, most), shown,
		count_shown(shown, most) < (int)strlen(shown) ? "..." : "");
	free(said);
	return all;
}
