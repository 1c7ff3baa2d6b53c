/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of parameter statistics (terms/train_kind.def): <kind>_<a>-<b>.csv for steps a to b.
 * The columns of a file are known when its first row comes, because the journal's entries name
 * the statistics to show.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "terms/train_kind.h"
#include "sink/column.h"
#include "sink/format.h"

/* maximum number of different headers; rows that need another one are lost */
#define HEADERS_MAX 64
#define HEADER_BYTES 1024
#define WORD_MAX 20 /* bytes of the first word of a file's name: paths are limited to 47 */

struct kind_header {
	uint32_t ops;
	uint8_t form;
	bool micro;
	char *text;
};

struct kinds_csv {
	struct files *files;
	struct kind_header header[HEADERS_MAX]; /* struct files refers to them */
};

static int open_kinds_sink(void *state, struct files *files)
{
	struct kinds_csv *s = state;

	s->files = files;
	return 0;
}

static void close_kinds_sink(void *state)
{
	struct kinds_csv *s = state;

	for (unsigned i = 0; i < HEADERS_MAX; i++)
		free(s->header[i].text);
	memset(s->header, 0, sizeof(s->header));
}

static void write_bin_columns(struct text *t)
{
	for (unsigned i = 0; i < KIND_VALUES_MAX; i++) {
		text_add_string(t, i < KIND_BINS_EACH ? "update_" : "ratio_");
		text_add_u64(t, i % KIND_BINS_EACH);
		write_comma(t);
	}
}

static char *format_kind_header(const struct kind_header *h)
{
	char *text = malloc(HEADER_BYTES);
	enum train_op op;

	if (!text)
		return NULL;

	struct text t = text_init(text, HEADER_BYTES);

	text_add_string(&t, h->micro ? "vpp_stage,name,step,micro_step," : "vpp_stage,name,step,");
	if (h->form == KIND_BINS)
		write_bin_columns(&t);
	else if (h->form != KIND_OPS)
		text_add_string(&t, train_forms[h->form].columns);
	else
		for (unsigned i = 0; (op = get_train_op(h->ops, i)) && op < TRAIN_OPS_END; i++) {
			text_add_string(&t, train_op_words[op]);
			write_comma(&t);
		}
	text_add_string(&t, "shape,dtype\n");
	return text;
}

/* Returns NULL if there is no memory, or there are too many headers. */
static const char *find_or_add_kind_header(struct kinds_csv *s, const struct journal_kind_row *k)
{
	struct kind_header want = {
		.form = train_kinds[k->kind].form, .micro = k->micro_step != UINT32_MAX};

	want.ops = want.form == KIND_OPS ? k->ops : 0;
	for (unsigned i = 0; i < HEADERS_MAX; i++) {
		struct kind_header *h = &s->header[i];

		if (!h->text) {
			want.text = format_kind_header(&want);
			*h = want;
			return h->text;
		}
		if (h->ops == want.ops && h->form == want.form && h->micro == want.micro)
			return h->text;
	}
	return NULL;
}

static void write_nan(struct text *out)
{
	text_add_string(out, "nan");
}

static void write_number(struct text *out, double v, bool wide)
{
	text_add_double(out, v == 0 ? 0 : v, wide ? 17 : 9);
}

static void write_extreme(struct text *out, const struct dtype_info *d, union stats_value v)
{
	if (d->cls == DTC_SIGNED)
		text_add_i64(out, v.i);
	else if (d->cls == DTC_UNSIGNED)
		text_add_u64(out, v.u);
	else
		write_number(out, v.f, d->wide);
}

static void write_statistic(struct text *out, enum train_op op, const struct journal_kind_row *k,
	const struct dtype_info *d)
{
	const struct stats *s = &k->stats;

	if (!s->n || (op == TO_ID && k->count != 1)) {
		write_nan(out);
		return;
	}
	switch (op) {
	case TO_MIN:
	case TO_ID:
		write_extreme(out, d, s->min);
		break;
	case TO_MAX:
		write_extreme(out, d, s->max);
		break;
	case TO_MEAN:
		write_number(out, s->mean, d->wide);
		break;
	case TO_NORM:
		write_number(out, s->norm, d->wide);
		break;
	case TO_ZEROS:
		write_number(out, (double)s->zeros / (double)s->n, false);
		break;
	case TO_NANS:
		text_add_u64(out, s->nans);
		break;
	case TO_INFS:
		text_add_u64(out, s->infs);
		break;
	default:
		write_nan(out);
	}
}

/* Without a lower bound the cell is empty: -Inf says the same. The numbers of an event are integers, or not known. */
static void write_kind_number(
	struct text *out, const struct journal_kind_row *k, double v, unsigned column)
{
	if (train_kinds[k->kind].form == KIND_EVENT) {
		if (v == v)
			write_number(out, v, true);
	} else if (train_kinds[k->kind].form != KIND_BOUNDS || !column || v > -__builtin_inf() ||
		   v != v)
		write_number(out, v, false);
}

