/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/calls.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "terms/dtype.h"
#include "base/io.h"
#include "tools/lib/intern.h"
#include "tools/probe/model/read/compact_calls.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"

/* ---- the files ---- */

/* calls_<a>-<b>[.<k>].csv[.gz], or .compact */
static bool parse_name(const char *name, struct calls_file *f, bool *gz)
{
	unsigned long long a, b, part = 0;
	int n = 0;

	if (sscanf(name, "calls_%llu-%llu%n", &a, &b, &n) < 2)
		return false;
	name += n;
	n = 0;
	if (sscanf(name, ".%llu%n", &part, &n) == 1)
		name += n;
	*gz = strcmp(name, ".csv.gz") == 0;
	f->first = a;
	f->last = b;
	f->part = part;
	f->compact = is_compact_name(name);
	return *gz || f->compact || strcmp(name, ".csv") == 0;
}

static int compare_calls_files(const void *x, const void *y)
{
	const struct calls_file *a = x, *b = y;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->overlay != b->overlay)
		return a->overlay ? 1 : -1;
	return a->part != b->part ? (a->part < b->part ? -1 : 1) : strcmp(a->path, b->path);
}

static void find_calls_files(
	struct calls *s, const char *dir, const struct overlay *o, bool overlay)
{
	DIR *d = opendir(dir);
	struct stat st;

	for (struct dirent *e; d && (e = readdir(d));) {
		struct calls_file f = {.overlay = overlay, .limit = UINT64_MAX};
		bool gz;
		char plain[256];

		if (!parse_name(e->d_name, &f, &gz) || fstatat(dirfd(d), e->d_name, &st, 0) < 0)
			continue;
		/*
		 * A file that is being compressed exists twice, and so does one that was compressed
		 * with the original kept. Only one of the two is used.
		 */
		snprintf(plain, sizeof(plain), "%.*s", (int)strlen(e->d_name) - 3, e->d_name);
		if (gz && faccessat(dirfd(d), plain, 0, 0) == 0)
			continue;
		f.bytes = (uint64_t)st.st_size;
		if (o && !overlay && !gz)
			f.limit = overlay_get_limit(o, e->d_name);
		if (f.limit < f.bytes)
			f.bytes = f.limit;
		f.path = tool_format("%s/%s", dir, e->d_name);
		TOOL_GROW(s->file, s->nfile, s->cap_file);
		s->file[s->nfile++] = f;
	}
	if (d)
		closedir(d);
}

/*
 * Removes compact files of blocks that also exist as CSV, because both have the same rows. (The
 * first part of a CSV file is created last.)
 */
static void remove_compact_files(struct calls *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->nfile; i++) {
		struct calls_file *f = &s->file[i];
		bool twice = false;

		for (unsigned k = 0; f->compact && k < s->nfile && !twice; k++)
			twice = !s->file[k].compact && !s->file[k].overlay && !s->file[k].part &&
				s->file[k].first == f->first;
		if (twice)
			free(f->path);
		else
			s->file[n++] = *f;
	}
	s->nfile = n;
}

int calls_open_file(struct csv *csv, const struct calls_file *f, bool keep_open, size_t buffer)
{
	return csv_open_decoded(
		csv, f->path, f->limit, keep_open, buffer, f->compact ? &compact_decoder : NULL);
}

void calls_open(struct calls *s, const struct rank_dir *dir, uint32_t rank, const struct overlay *o)
{
	*s = (struct calls){.dir = dir, .rank = rank, .step_hi = UINT64_MAX, .buffer = 1 << 18};
	find_calls_files(s, dir->path, o, false);
	remove_compact_files(s);
	if (o && o->path)
		find_calls_files(s, o->path, o, true);
	if (s->nfile)
		qsort(s->file, s->nfile, sizeof(*s->file), compare_calls_files);
}

void calls_close(struct calls *s)
{
	if (s->reading)
		csv_close(&s->csv);
	compact_reader_free(s->compact_kept);
	for (unsigned i = 0; i < s->nfile; i++)
		free(s->file[i].path);
	free(s->file);
	free(s->wrong);
	*s = (struct calls){0};
}

static bool is_name_of_other(const char *dtype)
{
	return strcmp(dtype, get_dtype_info(DT_OTHER)->name) == 0;
}

bool is_dtype_other(uint32_t dtype)
{
	static struct name_question q = {.ask = is_name_of_other};

	return check_name_property(&q, dtype);
}

