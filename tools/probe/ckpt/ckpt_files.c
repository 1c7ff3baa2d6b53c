/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of checkpoints. Complete is: a ZIP archive (torch.save) that ends with its directory, a safetensors file as long as its
 * header says, a folder of torch.distributed.checkpoint with its .metadata, which is written last, and any other file that is
 * not empty. Temporary names (*.tmp, .tmp*) are none: who writes so renames when all is there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/tool.h"
#include "tools/probe/ckpt/ckpt.h"

#define ZIP_TAIL 65557 /* the end record with the longest comment */
#define HEADER_MOST (UINT64_C(100) << 20) /* of a safetensors file, as its format limits it */

/* When the file was made; where the file system does not keep that, when it was last written. */
static uint64_t find_birth_ns(const char *path)
{
	struct statx x;
	struct statx_timestamp t;

	if (statx(AT_FDCWD, path, 0, STATX_BTIME | STATX_MTIME, &x))
		return 0;
	t = x.stx_mask & STATX_BTIME ? x.stx_btime : x.stx_mtime;
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static bool has_tail(const char *name, const char *tail)
{
	size_t n = strlen(name), m = strlen(tail);

	return n >= m && strcmp(name + n - m, tail) == 0;
}

static bool is_temporary(const char *name)
{
	return name[0] == '.' || has_tail(name, ".tmp") || strstr(name, ".tmp.") ||
	       has_tail(name, ".part");
}

static bool is_checkpoint_name(const char *name)
{
	static const char *const tails[] = {
		".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".tar", ".pkl"};

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++)
		if (has_tail(name, tails[i]))
			return !is_temporary(name);
	return false;
}

static bool ends_with_directory(int fd, uint64_t size)
{
	size_t n = size < ZIP_TAIL ? (size_t)size : ZIP_TAIL;
	unsigned char *buf = tool_alloc(n + 1);
	bool found = false;

	if (pread(fd, buf, n, (off_t)(size - n)) == (ssize_t)n)
		for (size_t i = n >= 22 ? n - 22 + 1 : 0; i-- && !found;)
			found = memcmp(buf + i, "PK\5\6", 4) == 0 &&
				i + 22 + buf[i + 20] + 256u * buf[i + 21] == n;
	free(buf);
	return found;
}

/* The largest end in "data_offsets":[begin,end] of the header. */
static uint64_t find_data_end(const char *header)
{
	uint64_t most = 0;

	for (const char *p = header; (p = strstr(p, "\"data_offsets\""));) {
		char *end;
		uint64_t v;

		p = strchr(p, '[');
		if (!p)
			break;
		strtoull(p + 1, &end, 10);
		end += strspn(end, ", ");
		v = strtoull(end, NULL, 10);
		most = v > most ? v : most;
	}
	return most;
}

static bool is_whole_safetensors(int fd, uint64_t size)
{
	unsigned char n8[8];
	uint64_t n = 0;
	char *header;
	bool whole;

	if (pread(fd, n8, 8, 0) != 8)
		return false;
	for (int i = 7; i >= 0; i--)
		n = n << 8 | n8[i];
	if (n < 2 || n > HEADER_MOST || n + 8 > size)
		return false;
	header = tool_alloc((size_t)n + 1);
	whole = pread(fd, header, (size_t)n, 8) == (ssize_t)n && header[0] == '{' &&
		8 + n + find_data_end(header) == size;
	free(header);
	return whole;
}

static void look_at_ckpt_file(struct checkpoint *c)
{
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char magic[4] = {0};
	struct stat st;

	c->format = "other";
	c->state = CKPT_PARTIAL;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, magic, 4, 0) == 4) {
		if (memcmp(magic, "PK\3\4", 4) == 0) {
			c->format = "torch";
			if (ends_with_directory(fd, (uint64_t)st.st_size))
				c->state = CKPT_COMPLETE;
		} else if (has_tail(c->name, ".safetensors")) {
			c->format = "safetensors";
			if (is_whole_safetensors(fd, (uint64_t)st.st_size))
				c->state = CKPT_COMPLETE;
		} else {
			c->state = CKPT_COMPLETE;
		}
	}
	close(fd);
	c->begun_ns = find_birth_ns(c->path);
}

