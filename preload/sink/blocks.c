/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/blocks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void blocks_path(const struct files *f, uint32_t block, uint32_t part, char *buf, size_t cap)
{
	uint64_t last = (uint64_t)block + f->j->head->block_steps - 1;

	if (part)
		snprintf(buf, cap, "calls_%u-%llu.%u.csv", block, (unsigned long long)last, part);
	else
		snprintf(buf, cap, "calls_%u-%llu.csv", block, (unsigned long long)last);
}

struct out_block *blocks_find(struct files *f, uint32_t block, uint32_t part)
{
	for (uint32_t i = f->nblocks; i-- > 0;)
		if (f->blocks[i].block == block && f->blocks[i].part == part)
			return &f->blocks[i];
	return NULL;
}

static bool comes_before(uint32_t block, uint32_t part, const struct out_block *b)
{
	return block != b->block ? block < b->block : part < b->part;
}

/* Sorted: late rows may bring back a block that comes before others. */
struct out_block *blocks_add(struct files *f, uint32_t block, uint32_t part, uint64_t bytes)
{
	if (f->nblocks == f->cap_blocks) {
		uint32_t want = f->cap_blocks ? f->cap_blocks * 2 : 64;
		struct out_block *more = realloc(f->blocks, want * sizeof(*more));

		if (!more)
			return NULL;
		f->blocks = more;
		f->cap_blocks = want;
	}

	uint32_t i = f->nblocks++;

	for (; i && comes_before(block, part, &f->blocks[i - 1]); i--)
		f->blocks[i] = f->blocks[i - 1];
	f->blocks[i] = (struct out_block){.block = block, .part = part, .bytes = bytes};
	f->total += bytes;
	return &f->blocks[i];
}

int blocks_scan(struct files *f)
{
	int fd = openat(files_dir(f), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	f->nblocks = 0;
	f->total = 0;
	if (!d) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return -err;
	}
	for (struct dirent *e; (e = readdir(d));) {
		unsigned block, part = 0;
		unsigned long long last;
		struct out_block *b;
		struct stat st;
		char want[BLOCK_PATH_MAX];
		const char *rest;

		if (sscanf(e->d_name, "calls_%u-%llu.%u.csv", &block, &last, &part) < 2)
			continue;
		blocks_path(f, block, part, want, sizeof(want));
		rest = e->d_name + strlen(want);
		if (strncmp(want, e->d_name, strlen(want)) ||
			(strcmp(rest, "") && strcmp(rest, ".gz") && strcmp(rest, ".gz.tmp")) ||
			fstatat(f->dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		if (!st.st_size || strcmp(rest, ".gz.tmp") == 0 ||
			(*rest && faccessat(f->dirfd, want, F_OK, AT_SYMLINK_NOFOLLOW) == 0)) {
			unlinkat(f->dirfd, e->d_name, 0);
			continue;
		}
		b = blocks_add(f, block, part, (uint64_t)st.st_size);
		if (b)
			b->gz = *rest;
	}
	closedir(d);
	return 0;
}

void blocks_close(struct files *f, const char *path)
{
	for (int i = 0; i < FILES_OPEN; i++)
		if (strcmp(f->file[i].path, path) == 0)
			files_forget(&f->file[i]);
}

uint32_t files_limit(struct files *f)
{
	uint64_t limit = f->j->head->limit_bytes;
	uint32_t removed = 0;

	/* The first block stays (it shows the start), and the last one is being written. */
	while (limit && f->total > limit && f->nblocks > 2) {
		struct out_block b = f->blocks[1];
		char path[BLOCK_PATH_MAX];

		blocks_path(f, b.block, b.part, path, sizeof(path));
		blocks_close(f, path);
		if (b.gz)
			strcat(path, ".gz");
		unlinkat(files_dir(f), path, 0);
		memmove(&f->blocks[1], &f->blocks[2], (f->nblocks - 2) * sizeof(b));
		f->nblocks--;
		f->total -= b.bytes;
		removed++;
	}
	f->j->head->removed_blocks += removed;
	return removed;
}
