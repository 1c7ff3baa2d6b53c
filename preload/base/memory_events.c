/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory_events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#define MOUNTED "/sys/fs/cgroup"

int64_t read_oom_kills(const char *path)
{
	char text[1024];
	ssize_t n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "oom_kill ", 9) == 0)
			return (int64_t)strtoull(line + 9, NULL, 10);
	return -1;
}

/* True if `list`, such as "cpu,memory", contains the controller. */
static bool has_controller(const char *list, size_t n, const char *name)
{
	size_t want = strlen(name);

	for (size_t i = 0; i + want <= n; i += strcspn(list + i, ",:") + 1)
		if (strncmp(list + i, name, want) == 0 && (i + want == n || list[i + want] == ','))
			return true;
	return false;
}

/* A line is "hierarchy:controllers:group". */
int find_memory_events(const char *cgroups, char *path, size_t cap)
{
	for (const char *line = cgroups; *line;
		line += strcspn(line, "\n"), line += *line == '\n') {
		const char *list = strchr(line, ':');
		const char *group = list ? strchr(list + 1, ':') : NULL;
		const char *below, *file;
		int n;

		if (!group)
			continue;
		if (group == list + 1 && line[0] == '0') {
			below = "";
			file = "memory.events";
		} else if (has_controller(list + 1, (size_t)(group - list - 1), "memory")) {
			below = "/memory";
			file = "memory.oom_control";
		} else {
			continue;
		}
		group++;
		n = (int)strcspn(group, "\n");
		if (n == 1)
			n = 0; /* the group is the root, "/" */
		if ((size_t)snprintf(path, cap, MOUNTED "%s%.*s/%s", below, n, group, file) >= cap)
			return -ENAMETOOLONG;
		if (read_oom_kills(path) >= 0)
			return 0;
		/* In a container the mount point itself is the group's folder. */
		if ((size_t)snprintf(path, cap, MOUNTED "%s/%s", below, file) >= cap)
			return -ENAMETOOLONG;
		if (read_oom_kills(path) >= 0)
			return 0;
	}
	return -ENOENT;
}
