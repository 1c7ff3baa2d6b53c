/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first sinks: one for stack_info.csv and comms.csv, and one for calls_*.csv. They have no
 * data besides the buffers of their files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/rooms/files.h"
#include "text/text.h"
#include "sink/calls_csv.h"
#include "sink/column.h"
#include "sink/format.h"
#include "journal/columns.h"
#include "sink/split_steps.h"

struct csv {
	struct files *files;
	/* For a resumed run: ids of communicators that have a row already. */
	bool looked;
	uint64_t *known;
	uint32_t nknown, cap_known;
};

static void close_csv(void *state)
{
	struct csv *s = state;

	free(s->known);
	s->known = NULL;
	s->nknown = s->cap_known = 0;
}

static int open_csv_sink(void *state, struct files *files)
{
	struct csv *s = state;

	s->files = files;
	return 0;
}

/* ---- calls_*.csv ---- */

struct calls_csv {
	struct files *files;
	struct row_memory *memory;
};

static int open_calls_sink(void *state, struct files *files)
{
	struct calls_csv *s = state;

	s->files = files;
	s->memory = row_memory_new();
	return 0;
}

static void close_calls_sink(void *state)
{
	struct calls_csv *s = state;

	row_memory_free(s->memory);
	s->memory = NULL;
}

static int write_call_rows(void *state, const struct record *r)
{
	struct calls_csv *s = state;
	struct out_file *o;

	/*
	 * Reserves space for all rows before writing the first: if the pass ended between two
	 * rows of a call, the first row would be written twice, because the next pass writes the
	 * whole call.
	 */
	char *at = files_get_calls_space(
		s->files, CALLS_CSV, r->call->step, (r->n ? r->n : 1) * (size_t)ROW_MAX, &o);

	if (!at)
		return -ENOBUFS;
	files_add_length(s->files, o, rows_format(at, r, s->memory));
	return 0;
}

/* Accepts names with .gz and without. */
static enum sink_file get_calls_file_kind(const char *path)
{
	return strncmp(path, "calls_", 6) == 0 && strstr(path, ".csv") ? SINK_FILE_LINES
								       : SINK_FILE_OTHER;
}

const struct sink_format calls_format = {
	.formats = FORMAT_BIT(CSV),
	.state_bytes = sizeof(struct calls_csv),
	.open = open_calls_sink,
	.record = write_call_rows,
	.close = close_calls_sink,
	.owns = get_calls_file_kind,
};

/* ---- the tables ---- */

static int write_stack_row(void *state, const struct record_stack *e)
{
	struct csv *s = state;
	size_t cap =
		128 + CSV_FIELD_SPACE * (strlen(e->python) + strlen(e->native) + ROW_STRING_MAX);
	struct out_file *o;
	int err;
	char *at = files_get_row_space(s->files, "stack_info.csv", STACK_HEADER, cap, &o, &err);

	if (!at)
		return err;

	struct text row = text_init(at, cap), *out = &row;

#define STACK_COLUMN(name, type, source, help) \
	PUT_##type(source);                    \
	write_comma(out);
#include "journal/columns.def"
	csv_close_row(out);
	files_add_length(s->files, o, row.len);
	return 0;
}

static void add_known_comm(void *arg, const char *field, const char *end)
{
	struct csv *s = arg;
	char text[20] = "";

	if (s->nknown == s->cap_known) {
		uint32_t want = s->cap_known ? 2 * s->cap_known : 64;
		uint64_t *more = realloc(s->known, want * sizeof(*more));

		if (!more)
			return;
		s->known = more;
		s->cap_known = want;
	}
	memcpy(text, field, end - field < 16 ? (size_t)(end - field) : 16);
	s->known[s->nknown++] = strtoull(text, NULL, 16);
}

/*
 * Reads the file when the first communicator comes: by then the rows that a killed process had
 * not committed have been removed.
 */
static bool has_comm_row(struct csv *s, uint64_t id)
{
	if (!s->looked && s->files->cfg && get_files_keys(s->files->cfg)->append_output)
		read_column(files_get_dir(s->files), "comms.csv", "comm", add_known_comm, s);
	s->looked = true;
	for (uint32_t i = 0; i < s->nknown; i++)
		if (s->known[i] == id)
			return true;
	return false;
}

static int write_comm_row(void *state, const struct record_comm *e)
{
	struct csv *s = state;
	size_t space = 256 + CSV_FIELD_SPACE * (strlen(e->lib) + strlen(e->kind) + strlen(e->name) +
						       strlen(e->world_ranks));
	struct out_file *o;
	int err;
	char *at;

	if (has_comm_row(s, e->id))
		return 0;
	at = files_get_row_space(s->files, "comms.csv", COMM_HEADER, space, &o, &err);

	if (!at)
		return err;

	struct text row = text_init(at, space), *out = &row;

#define COMM_COLUMN(name, type, source, help) \
	PUT_##type(source);                   \
	write_comma(out);
#include "journal/columns.def"
	csv_close_row(out);
	files_add_length(s->files, o, row.len);
	return 0;
}

static enum sink_file find_table_kind(const char *path)
{
	return strcmp(path, "stack_info.csv") == 0 || strcmp(path, "comms.csv") == 0
		       ? SINK_FILE_LINES
		       : SINK_FILE_OTHER;
}

const struct sink_format csv_format = {
	.formats = FORMAT_TABLES,
	.state_bytes = sizeof(struct csv),
	.open = open_csv_sink,
	.stack = write_stack_row,
	.comm = write_comm_row,
	.close = close_csv,
	.owns = find_table_kind,
};
