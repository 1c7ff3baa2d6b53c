/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that calls' tensors refer to by number, as the journal's entries have told them. Who goes on with the journal of
 * a process that was killed reads those that were drained before from names.csv.
 */
#ifndef PROBE_SINK_NAME_BOOK_H
#define PROBE_SINK_NAME_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/files.h"

struct name_book;

bool name_book_add(struct name_book **b, uint32_t id,
	const char *name); /* false: no memory; again: the new one */

/* What column `name` has for journal_tensor.name: "" where it is not known. Good until the book is freed. */
const char *name_book_text(struct name_book *b, uint32_t name);

/* All that names.csv has up to its committed length. 0, or -ENOMEM. */
int name_book_read(struct name_book **b, struct files *f);
void name_book_free(struct name_book *b);

#endif
