/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the program's source files, as they are on disk when the dump is made. */
#ifndef PROBE_SINK_DUMP_SOURCE_H
#define PROBE_SINK_DUMP_SOURCE_H

#include <stddef.h>

struct dump_source;

struct dump_source *dump_source_open(void);
void dump_source_free(struct dump_source *s);

/*
 * Copies line number `line` (from 1), at most cap - 1 bytes, without surrounding blanks; "" if
 * there is no such line.
 */
void dump_source_read_line(
	struct dump_source *s, const char *file, unsigned line, char *out, size_t cap);

#endif
