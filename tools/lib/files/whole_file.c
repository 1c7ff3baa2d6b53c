/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "tools/lib/tool.h"

char *read_whole_file(const char *path, size_t max, ssize_t *n)
{
	struct stat st;
	size_t space = stat(path, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
	char *text = NULL;

	/* Reads one byte more than the file's size to detect its end; a file that has grown since is read again. */
	for (;; space = 2 * space + 64) {
		space = space < max ? space : max;
		text = tool_realloc(text, space + 2);
		*n = io_read_file(AT_FDCWD, path, text, space + 1);
		if (*n <= (ssize_t)space || space == max)
			break;
	}
	text[*n > 0 ? *n : 0] = 0;
	return text;
}

FILE *open_regular_stream(const char *path, int flags)
{
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY | flags, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}
