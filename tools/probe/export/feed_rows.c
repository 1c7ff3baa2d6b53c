/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts parameter statistics, scalars, names, communicators and stacks of a rank's folder back
 * to records.
 */
#include "tools/probe/export/feed.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/scalar.h"
#include "terms/train_kind.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"
#include "tools/probe/export/tb_files.h"
#include "tools/probe/model/read/comms.h"
#include "tools/probe/model/read/names.h"

#define BUFFER 65536

/* ---- files of blocks of steps ---- */

/* Parses <word>_<a>-<b>.csv. Returns false for calls files. */
static bool parse_block_name(const char *name, char word[24], uint64_t *first, uint64_t *last)
{
	const char *end = strrchr(name, '_');
	unsigned long long a, b;
	int used = 0;

	if (!end || end == name || end - name >= 24 ||
		sscanf(end, "_%llu-%llu.csv%n", &a, &b, &used) != 2 || !used || end[used])
		return false;
	memcpy(word, name, (size_t)(end - name));
	word[end - name] = 0;
	*first = a;
	*last = b;
	return strcmp(word, "calls") != 0;
}

static struct feed_source *get_source(struct feed *f, const char *word)
{
	struct feed_source *s;

	if (strcmp(word, "scalars") == 0)
		return &f->scalars;
	for (unsigned i = 0; i < f->nkind; i++)
		if (strcmp(f->kind[i].word, word) == 0)
			return &f->kind[i];
	TOOL_GROW(f->kind, f->nkind, f->cap_kind);
	s = &f->kind[f->nkind++];
	memset(s, 0, sizeof(*s));
	snprintf(s->word, sizeof(s->word), "%s", word);
	return s;
}

struct block_file {
	char *path, word[24];
	uint64_t first, limit;
	bool overlay;
};

static int compare_first_steps(const void *x, const void *y)
{
	const struct block_file *a = x, *b = y;

	return a->first != b->first	  ? (a->first < b->first ? -1 : 1)
	       : a->overlay != b->overlay ? (a->overlay ? 1 : -1)
					  : strcmp(a->path, b->path);
}

static void find_block_files(struct feed *f, const char *path, bool overlay,
	struct block_file **files, unsigned *n, unsigned *cap)
{
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));) {
		struct block_file b = {.overlay = overlay, .limit = UINT64_MAX};
		uint64_t last;

		if (!parse_block_name(e->d_name, b.word, &b.first, &last) ||
			b.first > f->options->step_hi || last < f->options->step_lo ||
			!is_kind_in_list(f->options->kinds, b.word))
			continue;
		if (f->overlay && !overlay)
			b.limit = overlay_get_limit(f->overlay, e->d_name);
		b.path = tool_format("%s/%s", path, e->d_name);
		TOOL_GROW(*files, *n, *cap);
		(*files)[(*n)++] = b;
	}
	if (d)
		closedir(d);
}

/* ---- the next row of a source ---- */

static bool start_rows(struct feed *f, struct feed_source *s)
{
	for (; s->at < s->nfile; s->at++) {
		if (csv_open(&s->csv, s->file[s->at], s->limit[s->at], true, BUFFER) == 0 &&
			csv_find_column(&s->csv, "step") >= 0) {
			s->reading = true;
			return true;
		}
		csv_close(&s->csv);
	}
	(void)f;
	return false;
}

static const char *const value_columns[] = {"vpp_stage", "name", "step", "micro_step", "shape",
	"dtype", "value", "wall_ns", "update_0", "upper"};
enum {
	C_VPP,
	C_NAME,
	C_STEP,
	C_MICRO,
	C_SHAPE,
	C_DTYPE,
	C_VALUE,
	C_WALL,
	C_BINS,
	C_UPPER,
	C_COUNT
};

