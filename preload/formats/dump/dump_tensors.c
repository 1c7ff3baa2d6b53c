/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_tensors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "formats/dump/kept/dump_file.h"
#include "formats/dump/dump_folder.h"

static void format_parts_folder(const struct files *f, char *out, size_t cap)
{
	const struct journal_owner *o = &f->j->head->owner;

	snprintf(out, cap, ".dump-%lld-%llu", (long long)o->pid, (unsigned long long)o->start_time);
}

/*
 * Opens the folder of the step's files that have no names yet. make: make it if missing. Returns
 * a descriptor or -errno.
 */
static int open_step_parts(struct files *f, uint32_t step, bool make)
{
	int root = dump_root_open(f), fd;
	char name[96];

	if (root < 0)
		return root;
	format_parts_folder(f, name, sizeof(name));
	if (make)
		mkdirat(root, name, IO_FOLDER_MODE);
	snprintf(name + strlen(name), sizeof(name) - strlen(name), "/%u", step);
	if (make)
		mkdirat(root, name, IO_FOLDER_MODE);
	fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd;
}

static void format_tensor_part_name(
	const struct files *f, uint64_t seq, uint8_t io, uint16_t index, char *out, size_t cap)
{
	snprintf(out, cap, "%llu.%s.%u.%s", (unsigned long long)seq, io == IO_IN ? "in" : "out",
		index, DUMP_FILE_EXTENSION(f->cfg));
}

int dump_tensors_write_copied(struct files *f)
{
	const struct tensor_copy *c;
	uint32_t step = 0;
	int dirfd = -1, first = 0;
	char name[64];

	/* The copies were in the memory of the process that has ended. */
	if (f->j->left)
		return 0;
	while ((c = tensor_pool_get_first())) {
		int err;

		if (dirfd < 0 || step != c->step) {
			if (dirfd >= 0)
				close(dirfd);
			step = c->step;
			dirfd = open_step_parts(f, step, true);
		}
		format_tensor_part_name(f, c->seq, c->io, c->index, name, sizeof(name));
		err = dirfd < 0 ? dirfd : dump_file_write(dirfd, name, f->cfg, c);
		tensor_pool_remove_first();
		if (err && !first)
			first = err;
	}
	if (dirfd >= 0)
		close(dirfd);
	if (first)
		log_loss(LOSS_DUMP,
			"dump: files of tensors cannot be written: %s; they are skipped, and named "
			"in dump.json",
			io_error_text(first));
	return first;
}

/* Copies a file that cannot be moved, between file systems. */
static int copy_dump_file(int from, const char *name, int to, const char *as)
{
	int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), out, err = 0;
	char *buf = malloc(1 << 16);
	ssize_t n = 0;

	if (in < 0 || !buf) {
		err = in < 0 ? -errno : -ENOMEM;
		free(buf);
		if (in >= 0)
			close(in);
		return err;
	}
	out = io_create_file(to, as);
	err = out < 0 ? out : 0;
	while (!err && (n = read(in, buf, 1 << 16)) > 0)
		err = io_write_all(out, buf, (size_t)n);
	if (!err && n < 0)
		err = -errno;
	if (out >= 0)
		close(out);
	close(in);
	free(buf);
	if (!err)
		unlinkat(from, name, 0);
	return err;
}

int dump_tensors_move(struct files *f, uint32_t step, uint64_t seq, int to, const char *file)
{
	int parts = open_step_parts(f, step, false), err;
	char part[64];

	if (parts < 0)
		return parts;
	format_tensor_part_name(f, seq, IO_OUT, 0, part, sizeof(part));
	err = renameat(parts, part, to, file) < 0 ? -errno : 0;
	if (err == -EXDEV)
		err = copy_dump_file(parts, part, to, file);
	close(parts);
	return err;
}

void dump_tensors_format_file_name(char *file, size_t cap, const char *stem, const char *extension)
{
	size_t n = strlen(stem), most = NAME_MAX - strlen(extension) - 1;

	if (n <= most) {
		snprintf(file, cap, "%s.%s", stem, extension);
		return;
	}
	/* Does not cut inside a UTF-8 character. */
	for (n = most - 17; n && ((unsigned char)stem[n] & 0xc0) == 0x80; n--)
		;
	snprintf(file, cap, "%.*s~%016llx.%s", (int)n, stem, (unsigned long long)hash_str(1, stem),
		extension);
}

void dump_tensors_name(struct files *f, int step_fd, const struct journal_call *call,
	const struct journal_tensor *t, const char *stem, char *file, size_t cap)
{
	char part[64];
	struct stat st;
	int parts, data, err = -ENOENT;

	file[0] = 0;
	if (!(t->flags & TF_SAVED))
		return;
	if (mkdirat(step_fd, DUMP_DATA_FOLDER, IO_FOLDER_MODE) < 0 && errno != EEXIST)
		return;
	data = openat(step_fd, DUMP_DATA_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (data < 0)
		return;
	dump_tensors_format_file_name(file, cap, stem, DUMP_FILE_EXTENSION(f->cfg));
	format_tensor_part_name(f, call->seq, t->io, t->index, part, sizeof(part));
	parts = open_step_parts(f, call->step, false);
	if (parts >= 0) {
		err = renameat(parts, part, data, file) < 0 ? -errno : 0;
		if (err == -EXDEV)
			err = copy_dump_file(parts, part, data, file);
		close(parts);
	}
	/*
	 * The file was moved when the step's files were made for the first time, or was never
	 * written.
	 */
	if (err && fstatat(data, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		file[0] = 0;
	close(data);
}

static void remove_parts_of(int dirfd, const struct dump_order *calls)
{
	DIR *d = fdopendir(dirfd);
	struct dirent *e;

	if (!d) {
		close(dirfd);
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			(!calls || dump_order_has(calls, strtoull(e->d_name, NULL, 10))))
			unlinkat(dirfd, e->d_name, 0);
	closedir(d);
}

void dump_tensors_remove_unmoved(struct files *f, uint32_t step, const struct dump_order *calls)
{
	int fd = open_step_parts(f, step, false);

	if (fd >= 0)
		remove_parts_of(fd, calls);
}

void dump_tensors_remove_folder(struct files *f)
{
	int root = dump_root_open(f), fd;
	char name[96];
	struct dirent *e;
	DIR *d;

	if (root < 0)
		return;
	format_parts_folder(f, name, sizeof(name));
	fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	while (d && (e = readdir(d))) {
		int sub;

		if (e->d_name[0] == '.')
			continue;
		sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			remove_parts_of(sub, NULL);
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	unlinkat(root, name, AT_REMOVEDIR);
	close(root);
}
