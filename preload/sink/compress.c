/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK 65536

/* Returns the next file of the same kind; NULL: this is the last. */
static const struct out_block *find_next_of_kind(const struct files *f, uint32_t i)
{
	enum calls_kind kind = f->blocks[i].kind;

	while (++i < f->nblocks)
		if (f->blocks[i].kind == kind)
			return &f->blocks[i];
	return NULL;
}

/* Returns the oldest file that normally gets no more rows, or NULL. */
static struct out_block *find_oldest_finished(struct files *f)
{
	uint64_t steps = f->j->head->block_steps;

	for (uint32_t i = 0; i + 1 < f->nblocks; i++) {
		struct out_block *b = &f->blocks[i];
		const struct out_block *next = find_next_of_kind(f, i),
				       *last = &f->blocks[f->nblocks - 1];

		if (b->kind == CALLS_CSV && next && !b->gz &&
			(next->block == b->block || last->block > b->block + steps))
			return b;
	}
	return NULL;
}

/* Returns 0 or -errno; -ECANCELED: other threads wait for the files. */
static int write_gzip(int from, int to, const _Atomic int *hurry)
{
	char *buf = malloc(CHUNK);
	gzFile gz = gzdopen(to, "wb1");
	ssize_t n = 0;
	int err = 0;

	if (!buf || !gz) {
		free(buf);
		if (gz)
			gzclose(gz);
		else
			close(to);
		return -ENOMEM;
	}
	while (!err && (n = read(from, buf, CHUNK)) != 0)
		if (atomic_load_explicit(hurry, memory_order_relaxed))
			err = -ECANCELED;
		else if (n < 0 ? errno != EINTR : gzwrite(gz, buf, (unsigned)n) != n)
			err = errno ? -errno : -EIO;
	if (gzclose(gz) != Z_OK && !err)
		err = errno ? -errno : -EIO;
	free(buf);
	return err;
}

int files_compress(struct files *f, const _Atomic int *hurry)
{
	struct out_block *b = f->plain ? NULL : find_oldest_finished(f);
	char path[BLOCK_PATH_MAX], gz[BLOCK_PATH_MAX + 8], tmp[BLOCK_PATH_MAX + 8];
	int from, to, err;
	off_t bytes;

	if (!b || atomic_load_explicit(hurry, memory_order_relaxed))
		return 0;
	format_block_path(f, b->kind, b->block, b->part, path, sizeof(path));
	snprintf(gz, sizeof(gz), "%s.gz", path);
	snprintf(tmp, sizeof(tmp), "%s.gz.tmp", path);
	blocks_close(f, path);
	errno = 0;
	from = files_open_own(files_get_dir(f), path, O_RDONLY);
	to = io_create_file(f->dirfd, tmp);
	err = from < 0 ? from : to < 0 ? to : 0;
	if (!err)
		err = write_gzip(from, to, hurry); /* closes `to` */
	else if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	files_get_dir(f); /* compressing took some time, so the folder is checked again */
	if (!err && renameat(f->dirfd, tmp, f->dirfd, gz) < 0)
		err = -errno;
	if (err) {
		if (to >= 0)
			unlinkat(f->dirfd, tmp, 0);
		if (err == -ECANCELED)
			return 0;
		f->plain = true;
		return err;
	}
	unlinkat(f->dirfd, path, 0);
	to = io_open_regular(f->dirfd, gz, O_RDONLY | O_NOFOLLOW, 0);
	bytes = to < 0 ? 0 : lseek(to, 0, SEEK_END);
	if (to >= 0)
		close(to);
	if (bytes > 0) {
		f->total -= b->bytes;
		b->bytes = (uint64_t)bytes;
		f->total += b->bytes;
	}
	b->gz = true;
	return 1;
}
