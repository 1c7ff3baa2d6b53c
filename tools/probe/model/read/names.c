/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/columns.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"

#define LISTED_MAX 3 /* maximum number of listed names of a bucket's parameters */

static int parse_name_row_kind(const struct csv_text *t)
{
	static const char *const words[] = {"param", "part", "bad", "module"};

	for (int i = 0; i < 4; i++)
		if (csv_is(t, words[i]))
			return i;
	return -1;
}

static int64_t parse_number_or_empty(const struct csv_text *t)
{
	int64_t v;

	return csv_parse_i64(t, &v) ? v : -1;
}

static void free_name_row(struct name_row *r)
{
	free(r->name);
	free(r->module);
	free(r->type);
	free(r->shape);
	free(r->dtype);
	free(r->flags);
}

/*
 * Returns the slot for a row: that of the parameter's earlier row, if any. last: slot + 1 by number
 * of the parameter.
 */
static struct name_row *find_or_add_name_row(
	struct names *names, unsigned **last, unsigned *nlast, const struct name_row *r)
{
	if (r->what == NAME_PARAM && r->id < 1u << 24) {
		while (*nlast <= r->id) {
			unsigned was = *nlast;

			TOOL_GROW(*last, *nlast, *nlast);
			memset(*last + was, 0, (*nlast - was) * sizeof(**last));
		}
		if ((*last)[r->id]) {
			free_name_row(&names->row[(*last)[r->id] - 1]);
			return &names->row[(*last)[r->id] - 1];
		}
		(*last)[r->id] = names->n + 1;
	}
	TOOL_GROW(names->row, names->n, names->cap);
	return &names->row[names->n++];
}

int names_read(struct names *names, const char *folder)
{
	char *path = tool_format("%s/names.csv", folder);
	unsigned *last = NULL, nlast = 0;
	struct csv csv;
	int col[NAME_COLUMNS], err;

	*names = (struct names){0};
	err = csv_open(&csv, path, UINT64_MAX, true, 65536);
	free(path);
	if (err) {
		csv_close(&csv);
		return err;
	}
	csv_find_columns(&csv, NAMES_HEADER, col);
	while (csv_read_row(&csv)) {
		int what = parse_name_row_kind(csv_get_field(&csv, col[NAME_COL_what]));
		struct name_row r = {.what = (enum name_what)what};

		if (what < 0)
			continue;
		csv_parse_u64(csv_get_field(&csv, col[NAME_COL_id]), &r.id);
		csv_parse_u64(csv_get_field(&csv, col[NAME_COL_bucket]), &r.bucket);
		csv_parse_u64(csv_get_field(&csv, col[NAME_COL_offset]), &r.offset);
		csv_parse_u64(csv_get_field(&csv, col[NAME_COL_count]), &r.count);
		csv_parse_u64(csv_get_field(&csv, col[NAME_COL_step]), &r.step);
		r.optimizer = parse_number_or_empty(csv_get_field(&csv, col[NAME_COL_optimizer]));
		r.group = parse_number_or_empty(csv_get_field(&csv, col[NAME_COL_group]));
		r.vpp_stage = parse_number_or_empty(csv_get_field(&csv, col[NAME_COL_vpp_stage]));
		r.name = csv_copy_field(csv_get_field(&csv, col[NAME_COL_name]));
		r.module = csv_copy_field(csv_get_field(&csv, col[NAME_COL_module]));
		r.type = csv_copy_field(csv_get_field(&csv, col[NAME_COL_class]));
		r.shape = csv_copy_field(csv_get_field(&csv, col[NAME_COL_shape]));
		r.dtype = csv_copy_field(csv_get_field(&csv, col[NAME_COL_dtype]));
		r.flags = csv_copy_field(csv_get_field(&csv, col[NAME_COL_flags]));
		*find_or_add_name_row(names, &last, &nlast, &r) = r;
	}
	names->damaged = csv.damaged;
	csv_close(&csv);
	free(last);
	return 0;
}

void names_free(struct names *names)
{
	for (unsigned i = 0; i < names->n; i++)
		free_name_row(&names->row[i]);
	free(names->row);
	*names = (struct names){0};
}

/* Formats "gradient of x" for "x.grad". */
static char *format_gradient_name(const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && strcmp(name + n - 5, ".grad") == 0)
		return tool_format("gradient of %.*s", (int)(n - 5), name);
	return tool_format("%s", name);
}

/* Describes the contents of a bucket if it is not known which of them a tensor is. */
static char *format_bucket_contents(const struct names *names, uint64_t bucket)
{
	char *text = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_PART || r->bucket != bucket || n++ >= LISTED_MAX)
			continue;
		tool_add_item(&text, ", ", "%s", r->name);
	}
	if (!n)
		return tool_strdup("");

	char *all = n > LISTED_MAX ? tool_format("bucket %llu, which holds %s and %s more",
					     (unsigned long long)bucket, text,
					     out_format_count(n - LISTED_MAX))
				   : tool_format("bucket %llu, which holds %s",
					     (unsigned long long)bucket, text);

	free(text);
	return all;
}

/*
 * Sets *element to the number of a bucket's bad element within its own tensor. Returns false if
 * the layout that the bucket had in that step is not known.
 */
static bool find_element_of_part(
	const struct names *names, const struct name_row *bad, uint64_t *element)
{
	bool found = false;
	uint64_t since = 0;

	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];

		if (r->what != NAME_PART || r->bucket != bad->bucket || r->id != bad->id ||
			r->step > bad->step || (found && r->step < since) ||
			bad->offset < r->offset || bad->offset - r->offset >= r->count)
			continue;
		found = true;
		since = r->step;
		*element = bad->offset - r->offset;
	}
	return found;
}

char *names_format_tensor(const struct names *names, const char *name, uint64_t step)
{
	unsigned long long bucket;
	int end = 0;

	if (sscanf(name, "bucket%llu%n", &bucket, &end) != 1 || name[end])
		return *name ? format_gradient_name(name) : tool_strdup("");
	for (unsigned i = 0; i < names->n; i++) {
		const struct name_row *r = &names->row[i];
		char *what, *all;
		uint64_t element;

		if (r->what != NAME_BAD || r->bucket != bucket || r->step != step)
			continue;
		what = format_gradient_name(r->name);
		all = find_element_of_part(names, r, &element)
			      ? tool_format("%s, element %s (element %s of bucket %llu)", what,
					out_format_count(element), out_format_count(r->offset),
					bucket)
			      : tool_format("%s (element %s of bucket %llu)", what,
					out_format_count(r->offset), bucket);
		free(what);
		return all;
	}
	return format_bucket_contents(names, bucket);
}
