/* SPDX-License-Identifier: Apache-2.0 */
/* The table of differences: msprobe's columns in their order, and a row for each item of A. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unwritten.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/compare/arrays/elements.h"
#include "tools/probe/compare/arrays/user_metric.h"

#define FIRST_COLUMNS                                                                    \
	"NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape," \
	"NPU Requires_grad,Bench Requires_grad"
#define STAT_COLUMNS \
	"NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm"
#define LAST_COLUMNS "Requires_grad Consistent,Result,Err_message"

static const char *const mode_columns[] = {
	[COMPARE_STATISTICS] =
		"Max diff,Min diff,Mean diff,L2norm diff,MaxRelativeErr,MinRelativeErr,"
		"MeanRelativeErr,NormRelativeErr," STAT_COLUMNS,
	[COMPARE_CHECKSUM] = "NPU MD5,BENCH MD5",
	[COMPARE_TENSOR] = "Cosine,EucDist,MaxAbsErr,MaxRelativeErr,One Thousandth Err Ratio,"
			   "Five Thousandths Err Ratio," STAT_COLUMNS,
};

/* ---- CSV ---- */

static void write_field_text(struct target *t, const char *s)
{
	if (!s[strcspn(s, ",\"\r\n")]) {
		target_write_text(t, s);
		return;
	}
	target_write_text(t, "\"");
	for (const char *q; *s; s = q) {
		q = s + strcspn(s, "\"");
		target_write(t, s, (size_t)(q - s));
		if (*q) {
			target_write_text(t, "\"\"");
			q++;
		}
	}
	target_write_text(t, "\"");
}

static void write_text_column(struct target *t, const char *s)
{
	target_write_text(t, ",");
	write_field_text(t, s ? s : "N/A");
}

/* Puts a blank before inf: Excel would read it as a name. */
static void write_cell_column(struct target *t, const struct cell *c)
{
	write_text_column(t, !c				 ? "N/A"
			     : c->kind == CELL_INF	 ? " inf"
			     : c->kind == CELL_MINUS_INF ? " -inf"
							 : c->text);
}

static void write_message_column(struct target *t, const struct row *r)
{
	char list[2048] = "[";
	size_t n = 1;

	for (unsigned i = 0; i < RULES; i++)
		if (r->rules >> i & 1)
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s\"%s\"",
				n > 1 ? ", " : "", rule_texts[i]);
	snprintf(list + n, sizeof(list) - n, "]");
	write_text_column(t, list);
}

static void write_table_header(struct target *t, const struct diff_table *d)
{
	if (d->c->merge)
		target_write_text(t, "Step,Rank,");
	target_print(t, "%s,%s,%s", FIRST_COLUMNS, mode_columns[d->mode], LAST_COLUMNS);
	if (d->stacks)
		target_write_text(t, ",NPU_Stack_Info");
	if (d->mode == COMPARE_TENSOR)
		target_write_text(t, d->c->metric ? ",Data_name,Metric" : ",Data_name");
	if (d->run)
		target_write_text(
			t, ",Step,Communicator,Comm_seq,NPU Seq,Bench Seq,Parameter,Line");
	target_write_text(t, "\n");
}

static void write_number_column(struct target *t, bool known, int64_t v)
{
	if (known)
		target_print(t, ",%" PRId64, v);
	else
		target_write_text(t, ",");
}

