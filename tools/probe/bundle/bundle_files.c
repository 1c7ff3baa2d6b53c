/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/bundle/bundle_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/lib/tool.h"
#include "tools/probe/bundle/last_rows.h"

static const char *const class_name[] = {
	[BUNDLE_META] = "meta.json",
	[BUNDLE_NAMES] = "communicators, stacks, names",
	[BUNDLE_LOGS] = "logs and open calls",
	[BUNDLE_CALLS] = "calls",
	[BUNDLE_JOURNALS] = "journals",
	[BUNDLE_SCALARS] = "scalars",
	[BUNDLE_KINDS] = "other CSV files",
};

const char *get_bundle_class_name(enum bundle_class c)
{
	return class_name[c];
}

/* Names, and prefixes of names (with a *), by class. Other files are not bundled. */
static const struct {
	const char *name;
	enum bundle_class class;
} known[] = {
	{"meta.json", BUNDLE_META},
	{"comms.csv", BUNDLE_NAMES},
	{"stack_info.csv", BUNDLE_NAMES},
	{"modules.csv", BUNDLE_NAMES},
	{"names.csv", BUNDLE_NAMES},
	{"parallel.json", BUNDLE_NAMES},
	{"module_struct.json", BUNDLE_NAMES},
	{"alerts.jsonl", BUNDLE_LOGS},
	{"open.jsonl", BUNDLE_LOGS},
	{"monitor.log", BUNDLE_LOGS},
	{"journal.bin", BUNDLE_JOURNALS},
	{"calls_*", BUNDLE_CALLS},
	{"scalars_*", BUNDLE_SCALARS},
};

/* Returns BUNDLE_CLASSES for a file that is not libprobe's. */
static enum bundle_class find_file_class(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t n = strcspn(known[i].name, "*");

		if (strncmp(name, known[i].name, n) == 0 && (known[i].name[n] || !name[n]))
			return known[i].class;
	}
	return strstr(name, ".csv") ? BUNDLE_KINDS : BUNDLE_CLASSES;
}

static uint64_t parse_first_step(const char *name)
{
	unsigned long long a = 0;
	const char *at = strrchr(name, '_');

	return at && sscanf(at, "_%llu-", &a) == 1 ? a : 0;
}

/* qsort(): the most useful files first, by class, then the newest steps, then by rank. */
static int compare_bundle_priority(const void *x, const void *y)
{
	const struct bundle_file *a = x, *b = y;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->block != b->block) /* the newest first */
		return a->block > b->block ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(b->name, a->name);
}

static void add_folder_files(struct bundle *b, const struct rank_dir *d, unsigned rank)
{
	DIR *dir = opendir(d->path);
	struct stat st;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		enum bundle_class class = find_file_class(e->d_name);

		if (class == BUNDLE_CLASSES || fstatat(dirfd(dir), e->d_name, &st, 0) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		TOOL_GROW(b->file, b->n, b->cap);
		b->file[b->n++] =
			(struct bundle_file){.path = tool_format("%s/%s", d->path, e->d_name),
				.name = tool_format("%s/%s", d->name, e->d_name),
				.bytes = (uint64_t)st.st_size,
				.class = class,
				.block = parse_first_step(e->d_name),
				.rank = rank};
	}
	if (dir)
		closedir(dir);
}

/* Replaces the contents of the file by its last rows. Returns their number. */
static unsigned load_last_rows(struct bundle_file *f, unsigned max)
{
	size_t bytes, n = strlen(f->name);
	unsigned rows = 0;
	int whole;
	char *text = read_last_rows(f->path, max, &bytes, &rows, &whole);

	if (!text || whole) {
		free(text);
		return rows;
	}
	free(f->path);
	f->path = NULL;
	f->text = text;
	f->bytes = bytes;
	if (n > 3 && strcmp(f->name + n - 3, ".gz") == 0)
		f->name[n - 3] = '\0';
	return rows;
}

void find_bundle_files(struct bundle *b, const struct folders *f, unsigned calls)
{
	unsigned *left = tool_alloc(f->n * sizeof(*left));

	for (unsigned i = 0; i < f->n; i++) {
		left[i] = calls;
		add_folder_files(b, &f->dir[i], i);
	}
	if (b->n)
		qsort(b->file, b->n, sizeof(*b->file), compare_bundle_priority);
	for (unsigned i = 0; i < b->n; i++) {
		struct bundle_file *k = &b->file[i];
		unsigned rows = 0;

		if (k->class == BUNDLE_CALLS && calls) {
			if (!left[k->rank]) {
				b->cut++;
				continue;
			}
			rows = load_last_rows(k, left[k->rank]);
			left[k->rank] -= rows;
			b->cut += k->text != NULL;
		}

		struct bundle_sum *sum = &b->skipped[k->class];

		if (k->bytes <= b->limit && b->bytes <= b->limit - k->bytes) {
			k->taken = true;
			b->bytes += k->bytes;
			sum = &b->taken[k->class];
		}
		sum->files++;
		sum->bytes += k->bytes;
	}
	free(left);
}

void free_bundle(struct bundle *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		free(b->file[i].path);
		free(b->file[i].name);
		free(b->file[i].text);
	}
	free(b->file);
}