/* [16, 8]: with a comma inside it has to be quoted. */
static void write_kind_shape(struct text *out, const struct record_kind *r)
{
	if (r->kind->ndim > 1)
		text_add_char(out, '"');
	text_add_char(out, '[');
	for (unsigned i = 0; i < r->kind->ndim; i++) {
		if (i)
			text_add_string(out, ", ");
		text_add_u64(out, r->dim[i]);
	}
	text_add_char(out, ']');
	if (r->kind->ndim > 1)
		text_add_char(out, '"');
}

static void format_kind_row(
	struct text *out, const struct record_kind *r, const struct clock_base *clock)
{
	const struct journal_kind_row *k = r->kind;
	const struct dtype_info *d = get_dtype_info(k->dtype);
	enum train_op op;

	text_add_u64(out, k->vpp_stage);
	write_comma(out);
	csv_add_field_max(out, r->name, ROW_STRING_MAX);
	write_comma(out);
	text_add_u64(out, k->step);
	write_comma(out);
	if (k->micro_step != UINT32_MAX) {
		text_add_u64(out, k->micro_step);
		write_comma(out);
	}
	if (train_kinds[k->kind].form == KIND_OPS)
		for (unsigned i = 0; (op = get_train_op(k->ops, i)) && op < TRAIN_OPS_END; i++) {
			write_statistic(out, op, k, d);
			write_comma(out);
		}
	else
		for (unsigned i = 0; i < k->e.n; i++) {
			write_kind_number(out, k, r->value[i], i);
			write_comma(out);
		}
	if (train_kinds[k->kind].form == KIND_EVENT) {
		text_add_u64(out, clock_to_real(clock, k->tick));
		write_comma(out);
	}
	write_kind_shape(out, r);
	write_comma(out);
	csv_add_field_max(out, r->dtype_prefix, ROW_STRING_MAX);
	text_add_string(out, d->name);
	text_add_char(out, '\n');
}

/*
 * Checks the first word of a file's name: a damaged journal must not make libprobe write
 * elsewhere.
 */
static bool is_safe_in_file_name(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && n <= WORD_MAX && !word[n];
}

/* True if the number of values differs from the header's columns. */
static bool has_wrong_values(const struct journal_kind_row *k)
{
	unsigned form = train_kinds[k->kind].form;

	return k->e.n != (form == KIND_BINS ? KIND_VALUES_MAX : train_forms[form].nvalue);
}

static int write_kind_row(void *state, const struct record_kind *r)
{
	struct kinds_csv *s = state;
	const struct journal_kind_row *k = r->kind;
	uint32_t n = s->files->j->head->block_steps, block = n ? k->step / n * n : 0;
	size_t cap = 256 +
		     CSV_FIELD_SPACE * (strnlen(r->name, ROW_STRING_MAX) +
					       strnlen(r->dtype_prefix, ROW_STRING_MAX)) +
		     24 * ((size_t)k->ndim + k->e.n + TRAIN_OPS_MAX);
	const char *header;
	struct out_file *o;
	char path[48], *at;
	int err;

	/* These kinds belong to other sinks (summary_events.c, grad_probe_csv.c). */
	if (train_kinds[k->kind].form >= KIND_HISTOGRAM)
		return 0;
	if (!is_safe_in_file_name(r->word) || has_wrong_values(k)) {
		s->files->j->head->damaged++;
		return 0;
	}
	snprintf(path, sizeof(path), "%s_%u-%llu.csv", r->word, block,
		(unsigned long long)block + (n ? n - 1 : 0));
	header = find_or_add_kind_header(s, k);
	if (!header) {
		s->files->j->head->lost_rows++;
		return 0;
	}
	at = files_get_row_space(s->files, path, header, cap, &o, &err);
	if (!at)
		return err;

	struct text row = text_init(at, cap);

	format_kind_row(&row, r, &s->files->j->head->clock);
	files_add_length(s->files, o, row.len);
	return 0;
}

/* The files are <word>_<a>-<b>.csv. */
static enum sink_file is_kind_file(const char *path)
{
	char word[WORD_MAX + 1];
	const char *end = strrchr(path, '_');
	unsigned a;
	unsigned long long b;
	int used = 0;

	if (!end || end == path || (size_t)(end - path) > WORD_MAX)
		return SINK_FILE_OTHER;
	memcpy(word, path, (size_t)(end - path));
	word[end - path] = 0;
	return is_safe_in_file_name(word) && sscanf(end, "_%u-%llu.csv%n", &a, &b, &used) == 2 &&
			       used && !end[used]
		       ? SINK_FILE_LINES
		       : SINK_FILE_OTHER;
}

const struct sink_format kinds_format = {
	.formats = FORMAT_TABLES,
	.state_bytes = sizeof(struct kinds_csv),
	.open = open_kinds_sink,
	.kind = write_kind_row,
	.close = close_kinds_sink,
	.owns = is_kind_file,
};
