/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of scalars: scalars_<a>-<b>.csv, in the same blocks of steps as calls_*.csv. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "terms/scalar.h"
#include "text/text.h"
#include "sink/column.h"
#include "journal/columns.h"
#include "sink/format.h"

#define SCALAR_ROW 256

static int open_scalars_sink(void *state, struct files *files)
{
	*(struct files **)state = files;
	return 0;
}

#define PUT_SCALAR_NAME(e) write_scalar_name(out, e)
/*
 * 9 digits for a float, as in rows of calls; else 15, without digits that only come from binary
 * fractions.
 */
static int get_scalar_digits(double v)
{
	return (double)(float)v == v ? 9 : 15;
}

#define PUT_SCALAR_VALUE(v) text_add_double(out, v, get_scalar_digits(v))

static void format_scalar_row(struct text *out, const struct record_scalar *e)
{
#define SCALAR_COLUMN(name, type, source, help) \
	PUT_##type(source);                     \
	write_comma(out);
#include "journal/columns.def"
	csv_close_row(out);
}

static int write_scalar_row(void *state, const struct record_scalar *e)
{
	struct files *files = *(struct files **)state;
	uint32_t n = files->j->head->block_steps, block = n ? e->step / n * n : 0;
	struct out_file *o;
	char path[48], *at;
	int err;

	snprintf(path, sizeof(path), "scalars_%u-%llu.csv", block,
		(unsigned long long)block + (n ? n : 1) - 1);
	at = files_get_row_space(files, path, SCALAR_HEADER, SCALAR_ROW, &o, &err);
	if (!at)
		return err;

	struct text out = text_init(at, SCALAR_ROW);

	format_scalar_row(&out, e);
	files_add_length(files, o, out.len);
	return 0;
}

static enum sink_file is_scalars_file(const char *path)
{
	return strncmp(path, "scalars_", 8) == 0 ? SINK_FILE_LINES : SINK_FILE_OTHER;
}

const struct sink_format scalars_format = {
	.formats = FORMAT_TABLES,
	.state_bytes = sizeof(struct files *),
	.open = open_scalars_sink,
	.scalar = write_scalar_row,
	.owns = is_scalars_file,
};
