/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the program's source files, as they stand on the disk while the dump is made. */
#ifndef PROBE_SINK_DUMP_SOURCE_H
#define PROBE_SINK_DUMP_SOURCE_H

#include <stddef.h>

struct dump_source;

struct dump_source *dump_source_new(void);
void dump_source_free(struct dump_source *s);

/* The line (from 1) without the blanks around it; "": there is none. At most cap - 1 bytes. */
void dump_source_line(
	struct dump_source *s, const char *file, unsigned line, char *out, size_t cap);

#endif
