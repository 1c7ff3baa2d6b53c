/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what a path contains: a dump.json, folders of them, or an output folder of libprobe. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/model/read/folders.h"

/* Returns 12 for "step12" and the word "step", -1 for the word alone, -2 for any other name. */
static int64_t read_numbered_name(const char *name, const char *word)
{
	size_t n = strlen(word);
	char *end;
	long long v;

	if (strncmp(name, word, n) != 0)
		return -2;
	if (!name[n])
		return -1;
	if (!isdigit((unsigned char)name[n]))
		return -2;
	errno = 0;
	v = strtoll(name + n, &end, 10);
	return *end || errno ? -2 : v;
}

static bool is_file_there(const char *folder, const char *name)
{
	char *path = tool_format("%s/%s", folder, name);
	struct stat st;
	bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode);

	free(path);
	return there;
}

static const char *get_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Adds a folder that contains the dump of one rank. */
static bool add_dump_place(struct compared *s, const char *folder, int64_t step, int64_t rank)
{
	static const char *const names[] = {"dump.json", "debug.json"};
	bool any = false;

	for (unsigned i = 0; i < 2; i++) {
		if (!is_file_there(folder, names[i]))
			continue;
		TOOL_GROW(s->dump, s->ndump, s->cap_dump);
		s->dump[s->ndump++] =
			(struct dump_place){step, rank, tool_format("%s/%s", folder, names[i])};
		any = true;
	}
	return any;
}

/* Calls `add` for each folder in `folder` whose name is `word` and a number. */
static unsigned handle_numbered_folders(struct compared *s, const char *folder, const char *word,
	int64_t step,
	unsigned (*add)(struct compared *s, const char *path, int64_t step, int64_t n))
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		int64_t number = read_numbered_name(e->d_name, word);
		char *path;

		if (number < -1)
			continue;
		path = tool_format("%s/%s", folder, e->d_name);
		n += add(s, path, step, number);
		free(path);
	}
	if (d)
		closedir(d);
	return n;
}

static unsigned add_rank_folder(struct compared *s, const char *path, int64_t step, int64_t rank)
{
	return add_dump_place(s, path, step, rank);
}

static unsigned add_process_folder(struct compared *s, const char *path, int64_t step, int64_t pid)
{
	s->process = !s->process || s->process == pid ? pid : -1;
	return add_dump_place(s, path, step, pid);
}

/*
 * Process numbers differ between runs. A single folder proc<N> therefore gets no rank, so that it is
 * paired with the single one of the other run.
 */
static void reset_single_process(struct compared *s)
{
	for (unsigned i = 0; i < s->ndump; i++)
		if (s->process > 0 && s->dump[i].rank != s->process)
			return;
	for (unsigned i = 0; i < s->ndump && s->process > 0; i++)
		s->dump[i].rank = -1;
}

static unsigned add_step_folder(struct compared *s, const char *path, int64_t unused, int64_t step)
{
	unsigned n;

	(void)unused;
	if (step < 0)
		return 0;
	n = handle_numbered_folders(s, path, "rank", step, add_rank_folder);
	return n ? n : handle_numbered_folders(s, path, "proc", step, add_process_folder);
}

static int compare_dump_places(const void *x, const void *y)
{
	const struct dump_place *a = x, *b = y;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(get_last_part(a->path), get_last_part(b->path));
}

/* Returns the number in step<N>, in the last part of the path or in the one before it; -1: none. */
static int64_t read_step_of_path(const char *path)
{
	char *copy = tool_get_absolute_path(path), *slash;
	int64_t step = -1;

	for (unsigned i = 0; i < 2 && step < 0; i++) {
		while ((slash = strrchr(copy, '/')) && !slash[1] && slash > copy)
			*slash = 0;
		step = read_numbered_name(get_last_part(copy), "step");
		if (!(slash = strrchr(copy, '/')))
			break;
		*slash = 0;
	}
	free(copy);
	return step < 0 ? -1 : step;
}

static void find_dumps(struct compared *s, const char *path)
{
	int64_t rank = read_numbered_name(get_last_part(path), "rank");

	if (!add_dump_place(s, path, read_step_of_path(path), rank < 0 ? -1 : rank) &&
		!handle_numbered_folders(s, path, "step", -1, add_step_folder) &&
		!handle_numbered_folders(s, path, "rank", read_step_of_path(path), add_rank_folder))
		handle_numbered_folders(
			s, path, "proc", read_step_of_path(path), add_process_folder);
	reset_single_process(s);
	if (s->ndump)
		qsort(s->dump, s->ndump, sizeof(*s->dump), compare_dump_places);
}

int find_side_contents(struct compared *s, const char *path)
{
	struct stat st;

	*s = (struct compared){.path = path};
	if (stat(path, &st) < 0) {
		folders_print_missing("compare: ", path, errno);
		return STATUS_USAGE;
	}
	if (S_ISREG(st.st_mode)) {
		TOOL_GROW(s->dump, s->ndump, s->cap_dump);
		s->dump[s->ndump++] = (struct dump_place){-1, -1, tool_strdup(path)};
	} else {
		find_dumps(s, path);
		if (folders_has_rank(path))
			s->contents |= CONTENT_CALLS;
	}
	if (s->ndump)
		s->contents |= CONTENT_DUMP;
	return 0;
}

void free_side(struct compared *s)
{
	for (unsigned i = 0; i < s->ndump; i++)
		free(s->dump[i].path);
	free(s->dump);
	*s = (struct compared){0};
}
