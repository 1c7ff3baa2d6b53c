/* SPDX-License-Identifier: Apache-2.0 */
#include "life/meta_list.h"

#define LIST_ROOM 16 /* reserved for the end of the list */

struct text list_begin(char *buf, size_t cap, char open)
{
	struct text t = text_init(buf, cap - LIST_ROOM);

	text_add_char(&t, open);
	return t;
}

bool list_add(struct text *t, const char *key, const char *value, bool json)
{
	size_t len = t->len;

	text_add_string(t, len > 1 ? ", " : "");
	if (key) {
		text_add_json(t, key);
		text_add_string(t, ": ");
	}
	if (json)
		text_add_string(t, value);
	else
		text_add_json(t, value);
	if (!t->cut)
		return true;
	t->len = len;
	t->buf[len] = 0;
	t->cut = false;
	return false;
}

void list_end(struct text *t, bool whole, char close)
{
	t->cap += LIST_ROOM;
	if (!whole)
		text_add_string(t, t->len > 1 ? ", \"...\"" : "\"...\"");
	text_add_char(t, close);
}
