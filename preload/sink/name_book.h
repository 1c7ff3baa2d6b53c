/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that tensors of calls refer to by number, from the journal's entries. A process that
 * continues the journal of a killed one reads the names that were drained before from names.csv.
 */
#ifndef PROBE_SINK_NAME_BOOK_H
#define PROBE_SINK_NAME_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/files.h"

struct name_book;

bool name_book_add(struct name_book **b, uint32_t id,
	const char *name); /* false: no memory; a number that is added again gets the new name */

/*
 * Returns the text of column `name` for number `name` (journal_tensor.name); "" if it is not
 * known. Valid until the book is freed.
 */
const char *name_book_get_text(struct name_book *b, uint32_t name);

/* Reads names.csv up to its committed length. Returns 0 or -ENOMEM. */
int name_book_read(struct name_book **b, struct files *f);
void name_book_free(struct name_book *b);

#endif
