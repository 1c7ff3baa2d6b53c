/* SPDX-License-Identifier: Apache-2.0 */
/* File I/O without stdio: whole reads and writes, with EINTR and short transfers handled. Functions return -errno. */
#ifndef PROBE_BASE_IO_H
#define PROBE_BASE_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Appends all n bytes, or returns -errno; part of them may then be in the file. */
int io_write_all(int fd, const void *buf, size_t n);

/* Mode of files that libprobe creates, before the umask: others may read them. */
#define IO_FILE_MODE 0644
#define IO_FOLDER_MODE 0755

#define IO_ENOTREG EMEDIUMTYPE /* a FIFO, a socket, a device: see io_error_text() */

/*
 * Opens a regular file and nothing else: a FIFO or device does not block the caller and is not
 * read or written. flags: O_NOFOLLOW if the name may belong to another user. Returns the
 * descriptor, -IO_ENOTREG, -EISDIR, or -errno.
 */
int io_open_regular(int dirfd, const char *path, int flags, mode_t mode);

/*
 * Creates a new file for writing. An existing file (not a directory) is removed first, and never
 * written into.
 */
int io_create_file(int dirfd, const char *path);

/* strerror() of -errno, plus texts for the error codes of this file. */
const char *io_error_text(int err);

/*
 * What a user can do about -errno of a limit: "free space there", "raise the limit of open files
 * (ulimit -n)" ... Returns `otherwise` for other errors.
 */
const char *io_get_remedy(int err, const char *otherwise);

/*
 * Reads up to cap bytes from the start of the regular file `path` in folder dirfd (AT_FDCWD: any
 * path). If dirfd is a folder, links are not followed. Returns the number of bytes read, or
 * -errno.
 */
ssize_t io_read_file(int dirfd, const char *path, void *buf, size_t cap);

/* Writes a whole small file as `path`.tmp, a new file, and renames it. */
int io_replace_file(int dirfd, const char *path, const void *buf, size_t n);

/*
 * Creates the directory and its parents, mode 0755 & ~umask. Returns 0 also if the directory
 * exists.
 */
int io_add_folders(const char *path);

/*
 * Descriptors that stay open. The program may close any number, and the number may then refer to
 * another file, into which libprobe must not write. So these descriptors have numbers far above
 * those that programs use, and are checked before each use.
 */
struct io_kept {
	int fd; /* -1: none */
	uint64_t dev, ino;
};

/* Takes ownership of the open descriptor `fd`. */
void io_kept_set(struct io_kept *k, int fd);

/*
 * True if the descriptor still refers to the same file. *st (may be NULL) receives the file's
 * state.
 */
bool io_kept_is_same(const struct io_kept *k, struct stat *st);

/* Closes the descriptor if it still refers to the same file. */
void io_kept_close(struct io_kept *k);

/*
 * Largest size in bytes of a file that this process may write (RLIMIT_FSIZE). Writing beyond this
 * raises a signal.
 */
uint64_t io_get_file_limit(void);

#endif
