/* SPDX-License-Identifier: Apache-2.0 */
/* The last rows of a CSV file. */
#ifndef PROBE_TOOLS_PROBE_BUNDLE_LAST_ROWS_H
#define PROBE_TOOLS_PROBE_BUNDLE_LAST_ROWS_H

#include <stddef.h>

/*
 * Returns the header and the last `max` lines of a plain or gzip-compressed file, malloc'd, *bytes
 * long. *rows: number of these lines. *whole: true if they are all lines of the file. Returns NULL
 * if the file cannot be read or has no header.
 */
char *read_last_rows(const char *path, unsigned max, size_t *bytes, unsigned *rows, int *whole);

#endif
