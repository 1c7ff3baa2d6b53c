/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/sql/sql_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/files/csv.h"
#include "tools/lib/tool.h"

/*
 * File names, and stems of the files of blocks of steps: <stem>_<a>-<b>[.<k>].csv. Other stems are
 * parameter statistics.
 */
static const struct {
	enum sql_view view;
	const char *file, *stem;
} names[] = {
	{VIEW_CALLS, NULL, "calls"},
	{VIEW_COMMS, "comms.csv", NULL},
	{VIEW_STACKS, "stack_info.csv", NULL},
	{VIEW_SCALARS, NULL, "scalars"},
	{VIEW_NAMES, "names.csv", NULL},
	{VIEW_MODULES, "modules.csv", NULL},
};

#define KINDS_BEGIN "vpp_stage\n" /* first column in the header of a kind's file */

/*
 * Returns the length of the stem in the name of a block, or 0 for other names. *gz: the file is
 * compressed.
 */
static size_t measure_stem(const char *name, bool *gz)
{
	size_t n = strlen(name), digits = 0;

	*gz = n > 7 && strcmp(name + n - 7, ".csv.gz") == 0;
	if (!*gz && (n < 4 || strcmp(name + n - 4, ".csv")))
		return 0;
	n -= *gz ? 7 : 4;
	/*
	 * Parsed from the end: .<k> (optional), -<b>, _<a>.
	 */
	for (const char *mark = ".-_"; *mark; mark++) {
		size_t end = n;

		while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
			n--;
		digits = end - n;
		if (digits && n && name[n - 1] == *mark)
			n--;
		else if (*mark == '.')
			n = end;
		else
			return 0;
	}
	return n;
}

static bool is_compact(const char *name)
{
	size_t n = strlen(name);

	return strncmp(name, "calls_", 6) == 0 && n > 8 && strcmp(name + n - 8, ".compact") == 0;
}

/* Returns SQL_VIEWS for a file that is not libprobe's. */
static enum sql_view find_view(const char *name, bool *gz)
{
	size_t stem;

	*gz = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].file && strcmp(name, names[i].file) == 0)
			return names[i].view;
	stem = measure_stem(name, gz);
	if (!stem)
		return SQL_VIEWS;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].stem && strlen(names[i].stem) == stem &&
			strncmp(name, names[i].stem, stem) == 0)
			return names[i].view;
	return VIEW_KINDS;
}

static char *join_header(const struct csv *csv)
{
	const char *name = csv->names;
	size_t n = 0;
	char *text;

	for (unsigned i = 0; i < csv->ncolumns; i++)
		n += strlen(name + n) + 1;
	text = tool_alloc(n + 1);
	memcpy(text, name, n);
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = '\n';
	return text;
}

static void parse_csv_header(struct file_group *g)
{
	unsigned cap = 0;

	for (char *at = g->header; *at;) {
		size_t n = strcspn(at, "\n");

		TOOL_GROW(g->column, g->ncolumn, cap);
		g->column[g->ncolumn++] = tool_strndup(at, n);
		at += n + (at[n] != '\0');
	}
}

static void add_csv_file(struct sql_files *f, enum sql_view view, const char *path)
{
	struct file_group *g = NULL;
	struct csv csv;
	char *header;
	int err = csv_open(&csv, path, UINT64_MAX, false, 4096);

	header = err ? NULL : join_header(&csv);
	csv_close(&csv);
	f->unreadable += err && err != -ENODATA;
	if (!header || !*header ||
		(view == VIEW_KINDS && strncmp(header, KINDS_BEGIN, strlen(KINDS_BEGIN)))) {
		free(header);
		return;
	}
	for (unsigned i = 0; i < f->view[view].n && !g; i++)
		if (strcmp(f->view[view].group[i].header, header) == 0)
			g = &f->view[view].group[i];
	if (g) {
		free(header);
	} else {
		TOOL_GROW(f->view[view].group, f->view[view].n, f->view[view].cap);
		g = &f->view[view].group[f->view[view].n++];
		*g = (struct file_group){.header = header};
		parse_csv_header(g);
	}
	TOOL_GROW(g->path, g->npath, g->cap);
	g->path[g->npath++] = tool_strdup(path);
}

static int check_name_order(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void find_folder_files(struct sql_files *f, const char *folder)
{
	struct dirent **entry;
	int n = scandir(folder, &entry, NULL, check_name_order);

	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;
		bool gz;
		enum sql_view view = find_view(name, &gz);
		char *path = tool_format("%s/%s", folder, name);
		char *plain = tool_strndup(path, strlen(path) - (gz ? 3 : 0));

		f->compact += is_compact(name);
		/*
		 * A file that is being compressed exists twice, and so does one that was compressed
		 * with the original kept. Only one of the two is read.
		 */
		if (view < SQL_VIEWS && !(gz && access(plain, F_OK) == 0))
			add_csv_file(f, view, path);
		free(plain);
		free(path);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

void find_sql_files(struct sql_files *f, const struct folders *folders)
{
	*f = (struct sql_files){0};
	for (unsigned i = 0; i < folders->n; i++)
		find_folder_files(f, folders->dir[i].path);
}

void free_sql_files(struct sql_files *f)
{
	for (int v = 0; v < SQL_VIEWS; v++) {
		for (unsigned i = 0; i < f->view[v].n; i++) {
			struct file_group *g = &f->view[v].group[i];

			for (unsigned k = 0; k < g->ncolumn; k++)
				free(g->column[k]);
			for (unsigned k = 0; k < g->npath; k++)
				free(g->path[k]);
			free(g->column);
			free(g->path);
			free(g->header);
		}
		free(f->view[v].group);
	}
}