/* Finds the columns, and the order of the statistics. */
static void find_source_columns(struct feed_source *s)
{
	int order[TRAIN_OPS_END], n = 0;

	for (int i = 0; i < C_COUNT; i++)
		s->column[i] = csv_find_column(&s->csv, value_columns[i]);
	for (int op = 1; op < TRAIN_OPS_END; op++) {
		int at = n;

		s->op[op] = csv_find_column(&s->csv, train_op_words[op]);
		if (s->op[op] < 0)
			continue;
		for (; at > 0 && s->op[order[at - 1]] > s->op[op]; at--)
			order[at] = order[at - 1];
		order[at] = op;
		n++;
	}
	s->ops = 0;
	for (int i = 0; i < n && i < TRAIN_OPS_MAX; i++)
		s->ops |= (uint32_t)order[i] << 4 * i;
}

void feed_source_next(struct feed *f, struct feed_source *s)
{
	s->have = false;
	while (!s->have) {
		if (!s->reading) {
			if (!start_rows(f, s))
				return;
			find_source_columns(s);
		}
		if (!csv_read_row(&s->csv)) {
			f->damaged += s->csv.damaged;
			csv_close(&s->csv);
			s->reading = false;
			s->at++;
			continue;
		}
		s->have = csv_parse_u64(csv_get_field(&s->csv, s->column[C_STEP]), &s->step) &&
			  s->step <= UINT32_MAX && s->step >= f->options->step_lo &&
			  s->step <= f->options->step_hi;
	}
}

void feed_rows_open(struct feed *f)
{
	struct block_file *all = NULL;
	unsigned n = 0, cap = 0;

	find_block_files(f, f->dir->path, false, &all, &n, &cap);
	if (f->overlay && f->overlay->path)
		find_block_files(f, f->overlay->path, true, &all, &n, &cap);
	if (n)
		qsort(all, n, sizeof(*all), compare_first_steps);
	for (unsigned i = 0; i < n; i++) {
		struct feed_source *s = get_source(f, all[i].word);
		unsigned space = s->cap_file;

		TOOL_GROW(s->file, s->nfile, s->cap_file);
		if (space != s->cap_file)
			s->limit = tool_realloc(s->limit, s->cap_file * sizeof(*s->limit));
		s->limit[s->nfile] = all[i].limit;
		s->file[s->nfile++] = all[i].path;
	}
	free(all);
	feed_source_next(f, &f->scalars);
	for (unsigned i = 0; i < f->nkind; i++)
		feed_source_next(f, &f->kind[i]);
}

static void close_source(struct feed_source *s)
{
	if (s->reading)
		csv_close(&s->csv);
	for (unsigned i = 0; i < s->nfile; i++)
		free(s->file[i]);
	free(s->file);
	free(s->limit);
}

void feed_rows_close(struct feed *f)
{
	close_source(&f->scalars);
	for (unsigned i = 0; i < f->nkind; i++)
		close_source(&f->kind[i]);
	free(f->kind);
}

/* ---- parameter statistics ---- */

static const struct csv_text *get_source_field(const struct feed_source *s, int c)
{
	return csv_get_field(&s->csv, s->column[c]);
}

static uint64_t get_source_number(const struct feed_source *s, int c, uint64_t none)
{
	uint64_t v;

	return csv_parse_u64(get_source_field(s, c), &v) ? v : none;
}

static uint8_t find_kind(const char *word)
{
	for (unsigned i = 0; i < TRAIN_KINDS; i++)
		if (strcmp(train_kinds[i].word, word) == 0)
			return (uint8_t)i;
	return TK_STATE;
}

/* Parses [16, 8]. */
static uint8_t read_kind_shape(const struct csv_text *t, uint64_t dim[JOURNAL_KIND_DIMS])
{
	unsigned n = 0;

	for (size_t i = 0; i < t->n && n < JOURNAL_KIND_DIMS; i++) {
		if (t->s[i] < '0' || t->s[i] > '9')
			continue;
		for (dim[n] = 0; i < t->n && t->s[i] >= '0' && t->s[i] <= '9'; i++)
			dim[n] = dim[n] * 10 + (uint64_t)(t->s[i] - '0');
		n++;
	}
	return (uint8_t)n;
}

