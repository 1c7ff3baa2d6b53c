/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int io_write_all(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (k == 0)
			return -EIO;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

int io_open_regular(int dirfd, const char *path, int flags, mode_t mode)
{
	/* Non-blocking: open() must not wait for the other end of a FIFO, or for the holder of a lease on the file. */
	int fd = openat(dirfd, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode), err = 0;
	struct stat st;

	/* ENXIO: a FIFO without a reader, a socket, or a device without a driver. */
	if (fd < 0)
		return errno == ENXIO ? -IO_ENOTREG : -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = S_ISDIR(st.st_mode) ? -EISDIR : -IO_ENOTREG;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int io_create_file(int dirfd, const char *path)
{
	for (int tries = 0; tries < 3; tries++) {
		int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			IO_FILE_MODE);

		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
		if (unlinkat(dirfd, path, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return -EEXIST;
}

const char *io_error_text(int err)
{
	return err == -IO_ENOTREG ? "not a regular file"
	       : err == -ELOOP	  ? "a symbolic link, or too many of them"
				  : strerror(-err);
}

const char *io_get_remedy(int err, const char *otherwise)
{
	static const struct {
		int error;
		const char *text;
	} remedies[] = {
		{ENOSPC, "free space there"},
		{EDQUOT, "free space there, or raise the quota"},
		{EFBIG, "raise the limit of file sizes (ulimit -f)"},
		{EMFILE, "raise the limit of open files (ulimit -n)"},
		{ENFILE, "raise the system's limit of open files (fs.file-max)"},
		{ENOMEM, "free memory, or raise its limit (ulimit -v)"},
	};

	for (unsigned i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (-err == remedies[i].error)
			return remedies[i].text;
	return otherwise;
}

ssize_t io_read_file(int dirfd, const char *path, void *buf, size_t cap)
{
	int fd = io_open_regular(
		dirfd, path, dirfd == AT_FDCWD ? O_RDONLY : O_RDONLY | O_NOFOLLOW, 0);
	size_t have = 0;

	if (fd < 0)
		return fd;
	while (have < cap) {
		ssize_t k = read(fd, (char *)buf + have, cap - have);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			int err = errno;

			close(fd);
			return -err;
		}
		if (k == 0)
			break;
		have += (size_t)k;
	}
	close(fd);
	return (ssize_t)have;
}

int io_replace_file(int dirfd, const char *path, const void *buf, size_t n)
{
	char tmp[256];

	if (n > io_get_file_limit())
		return -EFBIG;
	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp", path) >= sizeof(tmp))
		return -ENAMETOOLONG;

	int fd = io_create_file(dirfd, tmp);

	if (fd < 0)
		return fd;

	int err = io_write_all(fd, buf, n);

	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && renameat(dirfd, tmp, dirfd, path) < 0)
		err = -errno;
	if (err)
		unlinkat(dirfd, tmp, 0);
	return err;
}

int io_add_folders(const char *path)
{
	char tmp[4096];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(tmp))
		return n ? -ENAMETOOLONG : -EINVAL;
	memcpy(tmp, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (tmp[i] != '/' && tmp[i] != 0)
			continue;

		char c = tmp[i];

		tmp[i] = 0;
		if (mkdir(tmp, IO_FOLDER_MODE) < 0 && errno != EEXIST) {
			int err = errno;
			struct stat st;

			/*
			 * For a parent that exists but is not writable, mkdir() returns EACCES or
			 * EROFS.
			 */
			if (stat(tmp, &st) < 0 || !S_ISDIR(st.st_mode))
				return -err;
		}
		tmp[i] = c;
	}

	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

#define KEPT_FROM 500 /* below 1024, where select() and many default limits end */

void io_kept_set(struct io_kept *k, int fd)
{
	struct rlimit r = {0};
	struct stat st = {0};
	int from = KEPT_FROM, up;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < KEPT_FROM + 100)
		from = (int)(r.rlim_cur / 4 * 3);
	up = fcntl(fd, F_DUPFD_CLOEXEC, from);
	if (up >= 0) {
		close(fd);
		fd = up;
	}
	fstat(fd, &st);
	*k = (struct io_kept){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
}

bool io_kept_is_same(const struct io_kept *k, struct stat *st)
{
	struct stat own;

	st = st ? st : &own;
	return k->fd >= 0 && fstat(k->fd, st) == 0 && st->st_dev == k->dev && st->st_ino == k->ino;
}

void io_kept_close(struct io_kept *k)
{
	if (io_kept_is_same(k, NULL))
		close(k->fd);
	k->fd = -1;
}

uint64_t io_get_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
		return INT64_MAX;
	return r.rlim_cur;
}
