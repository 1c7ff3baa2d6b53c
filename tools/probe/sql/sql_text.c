/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/sql/sql_text.h"

static void put_quoted(FILE *f, const char *s, char quote)
{
	fputc(quote, f);
	for (; *s; s++) {
		if (*s == quote)
			fputc(quote, f);
		fputc(*s, f);
	}
	fputc(quote, f);
}

void put_sql_text(FILE *f, const char *s)
{
	if (s)
		put_quoted(f, s, '\'');
	else
		fputs("NULL", f);
}

void put_sql_name(FILE *f, const char *s)
{
	put_quoted(f, s, '"');
}
