/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON to stdout or another stream, indented by one space per level. key NULL: an element of
 * a list.
 */
#ifndef PROBE_TOOLS_LIB_JSON_H
#define PROBE_TOOLS_LIB_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void json_begin(void); /* begins a new document on stdout */
/* Begins a new document on f, which is used until the next json_begin(). */
void json_begin_in(FILE *f);
void json_object(const char *key);
void json_list(const char *key);
void json_end(void); /* ends the innermost object or list; a newline follows the outermost one */

void json_string(const char *key, const char *value); /* value NULL: writes null */
void json_u64(const char *key, uint64_t v);
void json_i64(const char *key, int64_t v);
void json_double(const char *key, double v); /* not finite: writes null */
void json_bool(const char *key, bool v);
void json_null(const char *key);

#endif
