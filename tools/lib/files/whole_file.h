/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_LIB_FILES_WHOLE_FILE_H
#define PROBE_TOOLS_LIB_FILES_WHOLE_FILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Reads a regular file. Returns its contents, followed by a 0, malloc'd; never NULL. *n: the number
 * of bytes. If the file is larger than `max`, *n is max + 1 and the result holds the first max +
 * 1 bytes. If reading fails, *n is -errno and the result is empty.
 */
char *read_whole_file(const char *path, size_t max, ssize_t *n);

/*
 * Opens a regular file for reading. flags: more flags of open(), such as O_NOFOLLOW. Returns NULL if
 * it cannot be opened or is not a regular file: a FIFO would block the reader.
 */
FILE *open_regular_stream(const char *path, int flags);

#endif