static union stats_value parse_extreme(const struct csv_text *t, uint8_t class)
{
	union stats_value v = {.f = NAN};

	if (class == DTC_SIGNED)
		csv_parse_i64(t, &v.i);
	else if (class == DTC_UNSIGNED)
		csv_parse_u64(t, &v.u);
	else
		csv_parse_double(t, &v.f);
	return v;
}

/*
 * Reads the statistics of a row. If none is a number, the tensor was not measured, unless it is all
 * NaN.
 */
static void read_kind_statistics(struct journal_kind_row *k, const struct feed_source *s)
{
	uint8_t class = get_dtype_info(k->dtype)->cls;
	struct stats *v = &k->stats;
	double x;
	bool known = false;

	v->mean = v->norm = NAN;
	v->min.f = v->max.f = NAN;
	for (int op = 1; op < TRAIN_OPS_END; op++) {
		const struct csv_text *t = csv_get_field(&s->csv, s->op[op]);

		if (s->op[op] < 0 || !csv_parse_double(t, &x))
			continue;
		known |= !isnan(x);
		if (op == TO_MIN || op == TO_ID)
			v->min = parse_extreme(t, class);
		else if (op == TO_MAX)
			v->max = parse_extreme(t, class);
		else if (op == TO_MEAN)
			v->mean = x;
		else if (op == TO_NORM)
			v->norm = x;
		else if (op == TO_NANS)
			v->nans = isnan(x) ? 0 : (uint64_t)x;
		else if (op == TO_INFS)
			v->infs = isnan(x) ? 0 : (uint64_t)x;
		else if (op == TO_ZEROS)
			v->zeros = isnan(x) ? 0 : (uint64_t)llround(x * (double)k->count);
	}
	v->n = known ? k->count : 0;
}

int feed_give_kind(struct feed *f, struct feed_source *s)
{
	struct journal_kind_row k = {.step = (uint32_t)s->step,
		.vpp_stage = (uint16_t)get_source_number(s, C_VPP, 0),
		.micro_step = (uint32_t)get_source_number(s, C_MICRO, UINT32_MAX),
		.kind = find_kind(s->word),
		.ops = s->ops,
		.count = 1};
	uint64_t dim[JOURNAL_KIND_DIMS];
	double value[KIND_VALUES_MAX];
	char *name = csv_copy_field(get_source_field(s, C_NAME));
	char *type = csv_copy_field(get_source_field(s, C_DTYPE)), *dot = strrchr(type, '.');
	char prefix[32] = "";
	int dt, err;

	if (train_kinds[k.kind].form == KIND_EVENT) { /* in no format but CSV */
		free(name);
		free(type);
		return 0;
	}
	if (dot) {
		snprintf(prefix, sizeof(prefix), "%.*s", (int)(dot + 1 - type), type);
		memmove(type, dot + 1, strlen(dot));
	}
	dt = dtype_from_name(type);
	k.e.type = JE_KIND;
	k.dtype = dt < 0 ? DT_OTHER : (uint8_t)dt;
	k.ndim = read_kind_shape(get_source_field(s, C_SHAPE), dim);
	for (unsigned i = 0; i < k.ndim; i++)
		k.count *= dim[i];
	if (train_kinds[k.kind].form == KIND_OPS) {
		read_kind_statistics(&k, s);
	} else {
		unsigned form = train_kinds[k.kind].form;
		int first = form == KIND_BOUNDS	     ? C_UPPER
			    : is_number_kind(k.kind) ? C_VALUE
						     : C_BINS;

		k.e.n = is_number_kind(k.kind) ? train_forms[form].nvalue : KIND_VALUES_MAX;
		for (int i = 0; i < k.e.n; i++)
			if (!csv_parse_double(
				    csv_get_field(&s->csv,
					    s->column[first] < 0 ? -1 : s->column[first] + i),
				    &value[i]))
				value[i] = form == KIND_BOUNDS && i ? -INFINITY : NAN;
	}

	struct record_kind r = {.kind = &k,
		.word = s->word,
		.name = name,
		.dtype_prefix = prefix,
		.dim = dim,
		.value = value};

	err = sink_give_kind(&f->sink, &r);
	free(name);
	free(type);
	return err;
}

