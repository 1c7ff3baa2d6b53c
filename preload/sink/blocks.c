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

static const char suffixes[][12] = {[CALLS_CSV] = ".csv", [CALLS_COMPACT] = ".compact"};

void format_block_path(const struct files *f, enum calls_kind kind, uint32_t block, uint32_t part,
	char *buf, size_t cap)
{
	uint64_t last = (uint64_t)block + f->j->head->block_steps - 1;

	if (part)
		snprintf(buf, cap, "calls_%u-%llu.%u%s", block, (unsigned long long)last, part,
			suffixes[kind]);
	else
		snprintf(buf, cap, "calls_%u-%llu%s", block, (unsigned long long)last,
			suffixes[kind]);
}

struct out_block *blocks_find(struct files *f, enum calls_kind kind, uint32_t block, uint32_t part)
{
	for (uint32_t i = f->nblocks; i-- > 0;)
		if (f->blocks[i].block == block && f->blocks[i].part == part &&
			f->blocks[i].kind == kind)
			return &f->blocks[i];
	return NULL;
}

static bool is_block_before(uint32_t block, uint32_t part, const struct out_block *b)
{
	return block != b->block ? block < b->block : part < b->part;
}

/* Inserts in order: late rows may recreate a block that belongs before others. */
struct out_block *blocks_add(
	struct files *f, enum calls_kind kind, uint32_t block, uint32_t part, uint64_t bytes)
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

	for (; i && is_block_before(block, part, &f->blocks[i - 1]); i--)
		f->blocks[i] = f->blocks[i - 1];
	f->blocks[i] =
		(struct out_block){.block = block, .part = part, .kind = kind, .bytes = bytes};
	f->total += bytes;
	return &f->blocks[i];
}

int blocks_load_and_clean(struct files *f)
{
	int fd = openat(files_get_dir(f), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
		enum calls_kind kind;
		unsigned long long last;
		struct out_block *b;
		struct stat st;
		char want[BLOCK_PATH_MAX];
		const char *rest;

		if (sscanf(e->d_name, "calls_%u-%llu.%u.", &block, &last, &part) < 2)
			continue;
		kind = strstr(e->d_name, suffixes[CALLS_COMPACT]) ? CALLS_COMPACT : CALLS_CSV;
		format_block_path(f, kind, block, part, want, sizeof(want));
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
		b = blocks_add(f, kind, block, part, (uint64_t)st.st_size);
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
			files_close_unwritten(&f->file[i]);
}

/*
 * For each kind, the first block is kept (it shows how the run began), and the last is still
 * being written. Returns nblocks if none can be removed.
 */
static uint32_t find_oldest_removable(const struct files *f)
{
	uint32_t seen[] = {0, 0, 0}, all[] = {0, 0, 0};

	for (uint32_t i = 0; i < f->nblocks; i++)
		all[f->blocks[i].kind]++;
	for (uint32_t i = 0; i < f->nblocks; i++) {
		enum calls_kind kind = f->blocks[i].kind;

		if (seen[kind]++ && seen[kind] < all[kind])
			return i;
	}
	return f->nblocks;
}

uint32_t files_remove_oldest(struct files *f)
{
	uint64_t limit = f->j->head->limit_bytes;
	uint32_t removed = 0;

	for (uint32_t i;
		limit && f->total > limit && (i = find_oldest_removable(f)) < f->nblocks;) {
		struct out_block b = f->blocks[i];
		char path[BLOCK_PATH_MAX];

		format_block_path(f, b.kind, b.block, b.part, path, sizeof(path));
		blocks_close(f, path);
		if (b.gz)
			strcat(path, ".gz");
		unlinkat(files_get_dir(f), path, 0);
		memmove(&f->blocks[i], &f->blocks[i + 1], (f->nblocks - i - 1) * sizeof(b));
		f->nblocks--;
		f->total -= b.bytes;
		removed++;
	}
	f->j->head->removed_blocks += removed;
	return removed;
}
