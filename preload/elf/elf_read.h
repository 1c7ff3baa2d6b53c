/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file that may be truncated, replaced or not a regular file at all. */
#ifndef PROBE_ELF_ELF_READ_H
#define PROBE_ELF_ELF_READ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Returns the descriptor of a regular file, and its *st, or -errno (-ENOEXEC: not a regular
 * file). Never blocks on a FIFO or device.
 */
int elf_open(const char *path, struct stat *st);

/* Reads `len` bytes at off. Returns 0, -ENOEXEC if the file is shorter, or -errno. */
int elf_read(int fd, uint64_t off, void *buf, size_t len);

#endif
