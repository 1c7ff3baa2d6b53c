/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/host/task_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

bool read_task_stat(int64_t pid, const char *task, struct task_stat *s)
{
	char path[96], text[1024];
	char *name, *end;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%lld%s%.20s/stat", (long long)pid,
		*task ? "/task/" : "", task);
	n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	/* The name can contain spaces and parentheses. */
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name)
		return false;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)(end - name - 1), name + 1);
	return sscanf(end + 1,
		       " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
		       "%*d %llu",
		       &s->state, &s->flags, &s->user, &s->system, &s->start) == 5;
}
