/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and objects as JSON text for parts of meta.json: an item that does not fit is omitted, and the text stays
 * valid.
 */
#ifndef PROBE_LIFE_META_LIST_H
#define PROBE_LIFE_META_LIST_H

#include <stdbool.h>

#include "text/text.h"

#define META_PART_MAX 16000 /* bytes of one part: it has to fit into an entry of the dictionary */

struct text list_begin(char *buf, size_t cap, char open);

/* False: it did not fit and was removed. key NULL: an array. json: the value is JSON already. */
bool list_add(struct text *t, const char *key, const char *value, bool json);

/* whole: nothing was omitted from an array. */
void list_end(struct text *t, bool whole, char close);

#endif