static void write_diff_row(struct diff_table *d, const struct row *r, const struct entry *a,
	const struct entry *b, bool first)
{
	const struct item *x = r->a, *y = r->b;
	struct target *t = &d->c->merged;
	bool consistent = strcmp(x->grad ? x->grad : "N/A", y && y->grad ? y->grad : "N/A") == 0;

	if (!d->c->merge)
		t = &d->t;
	else if (d->sums->step >= 0)
		target_print(t, "%" PRId64 ",%" PRId64 ",", d->sums->step, d->sums->rank);
	else
		target_print(t, "%" PRId64 ",%" PRId64 ",", a->step, d->sums->rank);
	write_field_text(t, x->name);
	write_text_column(t, y ? y->name : NULL);
	write_text_column(t, x->dtype ? x->dtype : "None");
	write_text_column(t, y ? (y->dtype ? y->dtype : "None") : NULL);
	write_text_column(t, x->shape ? x->shape : "None");
	write_text_column(t, y ? (y->shape ? y->shape : "None") : NULL);
	write_text_column(t, x->grad);
	write_text_column(t, y ? y->grad : NULL);
	if (d->mode == COMPARE_CHECKSUM) {
		write_text_column(t, x->crc);
		write_text_column(t, y ? y->crc : NULL);
	} else {
		if (d->mode == COMPARE_TENSOR)
			for (unsigned m = 0; m < METRICS; m++)
				write_text_column(t, r->metric[m] ? r->metric[m] : "");
		else
			for (unsigned k = 0; k < 2; k++)
				for (unsigned s = 0; s < STATS_COUNT; s++)
					write_text_column(t, k ? r->relative[s] : r->diff[s]);
		for (unsigned s = 0; s < STATS_COUNT; s++)
			write_cell_column(t, &x->stat[s]);
		for (unsigned s = 0; s < STATS_COUNT; s++)
			write_cell_column(t, y ? &y->stat[s] : NULL);
	}
	write_text_column(t, consistent ? "True" : "False");
	write_text_column(t, verdict_words[r->verdict]);
	write_message_column(t, r);
	if (d->stacks)
		write_text_column(t, first ? a->stack : NULL);
	if (d->mode == COMPARE_TENSOR) {
		char *pair = tool_format("['%s', '%s']", x->data ? x->data : "-1",
			y ? (y->data ? y->data : "-1") : "N/A");

		write_text_column(t, pair);
		free(pair);
		if (d->c->metric)
			write_text_column(t, r->measured);
	}
	if (d->run) {
		write_number_column(t, a->step >= 0, a->step);
		write_text_column(t, a->comm ? a->comm : "");
		write_number_column(t, a->comm_seq >= 0, a->comm_seq);
		write_number_column(t, true, (int64_t)a->seq);
		write_number_column(t, b != NULL, b ? (int64_t)b->seq : 0);
		write_text_column(t, x->param ? x->param : "");
		write_text_column(t, first && a->line ? a->line : "");
	}
	target_write_text(t, "\n");
}

/* Returns the path of a table, which does not exist yet; malloc'd. */
static char *format_table_path(const struct comparison *c, const struct rank_sums *s, bool steps)
{
	char *folder = steps && s->step >= 0 ? tool_format("%s/step%" PRId64, c->out, s->step)
					     : tool_strdup(c->out);
	char rank[32] = "", *path = NULL;

	if (s && s->rank >= 0)
		snprintf(rank, sizeof(rank), "_rank%" PRId64, s->rank);
	for (unsigned n = 0; !path; n++) {
		char again[16] = "";

		if (n)
			snprintf(again, sizeof(again), "_%u", n);
		path = tool_format("%s/compare_result%s_%s%s.csv", folder, s ? rank : "_merged",
			c->stamp, again);
		if (access(path, F_OK) == 0) {
			free(path);
			path = NULL;
		}
	}
	free(folder);
	return path;
}

/* Returns true if the side has several steps. Then the tables of each step get a folder. */
static bool has_many_steps(const struct compared *s)
{
	return s->ndump && s->dump[0].step != s->dump[s->ndump - 1].step;
}

int open_diff_table(struct diff_table *d, struct comparison *c, struct rank_sums *sums,
	enum compare_mode mode, bool stacks, bool run)
{
	*d = (struct diff_table){
		.c = c, .sums = sums, .mode = mode, .stacks = stacks || c->merge, .run = run};
	if (!c->out)
		return 0;
	if (c->merge) {
		if (c->merged_open)
			return 0;
		c->merged_path = format_table_path(c, NULL, false);
		if (target_open(&c->merged, c->merged_path))
			return STATUS_USAGE;
		c->merged_open = true;
		write_table_header(&c->merged, d);
		return 0;
	}
	sums->table = format_table_path(c, sums, has_many_steps(&c->a));
	if (target_open(&d->t, sums->table))
		return STATUS_USAGE;
	d->open = true;
	write_table_header(&d->t, d);
	return 0;
}