void calls_open_tail(struct calls *s, const struct rank_dir *dir, uint32_t rank, uint64_t bytes)
{
	calls_open(s, dir, rank, NULL);
	s->tail = bytes;
	/* The last file may have just been created. */
	if (s->nfile)
		s->at = s->nfile - 1;
	if (s->nfile > 1 && s->file[s->at].bytes < bytes / 4)
		s->at--;
}

static bool is_file_wanted(const struct calls *s, const struct calls_file *f)
{
	/* In a run without steps the numbers in the names have no meaning. */
	return s->dir->nround || (f->first <= s->step_hi && f->last >= s->step_lo);
}

uint64_t calls_get_bytes(const struct calls *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->nfile; i++)
		sum += is_file_wanted(s, &s->file[i]) ? s->file[i].bytes : 0;
	return sum;
}

uint64_t calls_get_bytes_read(const struct calls *s)
{
	return s->bytes_done + (s->reading ? s->csv.src.at : 0);
}

/* A row without these columns is useless. */
_Static_assert(COLUMNS <= CALL_COLUMNS_MAX, "");

static bool has_needed_columns(struct calls *s)
{
#define NEEDED(name)              \
	{                         \
		COL_##name, #name \
	}
	static const struct {
		enum column column;
		const char *name;
	} needed[] = {NEEDED(step), NEEDED(seq), NEEDED(api), NEEDED(op), NEEDED(start_ns)};

	csv_find_columns(&s->csv, ROW_HEADER, s->column);
	s->in_order = true;
	for (int i = 0; i < COLUMNS; i++)
		s->in_order = s->in_order && s->column[i] == i;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (s->column[needed[i].column] < 0) {
			s->lacking = needed[i].name;
			return false;
		}
	return true;
}

/* Sorts the fields by enum column, for files of other versions and other programs. */
static void write_in_order(struct calls *s)
{
	struct csv_text found[COLUMNS];

	for (unsigned i = 0; i < COLUMNS; i++)
		found[i] = *csv_get_field(&s->csv, s->column[i]);
	memcpy(s->csv.field, found, sizeof(found));
}

/* Reads the next call of a compact file instead of a row. */
static bool read_compact_call(struct calls *s)
{
	int got = compact_read_next_call(s->compact, &s->csv.src);

	s->shown = 0;
	s->csv.rows += got > 0 ? compact_get_row_count(s->compact) : 0;
	s->csv.err = got < 0 ? got : 0;
	s->csv.truncated |= s->csv.src.truncated;
	return got > 0;
}

static bool read_row(struct calls *s)
{
	if (s->compact)
		return read_compact_call(s);
	if (!csv_read_row(&s->csv))
		return false;
	if (__builtin_expect(!s->in_order, 0))
		write_in_order(s);
	return true;
}

/* Makes row i of the compact file's call the current row of csv. */
static void set_shown_row(struct calls *s, unsigned i)
{
	uint64_t rows = s->csv.rows;
	const char *text;
	size_t n;

	if (!s->shown) {
		n = compact_format_call(s->compact, &text);
		csv_set_text(&s->csv, text, n, COLUMNS);
	}
	for (; s->shown <= i; s->shown++)
		csv_read_row(&s->csv);
	s->csv.rows = rows;
}

static void close_calls_file(struct calls *s)
{
	s->rows += s->csv.rows;
	s->damaged += s->csv.damaged + s->csv.src.damaged;
	/*
	 * While the process writes, the last line of its last file may be half written. That is not
	 * a loss.
	 */
	if (s->csv.truncated &&
		((s->dir->state != RANK_RUNNING && !s->dir->lives) || s->csv.src.gz))
		s->truncated++;
	if (s->csv.err) {
		s->unreadable++;
		if (!s->wrong)
			s->wrong = tool_format(
				"%s: %s", s->file[s->at].path, io_error_text(s->csv.err));
	}
	s->bytes_done += s->file[s->at].bytes;
	csv_close(&s->csv);
	s->compact = NULL;
	s->reading = false;
	s->at++;
}

static int open_calls_file(struct calls *s, const struct calls_file *f)
{
	if (!f->compact)
		return calls_open_file(&s->csv, f, s->keep_open, s->buffer);
	memset(&s->csv, 0, offsetof(struct csv, field));
	s->csv.none = (struct csv_text){"", 0};
	if (!s->compact_kept)
		s->compact_kept = compact_reader_open();
	s->compact = s->compact_kept;
	compact_reader_reset(s->compact);
	return source_open(&s->csv.src, f->path, f->limit, s->keep_open);
}

