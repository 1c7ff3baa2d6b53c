/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/row_form.h"

#include <endian.h>
#include <string.h>

#define TAIL 8 /* bytes of the end of a part that are hashed */

bool can_row_form_keep(const struct row_form_text *t)
{
	return t->part[1].n >= TAIL && t->part[0].n + t->part[1].n + t->part[2].n <= ROW_FORM_TEXT;
}

/* The last bytes of a part of at least one byte that has TAIL bytes of the row before its end. */
static uint64_t read_part_tail(const struct csv_text *part)
{
	uint64_t w;

	memcpy(&w, part->s + part->n - TAIL, TAIL);
	return part->n < TAIL ? le64toh(w) >> 8 * (TAIL - part->n) : w;
}

struct row_form *find_row_form(struct row_form *forms, const struct row_form_text *t)
{
	uint64_t h = read_part_tail(&t->part[1]) * UINT64_C(0x9e3779b97f4a7c15) ^
		     read_part_tail(&t->part[2]) * UINT64_C(0xbf58476d1ce4e5b9) ^
		     t->part[0].n << 60;

	_Static_assert(ROW_FORMS == 16, "");
	return &forms[h >> 60];
}

bool is_row_form_of(const struct row_form *f, const struct row_form_text *t)
{
	const struct csv_text *part = t->part;

	return f->n[0] == part[0].n && f->n[1] == part[1].n && f->n[2] == part[2].n &&
	       memcmp(f->text, part[0].s, part[0].n) == 0 &&
	       memcmp(f->text + part[0].n, part[1].s, part[1].n) == 0 &&
	       memcmp(f->text + part[0].n + part[1].n, part[2].s, part[2].n) == 0;
}

void set_row_form_text(struct row_form *f, const struct row_form_text *t)
{
	char *to = f->text;

	for (unsigned i = 0; i < ROW_FORM_PARTS; i++) {
		memcpy(to, t->part[i].s, t->part[i].n);
		to += t->part[i].n;
		f->n[i] = (uint32_t)t->part[i].n;
	}
}