int close_diff_table(struct diff_table *d, bool keep)
{
	int status = d->open ? target_close(&d->t, keep) : 0;

	free(d->row);
	free(d->taken);
	pool_free(&d->pool);
	*d = (struct diff_table){0};
	return status;
}

/* ---- the first difference ---- */

static char *format_item_name(const struct item *i)
{
	const char *tail = i->tail ? i->tail : "", *word = strrchr(tail, '.');

	tail += *tail == '.';
	word = strchr(tail, '.');
	if (!*tail)
		return tool_strdup("value");
	if (!word)
		return tool_strdup(tail);
	return tool_format(
		"%s%.*s %s", "", (int)(i->state == ITEM_PARAM ? 9 : word - tail), tail, word + 1);
}

static bool is_same_cell(const struct cell *a, const struct cell *b)
{
	return strcmp(a->text, b->text) == 0 ||
	       (a->kind == CELL_NUMBER && b->kind == CELL_NUMBER && a->v == b->v);
}

static char *format_row_difference(const struct row *r)
{
	static const char *const name[STATS_COUNT] = {"max", "min", "mean", "norm"};

	if (!r->b)
		return tool_strdup("B has nothing to compare it with");
	if (strcmp(r->a->dtype ? r->a->dtype : "", r->b->dtype ? r->b->dtype : "") != 0)
		return tool_format("type %s, in B %s", r->a->dtype, r->b->dtype);
	if (strcmp(r->a->shape ? r->a->shape : "", r->b->shape ? r->b->shape : "") != 0)
		return tool_format("shape %s, in B %s", r->a->shape, r->b->shape);
	if (r->a->crc && r->b->crc && strcmp(r->a->crc, r->b->crc) != 0 && !r->diff[0])
		return tool_format("checksum %s, in B %s", r->a->crc, r->b->crc);
	if (r->a->counted && r->b->counted && r->a->nans != r->b->nans)
		return tool_format("%s NaN, in B %s", out_format_count(r->a->nans),
			out_format_count(r->b->nans));
	if (r->a->counted && r->b->counted && r->a->infs != r->b->infs)
		return tool_format("%s Inf, in B %s", out_format_count(r->a->infs),
			out_format_count(r->b->infs));
	/* The norm comes first, because it says most about the whole tensor. */
	for (unsigned k = 0; k < STATS_COUNT; k++) {
		unsigned s = (k + STAT_NORM) % STATS_COUNT;

		if (!r->diff[s] || is_same_cell(&r->a->stat[s], &r->b->stat[s]))
			continue;
		if (r->a->scalar)
			return tool_format("%s, in B %s", r->a->stat[s].text, r->b->stat[s].text);
		char *end;
		double percent = strtod(r->relative[s], &end);

		if (*end == '%')
			return tool_format("%s %s, in B %s: differs by %.3g %%", name[s],
				r->a->stat[s].text, r->b->stat[s].text, percent);
		return tool_format(
			"%s %s, in B %s", name[s], r->a->stat[s].text, r->b->stat[s].text);
	}
	return tool_strdup("the elements differ");
}

static bool is_later_diff(const struct first_diff *f, const struct rank_sums *s,
	const struct entry *a, uint64_t order)
{
	int64_t step = s->step >= 0 ? s->step : a->step;

	return f->any && (f->step < step || (f->step == step && f->order <= order));
}

