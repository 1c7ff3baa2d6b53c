/* SPDX-License-Identifier: Apache-2.0 */
/* Values as SQL writes them. */
#ifndef PROBE_TOOLS_PROBE_SQL_TEXT_H
#define PROBE_TOOLS_PROBE_SQL_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* 'text'; NULL where s is NULL. */
void print_sql_text(FILE *f, const char *s);
/* "name" */
void print_sql_name(FILE *f, const char *s);

#endif
