/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/meta_config.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/files/whole_file.h"
#include "tools/lib/tool.h"

#define BYTES_MAX (1u << 20)

char *meta_read_config(const char *folder)
{
	static const char key[] = "\n \"config\": ";
	char *path = tool_format("%s/meta.json", folder), *buf, *at;
	ssize_t n;

	buf = read_whole_file(path, BYTES_MAX, &n);
	free(path);
	/* Each part of meta.json begins on a line of its own (folder/meta.c). */
	at = strstr(buf, key);
	if (!at) {
		free(buf);
		return NULL;
	}
	at += sizeof(key) - 1;

	size_t len = strcspn(at, "\n");
	char *json = tool_strndup(at, len && at[len - 1] == ',' ? len - 1 : len);

	free(buf);
	return json;
}
