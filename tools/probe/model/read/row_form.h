/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first rows of a call site's calls have in common. If the text of these columns was seen before, its values
 * are copied instead of parsed.
 */
#ifndef PROBE_TOOLS_ROW_FORM_H
#define PROBE_TOOLS_ROW_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/files/csv.h"

#define ROW_FORMS 16 /* forms that a reader keeps, by the hash of their text */
#define ROW_FORM_PARTS 3
#define ROW_FORM_TEXT 192 /* bytes; a longer text is parsed each time */

/* The columns lib to comm, rank to count, and thread to flags, each with its commas. */
struct row_form_text {
	struct csv_text part[ROW_FORM_PARTS];
};

/* Members that struct row_form and struct call have in common. Of `bits` a form has those of the flags. */
#define ROW_FORM_FIELDS(X) \
	X(lib)             \
	X(api)             \
	X(op)              \
	X(redop) X(dtype) X(thread) X(stack) X(comm) X(count) X(comm_rank) X(size) X(root) X(peer)

struct row_form {
	uint32_t n[ROW_FORM_PARTS]; /* bytes of each part; all 0: no form is kept here */
	uint32_t lib, api, op, redop, dtype, bits, thread, stack;
	uint64_t comm, count;
	int64_t comm_rank, size, root, peer;
	char text[ROW_FORM_TEXT]; /* the parts, one after the other */
};

/* Returns false if the text is too short or too long to be kept. */
bool can_row_form_keep(const struct row_form_text *t);
/* Returns the only form that may have this text. */
struct row_form *find_row_form(struct row_form *forms, const struct row_form_text *t);
bool is_row_form_of(const struct row_form *f, const struct row_form_text *t);
void set_row_form_text(struct row_form *f, const struct row_form_text *t);

#endif
