/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/training/step_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

/* Parses the steps in a file name that begins with `word`. Returns false for other names. */
static bool parse_step_file(const char *name, const char *word, uint64_t *first, uint64_t *last)
{
	size_t n = strlen(word);
	unsigned long long a, b;
	int end = 0;

	if (strncmp(name, word, n) != 0 ||
		sscanf(name + n, "_%llu-%llu.csv%n", &a, &b, &end) != 2 || !end ||
		name[n + (size_t)end])
		return false;
	*first = a;
	*last = b;
	return true;
}

static void list_step_folder(
	struct step_files *files, const char *dir, const struct overlay *overlay, const char *word)
{
	DIR *d = opendir(dir);
	struct step_file f;

	for (struct dirent *e; d && (e = readdir(d));) {
		if (!parse_step_file(e->d_name, word, &f.first, &f.last))
			continue;
		f.path = tool_format("%s/%s", dir, e->d_name);
		f.limit = overlay ? overlay_get_limit(overlay, e->d_name) : UINT64_MAX;
		TOOL_GROW(files->file, files->n, files->cap);
		files->file[files->n++] = f;
	}
	if (d)
		closedir(d);
}

static int compare_step_files(const void *x, const void *y)
{
	const struct step_file *a = x, *b = y;

	return a->first < b->first ? -1 : a->first > b->first;
}

void step_files_list(
	struct step_files *files, const char *dir, const struct overlay *overlay, const char *word)
{
	*files = (struct step_files){0};
	list_step_folder(files, dir, overlay, word);
	if (overlay && overlay->path)
		list_step_folder(files, overlay->path, NULL, word);
	if (files->n)
		qsort(files->file, files->n, sizeof(*files->file), compare_step_files);
}

void step_files_free(struct step_files *files)
{
	for (unsigned i = 0; i < files->n; i++)
		free(files->file[i].path);
	free(files->file);
	*files = (struct step_files){0};
}
