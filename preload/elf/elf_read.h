/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a file that may be cut short, replaced or no file at all.
 */
#ifndef PROBE_ELF_ELF_READ_H
#define PROBE_ELF_ELF_READ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Descriptor of a regular file and *st, or -errno (-ENOEXEC: not a regular file). Never blocks on a FIFO or device. */
int elf_open(const char *path, struct stat *st);

/* All `len` bytes at off: 0, -ENOEXEC where the file is shorter, or -errno. */
int elf_read(int fd, uint64_t off, void *buf, size_t len);

#endif
