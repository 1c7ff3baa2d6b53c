/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads calls_<a>-<b>.compact (docs/reference/compact-format.md), either as numbers or as the CSV
 * text that `format: csv` would have written. The same function formats both texts.
 */
#ifndef PROBE_TOOLS_COMPACT_READ_H
#define PROBE_TOOLS_COMPACT_READ_H

#include "tools/lib/source.h"

/* For csv_open_decoded(): presents a compact file as a CSV file with header and rows. */
extern const struct source_decoder compact_decoder;

bool is_compact_name(const char *name);

struct compact_reader;

/* Never returns NULL. */
struct compact_reader *compact_reader_open(void);
void compact_reader_reset(struct compact_reader *r); /* prepares r for another file */
void compact_reader_free(struct compact_reader *r);

/*
 * Reads the next call of file s; the functions of compact_calls.h return its data. Returns 1, 0
 * after the last call, or -errno. Damaged calls are counted in s->damaged. A truncated end is
 * recorded in s->truncated.
 */
int compact_read_next_call(struct compact_reader *r, struct source *s);

/*
 * Continues with the first block that begins at byte `offset` of the file or later. Only allowed
 * before the first call was read.
 */
void compact_start_at(struct compact_reader *r, struct source *s, uint64_t offset);

/*
 * Formats the rows of the call read last as lines of text. *text is valid until the next call of
 * this function. Returns the number of bytes.
 */
size_t compact_format_call(struct compact_reader *r, const char **text);

/*
 * Reads the next call and formats its rows: *n bytes at *text, valid until the next call of this
 * function; *rows is their number. Returns the same as compact_read_next_call().
 */
int compact_read_call(
	struct compact_reader *r, struct source *s, const char **text, size_t *n, unsigned *rows);

#endif
