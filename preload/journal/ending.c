/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/ending.h"

#include <errno.h>
#include <string.h>

#include "text/text.h"
#include "journal/meta_part.h"

#define KEY "end"
#define TAIL_ROOM 64 /* bytes reserved for the fields after the text */

static void write_ending_number(struct text *t, const char *key, int v)
{
	text_add_format(t, ", \"%s\": ", key);
	if (v == ENDING_NONE)
		text_add_string(t, "null");
	else
		text_add_i64(t, v);
}

int journal_record_ending(struct journal *j, const struct ending *e, char *buf, size_t cap)
{
	struct text t;
	size_t len;

	if (cap < 512)
		return -ENOSPC;
	memcpy(buf, KEY, sizeof(KEY));
	t = text_init(buf + sizeof(KEY), cap - sizeof(KEY) - TAIL_ROOM);
	text_add_string(&t, "{\"how\": ");
	text_add_json(&t, e->how);
	write_ending_number(&t, "code", e->code);
	write_ending_number(&t, "signal", e->signal);
	text_add_string(&t, ", \"inside\": ");
	if (e->inside)
		text_add_json(&t, e->inside);
	else
		text_add_string(&t, "null");
	len = t.len;
	text_add_string(&t, ", \"text\": ");
	text_add_json(&t, e->text ? e->text : "");
	if (t.cut) {
		/*
		 * With escapes, the text is longer than the buffer. It is omitted, because half
		 * of a JSON string would be invalid.
		 */
		t.len = len;
		t.cut = false;
		text_add_string(&t, ", \"text\": \"\"");
	}
	len = t.len;
	if (e->shown) {
		text_add_string(&t, ", \"shown\": ");
		text_add_json(&t, e->shown);
	}
	if (t.cut) {
		t.len = len;
		t.cut = false;
	}
	t.cap += TAIL_ROOM;
	text_add_string(&t, ", \"at_ns\": ");
	text_add_u64(&t, e->at_ns);
	text_add_char(&t, '}');
	return journal_dict_add(j, DICT_META, META_END, buf, sizeof(KEY) + t.len + 1);
}

bool journal_has_ending(const struct journal *j)
{
	return journal_dict_get(j, DICT_META, META_END) != NULL;
}
