/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/io.h"

#define PATH_BYTES 1024
#define TEXT_BYTES 8192
#define V1_UNLIMITED (UINT64_C(1) << 60) /* cgroup v1 uses a very large number for "no limit" */

bool place_type_is_local(uint32_t type)
{
	static const uint32_t local[] = {
		0xef53, /* ext2, ext3, ext4 */
		0x58465342, /* xfs */
		0x01021994, /* tmpfs */
		0x858458f6, /* ramfs, the common initial root file system */
		0x794c7630, /* overlayfs: its upper layer is local */
	};

	for (unsigned i = 0; i < sizeof(local) / sizeof(*local); i++)
		if (local[i] == type)
			return true;
	return false;
}

bool place_is_local(int dirfd)
{
	struct statfs fs;

	return fstatfs(dirfd, &fs) == 0 && place_type_is_local((uint32_t)fs.f_type);
}

/*
 * Not on the stack, because the thread whose call starts the recording may have a small one. Only
 * one thread runs this at a time.
 */
static char text[TEXT_BYTES], groups[TEXT_BYTES], path[PATH_BYTES];

/*
 * Reads the number in file `path`. Returns UINT64_MAX if there is no such file, or it is not a
 * number ("max").
 */
static uint64_t read_limit_file(void)
{
	char buf[64], *end;
	ssize_t n = io_read_file(AT_FDCWD, path, buf, sizeof(buf) - 1);
	uint64_t v;

	if (n <= 0)
		return UINT64_MAX;
	buf[n] = 0;
	v = strtoull(buf, &end, 10);
	return end == buf ? UINT64_MAX : v;
}

/* Returns the number after `word` at the start of a line, times unit; 0: not found. */
static uint64_t read_number_after(const char *word, uint64_t unit)
{
	ssize_t n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);
	size_t len = strlen(word);

	if (n <= 0)
		return 0;
	text[n] = 0;
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, len) == 0)
			return strtoull(line + len, NULL, 10) * unit;
	}
	return 0;
}

struct version {
	const char *mount, *limit, *used, *cache;
};

/* File pages that were not used lately can be reclaimed. They do not count as used, as in MemAvailable. */
static const struct version v2 = {
	"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
static const struct version v1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
	"memory.usage_in_bytes", "total_inactive_file "};

static uint64_t lesser_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the memory that one control group has left. */
static uint64_t group_free(const char *root, const struct version *v, const char *group)
{
	uint64_t limit, used, cache;

	snprintf(path, sizeof(path), "%s%s%s/%s", root, v->mount, group, v->limit);
	limit = read_limit_file();
	snprintf(path, sizeof(path), "%s%s%s/%s", root, v->mount, group, v->used);
	used = read_limit_file();
	if (limit >= V1_UNLIMITED || used == UINT64_MAX)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s%s%s/memory.stat", root, v->mount, group);
	cache = read_number_after(v->cache, 1);
	used -= lesser_of(cache, used);
	return limit - lesser_of(used, limit);
}

/*
 * Returns the minimum that the control group and all groups above it have left. In a container
 * the path of the group may be the host's, while the mount begins at the group itself.
 */
static uint64_t groups_free(const char *root, const struct version *v, char *group)
{
	uint64_t free = group_free(root, v, "");

	for (char *cut; *group; *cut = 0) {
		free = lesser_of(free, group_free(root, v, group));
		cut = strrchr(group, '/');
		if (!cut)
			break;
	}
	return free;
}

static bool has_memory(const char *controllers)
{
	const char *p = strstr(controllers, "memory");

	return p && (p == controllers || p[-1] == ',') && (p[6] == 0 || p[6] == ',');
}

uint64_t place_free_memory(const char *root)
{
	uint64_t free;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	free = read_number_after("MemAvailable:", 1024);
	if (!free)
		free = UINT64_MAX;
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	n = io_read_file(AT_FDCWD, path, groups, sizeof(groups) - 1);
	groups[n > 0 ? n : 0] = 0;
	/* Lines "<number>:<controllers>:<path>"; of version 2: "0::<path>". */
	for (char *line = groups, *next; line && *line; line = next) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!group || (next && group >= next))
			continue;
		*group++ = 0;
		if (strlen(group) > PATH_BYTES / 2)
			continue;
		if (names + 2 == group)
			free = lesser_of(free, groups_free(root, &v2, group));
		else if (has_memory(names + 1))
			free = lesser_of(free, groups_free(root, &v1, group));
	}
	return free;
}
