/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/sql/sql_text.h"

static void print_sql_quoted(FILE *f, const char *s, char quote)
{
	fputc(quote, f);
	for (; *s; s++) {
		if (*s == quote)
			fputc(quote, f);
		fputc(*s, f);
	}
	fputc(quote, f);
}

void print_sql_text(FILE *f, const char *s)
{
	if (s)
		print_sql_quoted(f, s, '\'');
	else
		fputs("NULL", f);
}

void print_sql_name(FILE *f, const char *s)
{
	print_sql_quoted(f, s, '"');
}