/* ---- scalars ---- */

/* Parses loss, learning-rate/group1 or learning-rate/opt1.group0. */
static bool parse_scalar_name(const struct csv_text *t, struct record_scalar *r)
{
	char name[96], *slash, *at;

	snprintf(name, sizeof(name), "%.*s", (int)t->n, t->s);
	slash = strchr(name, '/');
	if (slash)
		*slash++ = 0;
	r->optimizer = 0;
	r->group = JOURNAL_NO_GROUP;
	if (slash && (at = strstr(slash, "opt")))
		r->optimizer = (uint16_t)strtoul(at + 3, NULL, 10);
	if (slash && (at = strstr(slash, "group")))
		r->group = (uint16_t)strtoul(at + 5, NULL, 10);
	for (r->which = 0; r->which < SCALARS; r->which++)
		if (strcmp(scalar_names[r->which], name) == 0)
			return true;
	return false;
}

int feed_give_scalar(struct feed *f, struct feed_source *s)
{
	struct record_scalar r = {
		.step = (uint32_t)s->step, .wall_ns = get_source_number(s, C_WALL, 0)};

	if (!parse_scalar_name(get_source_field(s, C_NAME), &r) ||
		!csv_parse_double(get_source_field(s, C_VALUE), &r.value)) {
		f->damaged++;
		return 0;
	}
	return sink_give_scalar(&f->sink, &r);
}

/* ---- data available from the start ---- */

#define GIVE(f, call)                                          \
	({                                                     \
		int err_ = (call);                             \
                                                               \
		if (err_ == -ENOBUFS && !(err_ = end_pass(f))) \
			err_ = (call);                         \
		err_;                                          \
	})

static int feed_names(struct feed *f, int (*end_pass)(struct feed *f))
{
	struct names names;
	int err = names_read(&names, f->dir->path);

	if (err == -ENOENT || err == -ENODATA)
		err = 0;
	for (unsigned i = 0; !err && i < names.n; i++) {
		const struct name_row *n = &names.row[i];
		uint64_t dim[64];
		struct csv_text shape = {n->shape, strlen(n->shape)};
		int dt = dtype_from_name(n->dtype);
		struct record_name r = {.what = n->what == NAME_PARAM  ? JN_PARAM
						: n->what == NAME_PART ? JN_PART
						: n->what == NAME_BAD  ? JN_BAD
								       : JN_MODULE,
			.dtype = dt < 0 ? DT_OTHER : (uint8_t)dt,
			.optimizer = n->optimizer < 0 ? 0 : (uint16_t)n->optimizer,
			.group = n->group < 0 ? 0 : (uint16_t)n->group,
			.vpp_stage = n->vpp_stage < 0 ? 0 : (uint16_t)n->vpp_stage,
			.id = (uint32_t)n->id,
			.step = (uint32_t)n->step,
			.bucket = (uint32_t)n->bucket,
			.offset = n->offset,
			.count = n->count,
			.name = n->name,
			.module = n->module,
			.type = n->type,
			.ndim = read_kind_shape(&shape, dim),
			.dims = dim};

		for (unsigned b = 0; b < JN_FLAGS; b++)
			if (strstr(n->flags, name_flag_words[b]))
				r.flags |= 1u << b;
		err = GIVE(f, sink_give_name(&f->sink, &r));
	}
	names_free(&names);
	return err;
}

