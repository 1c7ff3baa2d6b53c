/* SPDX-License-Identifier: Apache-2.0 */
/* Prints values as SQL literals and names. */
#ifndef PROBE_TOOLS_PROBE_SQL_TEXT_H
#define PROBE_TOOLS_PROBE_SQL_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* prints 'text', or NULL if s is NULL */
void print_sql_text(FILE *f, const char *s);
/* prints "name" */
void print_sql_name(FILE *f, const char *s);

#endif
