/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a CSV file. */
#ifndef PROBE_TOOLS_PROBE_BUNDLE_LAST_ROWS_H
#define PROBE_TOOLS_PROBE_BUNDLE_LAST_ROWS_H

#include <stddef.h>

/*
 * The header and the last `most` lines of a file, plain or gzip-compressed; malloc'd, *bytes long. *rows: how many lines. *whole: nothing was
 * skipped. NULL: it cannot be read, or has not even a header.
 */
char *read_last_rows(const char *path, unsigned most, size_t *bytes, unsigned *rows, int *whole);

#endif