static bool open_csv_table(struct csv *csv, const char *folder, const char *name)
{
	char *path = tool_format("%s/%s", folder, name);
	bool ok = csv_open(csv, path, UINT64_MAX, true, BUFFER) == 0;

	free(path);
	if (!ok)
		csv_close(csv);
	return ok;
}

static uint64_t parse_hex_field(const struct csv_text *t)
{
	char text[20] = "";

	if (t->n < sizeof(text))
		memcpy(text, t->s, t->n);
	return strtoull(text, NULL, 16);
}

static int feed_comms(struct feed *f, const char *folder, int (*end_pass)(struct feed *f))
{
	int col[COMM_COLUMNS], err = 0;
	struct csv csv;

	if (!open_csv_table(&csv, folder, "comms.csv"))
		return 0;
	csv_find_columns(&csv, COMM_HEADER, col);
	while (!err && csv_read_row(&csv)) {
		char *lib = csv_copy_field(csv_get_field(&csv, col[COMM_COL_lib]));
		char *kind = csv_copy_field(csv_get_field(&csv, col[COMM_COL_kind]));
		char *name = csv_copy_field(csv_get_field(&csv, col[COMM_COL_name]));
		char *ranks = csv_copy_field(csv_get_field(&csv, col[COMM_COL_world_ranks]));
		int64_t size = -1, rank = -1;

		csv_parse_i64(csv_get_field(&csv, col[COMM_COL_size]), &size);
		csv_parse_i64(csv_get_field(&csv, col[COMM_COL_rank]), &rank);

		struct record_comm r = {
			.id = parse_hex_field(csv_get_field(&csv, col[COMM_COL_comm])),
			.parent = parse_hex_field(csv_get_field(&csv, col[COMM_COL_parent])),
			.size = (int32_t)size,
			.rank = (int32_t)rank,
			.lib = lib,
			.kind = kind,
			.name = name,
			.world_ranks = ranks && is_plausible_rank_list(ranks) ? ranks : ""};

		err = GIVE(f, sink_give_comm(&f->sink, &r));
		free(lib);
		free(kind);
		free(name);
		free(ranks);
	}
	csv_close(&csv);
	return err;
}

static int feed_stacks(struct feed *f, const char *folder, int (*end_pass)(struct feed *f))
{
	int col[STACK_COLUMNS], err = 0;
	struct csv csv;

	if (!open_csv_table(&csv, folder, "stack_info.csv"))
		return 0;
	csv_find_columns(&csv, STACK_HEADER, col);
	while (!err && csv_read_row(&csv)) {
		char *api = csv_copy_field(csv_get_field(&csv, col[STACK_COL_api]));
		char *python = csv_copy_field(csv_get_field(&csv, col[STACK_COL_python_stack]));
		char *native = csv_copy_field(csv_get_field(&csv, col[STACK_COL_native_stack]));
		uint64_t id = 0, step = 0;

		csv_parse_u64(csv_get_field(&csv, col[STACK_COL_stack_id]), &id);
		csv_parse_u64(csv_get_field(&csv, col[STACK_COL_first_step]), &step);

		struct record_stack r = {.id = (uint32_t)id,
			.step = (uint32_t)step,
			.api = api,
			.python = python,
			.native = native};

		err = GIVE(f, sink_give_stack(&f->sink, &r));
		free(api);
		free(python);
		free(native);
	}
	csv_close(&csv);
	return err;
}

int feed_tables(struct feed *f, int (*end_pass)(struct feed *f))
{
	const char *more = f->overlay ? f->overlay->path : NULL;
	int err = feed_names(f, end_pass);

	if (!err)
		err = feed_comms(f, f->dir->path, end_pass);
	if (!err && more)
		err = feed_comms(f, more, end_pass);
	if (!err)
		err = feed_stacks(f, f->dir->path, end_pass);
	if (!err && more)
		err = feed_stacks(f, more, end_pass);
	return err;
}
