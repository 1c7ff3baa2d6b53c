/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON to stdout, or into another stream, indented by one space a level. A key of NULL: an element of a list. */
#ifndef PROBE_TOOLS_LIB_JSON_H
#define PROBE_TOOLS_LIB_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void json_begin(void); /* forgets everything: a new document */
void json_begin_in(FILE *f); /* the same into that stream, until the next json_begin() */
void json_object(const char *key);
void json_list(const char *key);
void json_end(void); /* ends the innermost object or list; after the outermost: a newline */

void json_string(const char *key, const char *value); /* NULL: null */
void json_u64(const char *key, uint64_t v);
void json_i64(const char *key, int64_t v);
void json_double(const char *key, double v); /* not finite: null */
void json_bool(const char *key, bool v);
void json_null(const char *key);

#endif