static struct first_diff init_first_diff(const struct diff_table *d, const struct entry *a,
	const struct entry *b, const struct row *r, bool in_b)
{
	return (struct first_diff){.any = true,
		.step = d->sums->step >= 0 ? d->sums->step : a->step,
		.rank = d->sums->rank,
		.order = a->start_ns ? a->start_ns : a->number,
		.of_output = r && r->a->state == ITEM_OUTPUT,
		.name = tool_strdup(in_b ? "(none)" : a->name),
		.other = in_b ? tool_strdup(a->name)
			 : b  ? tool_strdup(b->name)
			      : NULL,
		.what = r ? format_item_name(r->a) : tool_strdup("the whole call"),
		.values = r ? format_row_difference(r)
			    : tool_strdup(in_b ? "only B has this call" : "only A has this call"),
		.line = a->line ? tool_strdup(a->line) : NULL,
		.param = r && r->a->param ? tool_strdup(r->a->param) : NULL,
		.comm = a->comm ? tool_strdup(a->comm) : NULL,
		.comm_seq = a->comm_seq,
		.verdict = r ? r->verdict : VERDICT_WARNING};
}

static void record_first_diff(struct diff_table *d, struct first_diff *f, const struct entry *a,
	const struct entry *b, const struct row *r, bool in_b)
{
	if (is_later_diff(f, d->sums, a, a->start_ns ? a->start_ns : a->number))
		return;
	free_first_diff(f);
	*f = init_first_diff(d, a, b, r, in_b);
}

/*
 * Records that an input of a collective differs on one rank. It changes the result on all ranks, also
 * on ranks whose own inputs are equal.
 */
static void record_odd_input(
	struct diff_table *d, const struct entry *a, const struct entry *b, const struct row *r)
{
	struct odd_input *o;

	if (!d->run || !a->comm || a->comm_seq < 0)
		return;
	o = get_odd_input(d->c, a->comm, a->comm_seq);
	if (o && !o->first.any)
		o->first = init_first_diff(d, a, b, r, false);
}

/*
 * Records a call whose outputs differ and whose inputs are equal, as far as the data of this rank
 * shows.
 */
static void record_origin(
	struct diff_table *d, const struct entry *a, const struct entry *b, const struct row *r)
{
	struct rank_sums *s = d->sums;

	if (s->norigin < ORIGINS_KEPT)
		s->origin[s->norigin++] = init_first_diff(d, a, b, r, false);
}

void free_first_diff(struct first_diff *f)
{
	free(f->name);
	free(f->other);
	free(f->what);
	free(f->values);
	free(f->line);
	free(f->param);
	free(f->comm);
	*f = (struct first_diff){0};
}

/* ---- calls ---- */

static bool has_other_finiteness(const struct row *r)
{
	for (unsigned s = 0; s < STATS_COUNT; s++) {
		const struct cell *a = &r->a->stat[s], *b = &r->b->stat[s];

		if ((a->kind == CELL_NUMBER && b->kind > CELL_NUMBER &&
			    b->kind <= CELL_MINUS_INF) ||
			(b->kind == CELL_NUMBER && a->kind > CELL_NUMBER &&
				a->kind <= CELL_MINUS_INF))
			return true;
	}
	return false;
}

/*
 * Returns true for memory that may never have been written, such as Torch.empty.0.forward.output.0:
 * its contents have no meaning in either run.
 */
