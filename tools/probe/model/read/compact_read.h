/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads calls_<a>-<b>.compact (docs/reference/compact-format.md): as the text of the CSV file that format: csv would have
 * written, made by the function that writes that.
 */
#ifndef PROBE_TOOLS_COMPACT_READ_H
#define PROBE_TOOLS_COMPACT_READ_H

#include "tools/lib/source.h"

/* For csv_open_decoded(): a file whose first line is the header of the CSV file, and so on. */
extern const struct source_decoder compact_decoder;

bool is_compact_name(const char *name);

struct compact_reader;

/* Never NULL. */
struct compact_reader *compact_reader_open(void);
void compact_reader_free(struct compact_reader *r);

/*
 * The next call of the file that s is: the lines of its rows, *n bytes at *text, good until the next call; *rows: how many. 1;
 * 0: there is no more; -errno. What is damaged is counted in s->damaged, and a cut end in s->truncated.
 */
int compact_read_call(
	struct compact_reader *r, struct source *s, const char **text, size_t *n, unsigned *rows);

#endif
