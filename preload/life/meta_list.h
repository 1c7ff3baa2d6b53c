/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and objects as JSON text for parts of meta.json. An item that does not fit is omitted,
 * and the text stays valid.
 */
#ifndef PROBE_LIFE_META_LIST_H
#define PROBE_LIFE_META_LIST_H

#include <stdbool.h>

#include "text/text.h"

/* maximum bytes of a part: it must fit into an entry of the dictionary */
#define META_PART_MAX 16000

struct text list_begin(char *buf, size_t cap, char open);

/*
 * Adds an item. key NULL: the list is an array. json: the value is JSON already. Returns false if
 * it did not fit and was omitted.
 */
bool list_add(struct text *t, const char *key, const char *value, bool json);

/* Closes the list. whole: nothing was omitted from an array; if false, "..." is added. */
void list_end(struct text *t, bool whole, char close);

#endif