/* A folder of torch.distributed.checkpoint: when its first file was made, and whether its .metadata is there. */
static bool look_at_dcp(struct checkpoint *c)
{
	DIR *d = opendir(c->path);
	struct dirent *e;
	unsigned parts = 0;
	bool metadata = false;

	while (d && (e = readdir(d))) {
		char *path;
		uint64_t ns;

		metadata |= strcmp(e->d_name, ".metadata") == 0;
		if (!has_tail(e->d_name, ".distcp"))
			continue;
		parts++;
		path = tool_format("%s/%s", c->path, e->d_name);
		ns = find_birth_ns(path);
		if (ns && (!c->begun_ns || ns < c->begun_ns))
			c->begun_ns = ns;
		free(path);
	}
	if (d)
		closedir(d);
	c->format = "dcp";
	c->state = metadata ? CKPT_COMPLETE : CKPT_PARTIAL;
	return parts > 0;
}

static bool is_known_checkpoint(const struct checkpoints *c, const char *path)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->at[i].path, path) == 0)
			return true;
	return false;
}

static void free_checkpoint(struct checkpoint *c)
{
	free(c->path);
	free(c->name);
	free(c->reason);
}

/* named: the user's own pattern names it, whatever it is called. */
static bool add_checkpoint(struct checkpoints *all, const char *path, bool folder, bool named)
{
	const char *slash = strrchr(path, '/');
	struct checkpoint c = {.path = tool_strdup(path),
		.name = tool_strdup(slash ? slash + 1 : path),
		.step = -1,
		.rank = -1};
	bool is = !is_known_checkpoint(all, path);

	if (is && folder)
		is = look_at_dcp(&c);
	else if (is)
		is = named ? !is_temporary(c.name) : is_checkpoint_name(c.name);
	if (!is) {
		free_checkpoint(&c);
		return false;
	}
	if (!folder)
		look_at_ckpt_file(&c);
	TOOL_GROW(all->at, all->n, all->cap);
	all->at[all->n++] = c;
	return true;
}

/* Checkpoints in a folder and in those below it. */
static bool find_below(struct checkpoints *c, const char *dir, unsigned deep)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		struct stat st;
		char *path;

		if (e->d_name[0] == '.')
			continue;
		path = tool_format("%s/%s", dir, e->d_name);
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
			found |= add_checkpoint(c, path, true, false) ||
				 (deep && find_below(c, path, deep - 1));
		else if (S_ISREG(st.st_mode))
			found |= add_checkpoint(c, path, false, false);
		free(path);
	}
	if (d)
		closedir(d);
	return found;
}

bool checkpoints_find(struct checkpoints *c, const char *pattern)
{
	glob_t g = {0};
	bool found = false;

	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++) {
			const char *path = g.gl_pathv[i];
			struct stat st;

			if (stat(path, &st))
				continue;
			if (S_ISDIR(st.st_mode))
				found |= add_checkpoint(c, path, true, true) ||
					 find_below(c, path, 4);
			else if (S_ISREG(st.st_mode))
				found |= add_checkpoint(c, path, false, true);
		}
	globfree(&g);
	return found;
}

static int compare_ckpt_times(const void *x, const void *y)
{
	const struct checkpoint *a = x, *b = y;

	if (a->begun_ns != b->begun_ns)
		return a->begun_ns < b->begun_ns ? -1 : 1;
	return strcmp(a->path, b->path);
}

void checkpoints_sort(struct checkpoints *c)
{
	if (c->n)
		qsort(c->at, c->n, sizeof(*c->at), compare_ckpt_times);
}

void checkpoints_free(struct checkpoints *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free_checkpoint(&c->at[i]);
	free(c->at);
	*c = (struct checkpoints){0};
}
