/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_LIB_FILES_WHOLE_FILE_H
#define PROBE_TOOLS_LIB_FILES_WHOLE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads a regular file of at most `most` bytes. Returns its text with a 0 after it, malloc'd, never NULL. *n: the number of
 * bytes, most + 1 if the file is larger (the text is then its first most + 1 bytes), or -errno (the text is then empty).
 */
char *read_whole_file(const char *path, size_t most, ssize_t *n);

#endif
