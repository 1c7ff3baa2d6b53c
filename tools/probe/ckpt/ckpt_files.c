/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files that are checkpoints, by their content (training/health/ckpt_file.h). */
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "training/health/ckpt_file.h"
#include "tools/lib/files/whole_file.h"
#include "tools/lib/tool.h"
#include "tools/probe/ckpt/ckpt.h"

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

/* named: the path matches the user's pattern, so any name is accepted */
static bool add_checkpoint(struct checkpoints *list, const char *path, bool folder, bool named)
{
	const char *slash = strrchr(path, '/');
	struct checkpoint c = {.path = tool_strdup(path),
		.name = tool_strdup(slash ? slash + 1 : path),
		.step = -1,
		.rank = -1};
	bool is = !is_known_checkpoint(list, path);
	struct ckpt_file_state l;

	if (is && folder)
		is = ckpt_check_folder(path, &l);
	else if (is)
		is = named ? !ckpt_name_is_temporary(c.name) : ckpt_name_is_usual(c.name);
	if (!is) {
		free_checkpoint(&c);
		return false;
	}
	if (!folder)
		ckpt_check_file(path, &l);
	c.format = l.format;
	c.state = l.complete ? CKPT_COMPLETE : CKPT_PARTIAL;
	c.begun_ns = l.begun_ns;
	TOOL_GROW(list->at, list->n, list->cap);
	list->at[list->n++] = c;
	return true;
}

/* Finds the checkpoints in a folder and in the folders below it. */
static bool find_folder_checkpoints(struct checkpoints *c, const char *dir, unsigned depth)
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
				 (depth && find_folder_checkpoints(c, path, depth - 1));
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
					 find_folder_checkpoints(c, path, 4);
			else if (S_ISREG(st.st_mode))
				found |= add_checkpoint(c, path, false, true);
		}
	globfree(&g);
	return found;
}

/* Returns the value of "path" without its escapes, malloc'd, or NULL if the line has none. */
static char *copy_health_path(const char *line)
{
	static const char key[] = "\"path\": \"";
	const char *p = strstr(line, key);
	char *path = p ? tool_alloc(strlen(p)) : NULL;
	size_t n = 0;

	for (p = p ? p + sizeof(key) - 1 : ""; *p && *p != '"'; p++) {
		p += *p == '\\' && p[1];
		path[n++] = *p;
	}
	return path;
}

void checkpoints_read_health(struct checkpoints *c, const char *dir)
{
	char *pattern = tool_format("%s/health/rank*.jsonl", dir), *line = NULL;
	size_t cap = 0;
	glob_t g = {0};

	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++) {
			FILE *f = open_regular_stream(g.gl_pathv[i], 0);

			while (f && getline(&line, &cap, f) > 0) {
				char *path = copy_health_path(line);
				struct stat st;

				if (path && stat(path, &st) == 0)
					add_checkpoint(c, path, S_ISDIR(st.st_mode), true);
				free(path);
			}
			if (f)
				fclose(f);
		}
	globfree(&g);
	free(line);
	free(pattern);
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