static bool is_unwritten_row(const struct row *r)
{
	static const char prefixes[][8] = {"Torch.", "Tensor.", "Aten."};
	const char *name = r->a->name, *at = NULL;
	char function[64];
	bool out = r->a->state == ITEM_OUTPUT;

	for (unsigned i = 0; i < 3 && !at; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			at = name + strlen(prefixes[i]);
	if (!at || strcspn(at, ".") >= sizeof(function))
		return false;
	snprintf(function, sizeof(function), "%.*s", (int)strcspn(at, "."), at);
	at = strstr(at, out ? ".output." : ".input.");
	return is_possibly_unwritten(
		function, out, at ? strtol(strchr(at + 1, '.') + 1, NULL, 10) : -1);
}

static void update_row_counts(
	struct diff_table *d, const struct entry *a, const struct entry *b, unsigned n)
{
	const struct row *differs = NULL, *output = NULL, *input = NULL, *blamed = NULL;
	enum verdict worst = VERDICT_PASS;

	for (unsigned i = 0; i < n; i++) {
		const struct row *r = &d->row[i];
		bool out = r->a->state == ITEM_OUTPUT;

		/* The random contents of unwritten memory are not an error of the call. */
		if (r->differs && r->b && is_unwritten_row(r)) {
			d->sums->unwritten++;
			continue;
		}
		d->sums->not_finite += r->b && has_other_finiteness(r);
		d->sums->unrecorded_values += r->unrecorded;
		if (r->verdict > worst) {
			worst = r->verdict;
			blamed = r;
		}
		if (!r->differs)
			continue;
		d->sums->differing++;
		if (!differs)
			differs = r;
		if (out && !output)
			output = r;
		if (!out && !input)
			input = r;
	}
	d->sums->rows += n;
	if (b)
		d->sums->calls[worst]++;
	if (differs)
		record_first_diff(d, &d->sums->first, a, b, b ? differs : NULL, false);
	if (input)
		record_odd_input(d, a, b, b ? input : NULL);
	if (output && !input && b)
		record_origin(d, a, b, output);
	if (blamed && b)
		record_first_diff(d, &d->sums->blamed, a, b, blamed, false);
}

void add_item_pairs(struct diff_table *d, const struct entry *a, const struct item *const *partner,
	const struct entry *b, const char *dir_a, const char *dir_b)
{
	unsigned n = a->n;

	while (d->cap < n)
		TOOL_GROW(d->row, d->cap, d->cap);
	pool_reset(&d->pool);
	d->sums->calls_a++;
	if (b)
		d->sums->paired++;
	else
		d->sums->only_a++;
	for (unsigned i = 0; i < n; i++) {
		struct row *r = &d->row[i];
		const struct item *y = partner ? partner[i] : NULL;

		*r = (struct row){.a = &a->item[i]};
		if (y && (d->c->mapping || is_dtype_comparable(r->a, y)))
			r->b = y;
		compute_row_differences(r, d->mode, &d->pool);
		if (d->mode == COMPARE_TENSOR)
			compute_row_metrics(r, dir_a, dir_b, d->c->exact, &d->pool);
		if (d->mode == COMPARE_TENSOR && d->c->metric)
			measure_row_pair(r, d->c->metric, dir_a, dir_b, &d->pool);
	}
	check_call_rows(d->row, n, d->mode, d->c->exact);
	if (d->open || d->c->merged_open)
		for (unsigned i = 0; i < n; i++)
			write_diff_row(d, &d->row[i], a, b, i == 0);
	update_row_counts(d, a, b, n);
	if (!b && !n)
		record_first_diff(d, &d->sums->first, a, NULL, NULL, false);
}

void add_call_pair(struct diff_table *d, const struct entry *a, const struct entry *b,
	const char *dir_a, const char *dir_b)
{
	const struct item **partner = NULL;

	if (b) {
		while (d->cap_taken < b->n)
			TOOL_GROW(d->taken, d->cap_taken, d->cap_taken);
		if (b->n)
			memset(d->taken, 0, b->n * sizeof(*d->taken));
		partner = tool_alloc((a->n + 1) * sizeof(*partner));
		for (unsigned i = 0; i < a->n; i++) {
			unsigned k = find_entry_item(b, a->item[i].tail, d->taken);

			if (k == UINT32_MAX)
				continue;
			d->taken[k] = true;
			partner[i] = &b->item[k];
		}
	}
	add_item_pairs(d, a, partner, b, dir_a, dir_b);
	free(partner);
}

void add_call_without_partner(struct diff_table *d, const struct entry *b)
{
	d->sums->only_b++;
	record_first_diff(d, &d->sums->first, b, NULL, NULL, true);
}
