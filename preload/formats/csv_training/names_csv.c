/* SPDX-License-Identifier: Apache-2.0 */
/* names.csv: parameters and modules of a training, and the content of its buckets. */
#include <errno.h>
#include <string.h>

#include "terms/dtype.h"
#include "text/text.h"
#include "sink/column.h"
#include "sink/format.h"
#include "journal/columns.h"
#include "formats/csv_training/structure.h"

struct names {
	struct files *files;
	struct structure *modules; /* data for module_struct.json; NULL: none yet */
};

static const char *get_name_kind(const struct record_name *e)
{
	switch (e->what) {
	case JN_PARAM:
		return "param";
	case JN_PART:
		return "part";
	case JN_BAD:
		return "bad";
	}
	return "module";
}

static bool is_in_bucket(const struct record_name *e)
{
	return e->what == JN_PART || e->what == JN_BAD;
}

static const char *get_name_dtype(const struct record_name *e)
{
	return e->what == JN_PARAM ? get_dtype_info(e->dtype)->name : "";
}

static const char *find_requires_grad(const struct record_name *e)
{
	if (e->what != JN_PARAM)
		return "";
	return e->flags & JN_FROZEN ? "false" : "true";
}

static void write_name_shape(struct text *out, const struct record_name *e)
{
	if (e->what == JN_MODULE)
		return;
	if (!e->ndim && e->what == JN_PARAM)
		text_add_char(out, '-');
	for (unsigned i = 0; i < e->ndim; i++) {
		if (i)
			text_add_char(out, 'x');
		text_add_u64(out, e->dims[i]);
	}
}

static void write_name_flags(struct text *out, uint32_t flags)
{
	bool first = true;

	for (unsigned i = 0; i < JN_FLAGS; i++) {
		if (!(flags & 1u << i))
			continue;
		if (!first)
			text_add_char(out, ';');
		text_add_string(out, name_flag_words[i]);
		first = false;
	}
}

#define PUT_DIMS(e) write_name_shape(out, e)
#define PUT_NAME_FLAGS(v) write_name_flags(out, v)
/* Columns of parameters; of parameters and modules; of parts. */
#define PUT_OWNER(v)                                                 \
	do {                                                         \
		if (e->what == JN_PARAM && !(e->flags & JN_UNOWNED)) \
			text_add_u64(out, v);                        \
	} while (0)
#define PUT_STAGE(v)                          \
	do {                                  \
		if (!is_in_bucket(e))         \
			text_add_u64(out, v); \
	} while (0)
#define PUT_PART(v)                           \
	do {                                  \
		if (is_in_bucket(e))          \
			text_add_u64(out, v); \
	} while (0)
#define PUT_BUCKET(v) PUT_PART(v)

static int write_name_row(void *state, const struct record_name *e)
{
	struct names *s = state;
	size_t cap = 512 + 21 * (size_t)e->ndim +
		     CSV_FIELD_SPACE * (strlen(e->name) + strlen(e->module) + strlen(e->type));
	struct out_file *o;
	char *at;
	int err;

	/*
	 * All modules and parameters have been given. If there was no memory for them, there is
	 * no such file.
	 */
	if (e->what == JN_STRUCT) {
		structure_write(s->modules, files_get_dir(s->files));
		structure_free(s->modules);
		s->modules = NULL;
		return 0;
	}
	structure_add(&s->modules, e);
	at = files_get_row_space(s->files, "names.csv", NAMES_HEADER, cap, &o, &err);
	if (!at)
		return err;

	struct text row = text_init(at, cap), *out = &row;

#define NAME_COLUMN(name, type, source, help) \
	PUT_##type(source);                   \
	write_comma(out);
#include "journal/columns.def"
	csv_close_row(out);
	files_add_length(s->files, o, row.len);
	return 0;
}

static int open_names_sink(void *state, struct files *files)
{
	((struct names *)state)->files = files;
	return 0;
}

static void close_names_sink(void *state)
{
	structure_free(((struct names *)state)->modules);
}

static enum sink_file is_names_file(const char *path)
{
	return strcmp(path, "names.csv") == 0 ? SINK_FILE_LINES : SINK_FILE_OTHER;
}

const struct sink_format names_format = {
	.formats = FORMAT_FILES,
	.state_bytes = sizeof(struct names),
	.open = open_names_sink,
	.name = write_name_row,
	.close = close_names_sink,
	.owns = is_names_file,
};
