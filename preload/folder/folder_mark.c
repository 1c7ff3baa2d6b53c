/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/folder_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

#define MARK_FILE "moving"
#define MARK_TRIES 8
/* only for file systems without locks: a mark of this age belongs to a dead process */
#define MARK_LEFT_S 60

/* Opens the mark, or makes it. *made: it did not exist before. */
static int open_mark(int dirfd, bool *made)
{
	int fd = openat(
		dirfd, MARK_FILE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, IO_FILE_MODE);

	*made = fd >= 0;
	if (fd >= 0 || errno != EEXIST)
		return fd >= 0 ? fd : -errno;
	return io_open_regular(dirfd, MARK_FILE, O_RDWR | O_NOFOLLOW, 0);
}

/*
 * True if the mark still exists: the process that held it may have removed it between open() and
 * flock() here.
 */
static bool is_mark_there(int dirfd, int fd)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 &&
	       fstatat(dirfd, MARK_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

static bool is_mark_old(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && time(NULL) - st.st_mtime >= MARK_LEFT_S;
}

int mark_folder(int dirfd)
{
	for (int tries = 0; tries < MARK_TRIES; tries++) {
		bool made;
		int fd = open_mark(dirfd, &made);

		if (fd == -ENOENT && !made) {
			struct stat st;

			/* Either the mark was removed since, or the folder was. */
			if (fstat(dirfd, &st) < 0 || st.st_nlink == 0)
				return -ENOENT;
			continue;
		}
		if (fd < 0)
			return fd == -ELOOP || fd == -EISDIR || fd == -IO_ENOTREG ? -EBUSY : fd;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			if (is_mark_there(dirfd, fd))
				return fd;
		} else if (errno == EWOULDBLOCK) {
			close(fd);
			return -EBUSY;
		} else if (made) {
			return fd;
		} else if (!is_mark_old(fd)) {
			close(fd);
			return -EBUSY;
		} else {
			unlinkat(dirfd, MARK_FILE, 0);
		}
		close(fd);
	}
	return -EBUSY;
}

void unmark_folder(int dirfd, int mark)
{
	unlinkat(dirfd, MARK_FILE, 0);
	/* Unlocks explicitly, because a child forked meanwhile has the descriptor too. */
	flock(mark, LOCK_UN);
	close(mark);
}
