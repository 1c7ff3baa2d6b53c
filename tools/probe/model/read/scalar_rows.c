/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/scalar_rows.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "journal/columns.h"
#include "tools/lib/tool.h"

enum {
#define SCALAR_COLUMN(name, type, source, help) SCALAR_COL_##name,
#include "journal/columns.def"
	SCALAR_COLUMNS
};

struct scalar_reading {
	uint64_t lo, hi;
	scalar_row_fn *fn;
	void *arg;
};

static void read_rows_of_scalars(const struct scalar_reading *r, const char *path, uint64_t limit)
{
	struct csv csv;
	int col[SCALAR_COLUMNS];

	if (csv_open(&csv, path, limit, false, 65536)) {
		csv_close(&csv);
		return;
	}
	csv_find_columns(&csv, SCALAR_HEADER, col);
	while (csv_read_row(&csv)) {
		uint64_t step, at;
		double v;

		if (!csv_parse_u64(csv_get_field(&csv, col[SCALAR_COL_step]), &step) ||
			step < r->lo || step > r->hi ||
			!csv_parse_double(csv_get_field(&csv, col[SCALAR_COL_value]), &v))
			continue;
		if (!csv_parse_u64(csv_get_field(&csv, col[SCALAR_COL_wall_ns]), &at))
			at = 0;
		r->fn(r->arg, step, csv_get_field(&csv, col[SCALAR_COL_name]), v, at);
	}
	csv_close(&csv);
}

/* Parses the steps in the name of a scalars file. Returns false for other names. */
static bool parse_scalar_file_steps(const char *name, unsigned long long *a, unsigned long long *b)
{
	int n = 0;

	return sscanf(name, "scalars_%llu-%llu.csv%n", a, b, &n) == 2 && n && !name[n];
}

static void read_scalar_folder(
	const struct scalar_reading *r, const char *dir, const struct overlay *o)
{
	DIR *d = opendir(dir);
	unsigned long long a, b;

	for (struct dirent *e; d && (e = readdir(d));) {
		char *path;

		if (!parse_scalar_file_steps(e->d_name, &a, &b) || a > r->hi || b < r->lo)
			continue;
		path = tool_format("%s/%s", dir, e->d_name);
		read_rows_of_scalars(r, path, o ? overlay_get_limit(o, e->d_name) : UINT64_MAX);
		free(path);
	}
	if (d)
		closedir(d);
}

void read_scalar_rows(const char *dir, const struct overlay *o, uint64_t lo, uint64_t hi,
	scalar_row_fn *fn, void *arg)
{
	struct scalar_reading r = {lo, hi, fn, arg};

	read_scalar_folder(&r, dir, o);
	if (o && o->path)
		read_scalar_folder(&r, o->path, NULL);
}

static bool find_last_in_folder(const char *dir, uint64_t hi, uint64_t *last)
{
	DIR *d = opendir(dir);
	unsigned long long a, b;
	bool any = false;

	for (struct dirent *e; d && (e = readdir(d));) {
		if (!parse_scalar_file_steps(e->d_name, &a, &b) || a > hi)
			continue;
		*last = a > *last ? a : *last;
		any = true;
	}
	if (d)
		closedir(d);
	return any;
}

bool find_last_scalar_file(const char *dir, const struct overlay *o, uint64_t hi, uint64_t *last)
{
	bool any = find_last_in_folder(dir, hi, last);

	return (o && o->path && find_last_in_folder(o->path, hi, last)) || any;
}