/* Opens the next file that can be read. */
static bool start_file(struct calls *s)
{
	for (; s->at < s->nfile; s->at++) {
		const struct calls_file *f = &s->file[s->at];
		int err;

		if (!is_file_wanted(s, f))
			continue;
		err = open_calls_file(s, f);
		s->lacking = NULL;
		if (!err && (s->compact || has_needed_columns(s))) {
			s->reading = true;
			s->cut = s->tail && f->bytes > s->tail;
			if (s->cut && s->compact)
				compact_start_at(s->compact, &s->csv.src, f->bytes - s->tail);
			else if (s->cut)
				csv_set_position(&s->csv, f->bytes - s->tail);
			return true;
		}
		csv_close(&s->csv);
		s->compact = NULL;
		s->bytes_done += f->bytes;
		if (err == -ENODATA)
			continue; /* the file was just created */
		s->unreadable++;
		if (!s->wrong)
			s->wrong = s->lacking ? tool_format(
							"%s: has no column %s", f->path, s->lacking)
					      : tool_format("%s: %s", f->path,
							err == -EINVAL ? "no calls file"
								       : io_error_text(err));
	}
	return false;
}

/* ---- rows ---- */

static uint64_t get_column_number(const struct calls *s, enum column c)
{
	uint64_t v;

	return csv_parse_u64(calls_get_column(s, c), &v) ? v : 0;
}

static int64_t get_column_number_or_none(const struct calls *s, enum column c)
{
	const struct csv_text *t = calls_get_column(s, c);
	int64_t v;

	return t->n && csv_parse_i64(t, &v) ? v : NO_NUMBER;
}

/* Returns the cached value if the column's text equals that of the previous row, which is usual. */
static inline struct calls_repeat *find_repeat(
	struct calls_repeat *repeat, const struct csv_text *t)
{
	return t->n == repeat->n && memcmp(t->s, repeat->text, t->n) == 0 ? repeat : NULL;
}

static inline void set_repeat(struct calls_repeat *repeat, const struct csv_text *t, uint64_t value)
{
	repeat->n = t->n <= sizeof(repeat->text) ? t->n : SIZE_MAX;
	if (repeat->n != SIZE_MAX)
		memcpy(repeat->text, t->s, t->n);
	repeat->value = value;
}

static uint32_t get_column_name_id(struct calls_repeat *repeat, const struct csv_text *t)
{
	if (!t->n)
		return 0;
	if (!find_repeat(repeat, t))
		set_repeat(repeat, t, csv_get_field_id(t));
	return (uint32_t)repeat->value;
}

#define column_name_id(s, c) get_column_name_id(&(s)->repeat.c, calls_get_column(s, COL_##c))

/*
 * Reads 16 hexadecimal digits. Any other text becomes its hash, so that equal texts have equal ids.
 */
static uint64_t parse_comm_id(const struct csv_text *t)
{
	uint64_t v = 0, h = UINT64_C(0xcbf29ce484222325);
	bool hex = t->n <= 16;

	for (size_t i = 0; i < t->n; i++) {
		unsigned char c = (unsigned char)t->s[i];
		unsigned d = c >= '0' && c <= '9' ? c - 48u : c >= 'a' && c <= 'f' ? c - 87u : 16;

		hex &= d < 16;
		v = v << 4 | (d & 15);
		h = (h ^ c) * UINT64_C(0x100000001b3);
	}
	return hex ? v : h;
}

static uint64_t get_column_comm_id(struct calls *s)
{
	const struct csv_text *t = calls_get_column(s, COL_comm);

	if (!t->n)
		return parse_comm_id(t);
	if (!find_repeat(&s->repeat.comm, t))
		set_repeat(&s->repeat.comm, t, parse_comm_id(t));
	return s->repeat.comm.value;
}

