/* SPDX-License-Identifier: Apache-2.0 */
/* Name of a scalar, in files of every format. */
#include "terms/scalar.h"
#include "text/text.h"
#include "sink/column.h"
#include "sink/record.h"

/* loss, learning-rate/group1, learning-rate/opt1.group0: the most specific part is last. */
void write_scalar_name(struct text *out, const struct record_scalar *e)
{
	char mark = '/';

	text_add_string(out, scalar_names[e->which]);
	if (e->optimizer) {
		text_add_string(out, "/opt");
		text_add_u64(out, e->optimizer);
		mark = '.';
	}
	if (e->group != JOURNAL_NO_GROUP) {
		text_add_char(out, mark);
		text_add_string(out, e->which == SCALAR_MICRO_LOSS || e->which == SCALAR_MICRO_NORM
					     ? "micro"
					     : "group");
		text_add_u64(out, e->group);
	}
}
