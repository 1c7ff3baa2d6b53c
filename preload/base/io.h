/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files without stdio: whole reads and writes, EINTR and short transfers handled. Returns are -errno.
 */
#ifndef PROBE_BASE_IO_H
#define PROBE_BASE_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Writes all n bytes at the file's end position, or returns -errno; part of them may then be in the file. */
int io_write_all(int fd, const void *buf, size_t n);

/* What we make, before the umask: others may read it. */
#define IO_FILE_MODE 0644
#define IO_FOLDER_MODE 0755

#define IO_ENOTREG EMEDIUMTYPE /* a FIFO, a socket, a device: see io_error_text() */

/*
 * Opens what is a regular file, and nothing else: a FIFO or a device of that name neither holds up the caller nor is
 * read or written. flags: O_NOFOLLOW where the name may be another user's. Returns the descriptor, -IO_ENOTREG,
 * -EISDIR, -errno.
 */
int io_open_regular(int dirfd, const char *path, int flags, mode_t mode);

/* Makes a new file of that name, for writing. What had the name (a directory excepted) is removed, never written into. */
int io_create_file(int dirfd, const char *path);

/* strerror() of -errno, with words for what these functions return. */
const char *io_error_text(int err);

/*
 * Reads up to cap bytes from the start of the regular file dirfd/path (AT_FDCWD for none; below another folder links
 * are not followed). Returns the number read.
 */
ssize_t io_read_file(int dirfd, const char *path, void *buf, size_t cap);

/* Writes a whole small file as `path`.tmp, a new file, and renames it. */
int io_replace_file(int dirfd, const char *path, const void *buf, size_t n);

/* Creates the directory and its parents, mode 0755 & ~umask. 0 also when it exists. */
int io_mkdirs(const char *path);

/*
 * Descriptors that are kept open. The program may close any number, and be given it again for another file, into
 * which nothing of ours may go: kept ones lie far behind those that programs use, and are looked at before each use.
 */
struct io_kept {
	int fd; /* -1: none */
	uint64_t dev, ino;
};

/* Takes over the open descriptor `fd`. */
void io_keep(struct io_kept *k, int fd);

/* True if the descriptor still stands for that file; its state to *st unless NULL. */
bool io_kept_is(const struct io_kept *k, struct stat *st);

/* Closes it, if it is still ours. */
void io_kept_close(struct io_kept *k);

/* Bytes that a file of this process may hold (RLIMIT_FSIZE): writing beyond it is a signal, not an error. */
uint64_t io_file_limit(void);

#endif