/* The words of the column `flags` that the reader keeps. */
static const uint32_t bits_of_flag[CALL_FLAGS] = {
	[CF_BIT_OPEN] = CALL_OPEN,
	[CF_BIT_ASYNC] = CALL_ASYNC,
	[CF_BIT_LOCALCOMM] = CALL_LOCAL,
	[CF_BIT_MORE] = CALL_MORE,
	[CF_BIT_ERROR] = CALL_ERROR,
	[CF_BIT_UNWOUND] = CALL_UNWOUND,
	[CF_BIT_PERMUTED] = CALL_PERMUTED,
	[CF_BIT_GAPS] = CALL_GAPS,
	[CF_BIT_INPLACE] = CALL_IN_PLACE,
};

static void add_flag(struct call *c, const struct csv_text *word)
{
	const char *colon = memchr(word->s, ':', word->n);
	struct csv_text name = {word->s, colon ? (size_t)(colon - word->s) : word->n};
	struct csv_text value = {word->s + name.n + 1, colon ? word->n - name.n - 1 : 0};

	for (unsigned i = 0; i < CALL_FLAGS; i++) {
		if (!bits_of_flag[i] || !csv_is(&name, call_flag_words[i].word) ||
			!colon != !call_flag_words[i].value[0])
			continue;
		c->bits |= bits_of_flag[i];
		if (i == CF_BIT_ERROR && !csv_parse_i64(&value, &c->error))
			c->error = 0;
	}
}

static void parse_flags(struct call *c, const struct csv_text *t)
{
	for (size_t i = 0, k; i < t->n; i = k + 1) {
		const char *p = t->s + i, *end = memchr(p, ';', t->n - i);
		struct csv_text word = {p, end ? (size_t)(end - p) : t->n - i};

		k = i + word.n;
		add_flag(c, &word);
	}
}

/* ---- what the calls of a site have in common ---- */

static void parse_form_columns(struct calls *s, struct call *c)
{
	const struct csv_text *flags = calls_get_column(s, COL_flags);

	c->lib = column_name_id(s, lib);
	c->api = column_name_id(s, api);
	c->op = column_name_id(s, op);
	c->redop = column_name_id(s, redop);
	c->dtype = column_name_id(s, dtype);
	c->comm = get_column_comm_id(s);
	c->comm_rank = get_column_number_or_none(s, COL_rank);
	c->size = get_column_number_or_none(s, COL_size);
	c->root = get_column_number_or_none(s, COL_root);
	c->peer = get_column_number_or_none(s, COL_peer);
	c->count = get_column_number(s, COL_count);
	c->thread = (uint32_t)get_column_number(s, COL_thread);
	c->stack = (uint32_t)get_column_number(s, COL_stack_id);
	if (flags->n)
		parse_flags(c, flags);
}

static void copy_row_form(struct call *c, const struct row_form *f)
{
#define COPY_FIELD(field) c->field = f->field;
	ROW_FORM_FIELDS(COPY_FIELD)
#undef COPY_FIELD
	c->bits |= f->bits;
}

/* bits: of the call before its flags were read. */
static void record_row_form(
	struct row_form *f, const struct row_form_text *t, const struct call *c, uint32_t bits)
{
#define KEEP_FIELD(field) f->field = c->field;
	ROW_FORM_FIELDS(KEEP_FIELD)
#undef KEEP_FIELD
	f->bits = c->bits & ~bits;
	set_row_form_text(f, t);
}

static struct csv_text join_columns(const struct calls *s, enum column first, enum column last)
{
	const char *p = calls_get_column(s, first)->s;
	const struct csv_text *end = calls_get_column(s, last);

	return (struct csv_text){p, (size_t)(end->s + end->n - p)};
}

static void read_form_columns(struct calls *s, struct call *c)
{
	uint32_t bits = c->bits;
	struct row_form_text text;
	struct row_form *form;

	/* In another order, or with quotes, the fields need not lie one after the other. */
	if (!s->in_order || !s->csv.usual) {
		parse_form_columns(s, c);
		return;
	}
	text = (struct row_form_text){{join_columns(s, COL_lib, COL_comm),
		join_columns(s, COL_rank, COL_count), join_columns(s, COL_thread, COL_flags)}};
	if (!can_row_form_keep(&text)) {
		parse_form_columns(s, c);
		return;
	}
	form = find_row_form(s->form, &text);
	if (is_row_form_of(form, &text)) {
		copy_row_form(c, form);
		return;
	}
	parse_form_columns(s, c);
	/* A form does not keep the error's number. */
	if (!(c->bits & CALL_ERROR))
		record_row_form(form, &text, c, bits);
}

