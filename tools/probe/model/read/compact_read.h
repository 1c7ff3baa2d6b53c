/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads calls_<a>-<b>.compact (docs/reference/compact-format.md): as numbers, and as the text of the CSV file that format: csv
 * would have written, produced by the same function.
 */
#ifndef PROBE_TOOLS_COMPACT_READ_H
#define PROBE_TOOLS_COMPACT_READ_H

#include "tools/lib/source.h"

/* For csv_open_decoded(): presents a file as the CSV file with its header and rows. */
extern const struct source_decoder compact_decoder;

bool is_compact_name(const char *name);

struct compact_reader;

/* Never NULL. */
struct compact_reader *compact_reader_open(void);
void compact_reader_reset(struct compact_reader *r); /* for another file */
void compact_reader_free(struct compact_reader *r);

/*
 * Reads the next call of the file s; compact_calls.h gives access to it. Returns 1; 0: there are no more; -errno. Damaged calls
 * are counted in s->damaged, and a truncated end is noted in s->truncated.
 */
int compact_read_next_call(struct compact_reader *r, struct source *s);

/*
 * Continues with the calls of the first block that begins at that byte of the file or after it. Only before the first call was
 * read.
 */
void compact_start_at(struct compact_reader *r, struct source *s, uint64_t offset);

/* The rows of that call as lines of text, valid until the next call of this function. Returns the number of bytes at *text. */
size_t compact_format_call(struct compact_reader *r, const char **text);

/*
 * Both in one step: the lines of its rows, *n bytes at *text, valid until the next call; *rows: their number. Returns the same
 * as compact_read_next_call().
 */
int compact_read_call(
	struct compact_reader *r, struct source *s, const char **text, size_t *n, unsigned *rows);

#endif
