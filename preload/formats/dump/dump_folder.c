/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/rooms/dump.h"
#include "formats/dump/dump_compose.h"

#define EARLIER_MAX 10000 /* maximum number of earlier runs whose dumps are kept */

int dump_root_open(struct files *f)
{
	const char *path = f->cfg ? get_dump_keys(f->cfg)->dump_path : "";
	int err = *path ? io_add_folders(path) : 0, fd;

	if (err)
		return err;
	fd = *path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		   : openat(files_get_dir(f), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void format_rank_folder_name(const struct files *f, char *out, size_t cap)
{
	if (f->j->head->rank >= 0)
		snprintf(out, cap, "rank%d", f->j->head->rank);
	else
		snprintf(out, cap, "proc%lld", (long long)f->j->head->owner.pid);
}

static int open_subfolder(int dirfd, const char *name)
{
	int fd;

	if (mkdirat(dirfd, name, IO_FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Moves the files of another run to the first step<N>.<n> that has no folder of this rank. */
static int move_earlier(int root, int step_fd, uint32_t step, const char *rank)
{
	struct stat st;

	if (fstatat(step_fd, rank, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	for (unsigned n = 1; n < EARLIER_MAX; n++) {
		char name[48];
		int to;

		snprintf(name, sizeof(name), "step%u.%u", step, n);
		to = open_subfolder(root, name);
		if (to < 0)
			return to;
		if (fstatat(to, rank, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			close(to);
			continue;
		}

		int err = renameat(step_fd, rank, to, rank) < 0 ? -errno : 0;

		close(to);
		return err;
	}
	return -EEXIST;
}

int dump_folder_open(struct files *f, uint32_t step, bool own)
{
	int root = dump_root_open(f), step_fd, fd = -1, err = 0;
	char name[32], rank[32];

	if (root < 0)
		return root;
	snprintf(name, sizeof(name), "step%u", step);
	format_rank_folder_name(f, rank, sizeof(rank));
	step_fd = open_subfolder(root, name);
	if (step_fd < 0) {
		close(root);
		return step_fd;
	}
	if (!own)
		err = move_earlier(root, step_fd, step, rank);
	if (!err)
		fd = open_subfolder(step_fd, rank);
	close(step_fd);
	close(root);
	return err ? err : fd;
}

bool dump_folder_is_made(struct files *f, uint32_t step)
{
	int root = dump_root_open(f);
	char path[96], rank[32];
	struct stat st;
	bool is;

	if (root < 0)
		return false;
	format_rank_folder_name(f, rank, sizeof(rank));
	snprintf(path, sizeof(path), "step%u/%s/" DUMP_JSON, step, rank);
	is = fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	close(root);
	return is;
}