/* Reads the first row of a call. Returns false if one of its numbers cannot be parsed. */
static bool start_call(struct calls *s, struct call *c, uint64_t step, uint64_t seq)
{
	uint64_t v;

	*c = (struct call){.rank = s->rank,
		.step = step,
		.seq = seq,
		.bits = s->dir->peers_steps ? CALL_PEERS_STEP : 0};
	if (!csv_parse_u64(calls_get_column(s, COL_start_ns), &c->start))
		return false;
	read_form_columns(s, c);
	c->comm_seq = get_column_number_or_none(s, COL_comm_seq);
	c->tag = get_column_number_or_none(s, COL_tag);
	c->source = c->source_seq = c->source_tag = NO_NUMBER;
	c->phase = column_name_id(s, phase);
	if (csv_parse_u64(calls_get_column(s, COL_micro_step), &v))
		c->pass = (uint32_t)v + 1;
	if (!csv_parse_u64(calls_get_column(s, COL_dur_ns), &c->dur))
		c->bits |= CALL_OPEN;
	if (calls_get_column(s, COL_parent)->n)
		c->bits |= CALL_NESTED;
	/* An open call without tensors yet. */
	if (csv_parse_u64(calls_get_column(s, COL_await_count), &v)) {
		c->dtype = column_name_id(s, await_dtype);
		c->count = v;
	}
	if (c->peer != NO_NUMBER || c->tag != NO_NUMBER)
		c->bits |= CALL_P2P;
	if (csv_parse_u64(calls_get_column(s, COL_dev_ns), &v))
		c->device = v;
	if (csv_parse_u64(calls_get_column(s, COL_wait_ns), &v)) {
		c->wait = v;
		c->bits |= CALL_WAITED;
	}
	if (!(c->bits & CALL_ASYNC) && csv_parse_u64(calls_get_column(s, COL_issue_ns), &v))
		c->wait = v;
	return true;
}

/* Returns the key of a checksum: 8 hexadecimal digits, or any other text. */
static uint64_t compute_checksum_text_key(const struct csv_text *t)
{
	return !t->n	   ? 0
	       : t->n == 8 ? compute_checksum_key((uint32_t)parse_comm_id(t))
			   : parse_comm_id(t);
}

/* The same as has_telling_digits(t). digits: from csv_parse_double_digits(). */
static inline bool is_telling_number(const struct csv_text *t, uint64_t digits)
{
	return digits ? digits >= SIDE_TELLING_INTEGER : has_telling_digits(t);
}

static void add_side(const struct calls *s, struct side *d, uint64_t count)
{
	const struct csv_text *min = calls_get_column(s, COL_min),
			      *max = calls_get_column(s, COL_max),
			      *zeros = calls_get_column(s, COL_zeros);
	struct side_row r = {.count = count,
		.nans = get_column_number(s, COL_nans),
		.infs = get_column_number(s, COL_infs)};
	uint64_t min_digits, max_digits;
	double share;

	r.measured = count && !d->blind && csv_parse_double_digits(min, &r.min, &min_digits) &&
		     csv_parse_double_digits(max, &r.max, &max_digits) &&
		     csv_parse_double_fast(calls_get_column(s, COL_mean), &r.mean) &&
		     csv_parse_double_fast(calls_get_column(s, COL_norm), &r.norm);
	if (r.measured) {
		r.min_key = compute_text_key(min, r.min);
		r.max_key = compute_text_key(max, r.max);
		r.telling = d->telling || is_telling_number(min, min_digits) ||
			    is_telling_number(max, max_digits);
		r.zeros_key = !(zeros->n == 1 && zeros->s[0] == '0') &&
					      csv_parse_double_fast(zeros, &share)
				      ? compute_double_key(share)
				      : 0;
		r.checksum_key = compute_checksum_text_key(calls_get_column(s, COL_crc32));
	}
	add_to_side(d, &r);
}

static void add_tensor_row(struct calls *s, struct call *c)
{
	const struct csv_text *io = calls_get_column(s, COL_io), *n = calls_get_column(s, COL_nans);
	const struct csv_text *i = calls_get_column(s, COL_infs);
	uint64_t nans = 0, infs = 0, bytes;

	c->rows++;
	if (io->n && !s->times_only)
		add_side(s, io->s[0] == 'i' ? &c->in : &c->out, get_column_number(s, COL_count));
	if (io->n && io->s[0] == 'o' && c->bits & CALL_P2P &&
		strcmp(intern_get_name(c->op), "send_recv") == 0) {
		c->source = get_column_number_or_none(s, COL_peer);
		c->source_seq = get_column_number_or_none(s, COL_comm_seq);
		c->source_tag = get_column_number_or_none(s, COL_tag);
	}
	if (io->n && csv_parse_u64(calls_get_column(s, COL_bytes), &bytes)) {
		if (io->s[0] == 'i')
			c->in_bytes += bytes;
		else
			c->out_bytes += bytes;
		if (io->s[0] == 'o' && !c->out_dtype)
			c->out_dtype = column_name_id(s, dtype);
	}
	if (s->row)
		s->row(s->row_arg, s, c);
	if (s->times_only || (n->n == 1 && n->s[0] == '0' && i->n == 1 && i->s[0] == '0'))
		return;
	if (!n->n && !i->n) {
		if (io->n && io->s[0] == 'i' && get_column_number(s, COL_count))
			c->blind++;
		return;
	}
	csv_parse_u64(n, &nans);
	csv_parse_u64(i, &infs);
	if ((nans || infs) && s->bad)
		s->bad(s->bad_arg, s, c, nans, infs);
}

/* Adds the rows of a compact file's call to c. begin: the first of them also begins c. */
static void add_compact_call(
	struct calls *s, struct call *c, uint64_t step, uint64_t seq, bool begin)
{
	unsigned n = compact_get_row_count(s->compact);
	uint64_t nans, infs;
	bool whole = true;

	if (begin) {
		*c = (struct call){.rank = s->rank,
			.step = step,
			.bits = s->dir->peers_steps ? CALL_PEERS_STEP : 0};
		whole = !s->row && compact_copy_call(s->compact, c);
	}
	/* The data of an unusual call is read from its text. */
	if (!whole) {
		set_shown_row(s, 0);
		start_call(s, c, step, seq);
		compact_record_form(s->compact, c);
	}
	for (unsigned i = 0; i < n; i++) {
		if (s->row) {
			set_shown_row(s, i);
			add_tensor_row(s, c);
		} else if (compact_add_row(s->compact, i, c, !s->times_only, &nans, &infs) &&
			   s->bad) {
			set_shown_row(s, i);
			s->bad(s->bad_arg, s, c, nans, infs);
		}
	}
}

/* Reads step and seq of the current row. Returns false if the row is damaged. */
static bool read_row_key(struct calls *s, uint64_t *step, uint64_t *seq)
{
	uint64_t start;

	if (s->compact) {
		*step = compact_get_step(s->compact);
		*seq = compact_get_seq(s->compact);
		start = compact_get_start(s->compact);
	} else if (!csv_parse_u64(calls_get_column(s, COL_step), step) ||
		   !csv_parse_u64(calls_get_column(s, COL_seq), seq)) {
		return false;
	}
	if (s->dir->nround &&
		(s->compact || csv_parse_u64(calls_get_column(s, COL_start_ns), &start)))
		*step = get_rounds_before(s->dir->round, s->dir->nround, start, *seq);
	return true;
}

bool calls_read_next(struct calls *s, struct call *out)
{
	uint64_t step, seq;
	bool have = false;

	for (;;) {
		if (!s->reading) {
			if (!start_file(s))
				return have;
			s->ahead = false;
		}
		if (!s->ahead && !read_row(s)) {
			close_calls_file(s);
			/*
			 * The rows of a call may continue in the next part of the same block, but
			 * not further.
			 */
			if (have && (s->at >= s->nfile ||
					    s->file[s->at].first != s->file[s->at - 1].first))
				return true;
			continue;
		}
		s->ahead = false;
		if (!read_row_key(s, &step, &seq)) {
			s->csv.rows--;
			s->csv.damaged++;
			continue;
		}
		if (step < s->step_lo || step > s->step_hi) {
			s->csv.rows -= s->compact ? compact_get_row_count(s->compact) : 1;
			continue;
		}
		if (have && seq != out->seq) {
			s->ahead = true;
			return true;
		}
		if (s->compact) {
			add_compact_call(s, out, step, seq, !have);
			have = true;
			continue;
		}
		if (!have) {
			if (!start_call(s, out, step, seq)) {
				s->csv.rows--;
				s->csv.damaged++;
				continue;
			}
			have = true;
		}
		add_tensor_row(s, out);
	}
}
