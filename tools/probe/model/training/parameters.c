/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/training/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/training/copies.h"
#include "tools/probe/model/training/step_files.h"

#define VALUES_MAX (1u << 21) /* each is the value of a parameter on a rank in a step */
#define PARAMETERS_MAX (1u << 20)

static const char *const view_words[PARAM_VIEWS] = {
	[VIEW_BEFORE] = "param_origin",
	[VIEW_AFTER] = "param_updated",
	[VIEW_OWN_GRADIENT] = "grad_unreduced",
	[VIEW_GRADIENT] = "grad_reduced",
};

/* Columns of the files of parameter statistics, by their names. */
enum {
	AT_CHUNK,
	AT_NAME,
	AT_STEP,
	AT_MIN,
	AT_MAX,
	AT_MEAN,
	AT_NORM,
	AT_ZEROS,
	AT_NANS,
	AT_INFS,
	AT_SHAPE,
	AT_TYPE,
	AT_COLUMNS
};

struct view_reading {
	struct parameters *to;
	uint32_t rank;
	enum param_view view;
	uint64_t lo, hi;
};

static uint64_t hash_view_field(uint64_t h, const struct csv_text *t)
{
	for (size_t i = 0; i < t->n; i++)
		h = (h ^ (unsigned char)t->s[i]) * UINT64_C(0x100000001b3);
	return (h ^ ',') * UINT64_C(0x100000001b3);
}

/*
 * Finds the number of the parameter in the current row. Returns false if there are too many
 * parameters.
 */
static bool find_parameter(struct parameters *p, const struct csv *c, const int *col, uint32_t *n)
{
	uint64_t a = hash_view_field(hash_view_field(1, csv_get_field(c, col[AT_CHUNK])),
		csv_get_field(c, col[AT_NAME]));
	uint64_t b = hash_view_field(hash_view_field(1, csv_get_field(c, col[AT_SHAPE])),
		csv_get_field(c, col[AT_TYPE]));
	struct parameter *have = table_get(&p->list, a, b);

	if (!have)
		return false;
	if (!have->name) {
		have->number = p->list.n - 1;
		have->name = csv_copy_field(csv_get_field(c, col[AT_NAME]));
		have->shape = csv_copy_field(csv_get_field(c, col[AT_SHAPE]));
		have->type = csv_copy_field(csv_get_field(c, col[AT_TYPE]));
	}
	*n = have->number;
	return true;
}

static void add_view_step(struct parameters *p, uint64_t step)
{
	unsigned at = p->nstep;

	while (at && p->step[at - 1] > step)
		at--;
	if (at && p->step[at - 1] == step)
		return;
	TOOL_GROW(p->step, p->nstep, p->cap_step);
	memmove(p->step + at + 1, p->step + at, (p->nstep - at) * sizeof(*p->step));
	p->step[at] = step;
	p->nstep++;
}

/* Returns a hash of the statistics, or 0 if they cannot be compared: not measured, NaN or Inf. */
static uint64_t hash_statistics(const struct csv *c, const int *col)
{
	uint64_t h = 1;
	double v;

	for (int i = AT_MIN; i <= AT_INFS; i++) {
		const struct csv_text *t = csv_get_field(c, col[i]);

		if (col[i] < 0)
			continue;
		if (!csv_parse_double(t, &v) || !isfinite(v) ||
			((i == AT_NANS || i == AT_INFS) && v != 0))
			return 0;
		h = hash_view_field(h, t);
	}
	h = hash_view_field(h, csv_get_field(c, col[AT_SHAPE]));
	return h > DIGEST_ZEROS ? h : h + 2;
}

static double read_statistic(const struct csv *c, int column)
{
	double v;

	return csv_parse_double(csv_get_field(c, column), &v) ? v : NAN;
}

static void add_view_row(const struct view_reading *r, const struct csv *c, const int *col)
{
	struct parameters *p = r->to;
	struct param_value *v;
	uint64_t step;
	uint32_t n;
	double norm = read_statistic(c, col[AT_NORM]);

	if (!csv_parse_u64(csv_get_field(c, col[AT_STEP]), &step) || step < r->lo || step > r->hi ||
		!find_parameter(p, c, col, &n))
		return;
	v = table_get(&p->values, value_key(n, r->rank), step);
	if (!v) {
		p->full = true;
		return;
	}
	add_view_step(p, step);
	v->digest[r->view] = hash_statistics(c, col);
	if (r->view >= VIEW_OWN_GRADIENT) {
		/* Gradients of zeros are equal everywhere, which is no sign of a reduction. */
		if (norm == 0 && v->digest[r->view])
			v->digest[r->view] = DIGEST_ZEROS;
		if (r->view == VIEW_OWN_GRADIENT)
			v->zeros = (float)read_statistic(c, col[AT_ZEROS]);
		return;
	}
	v->least = read_statistic(c, col[AT_MIN]);
	v->most = read_statistic(c, col[AT_MAX]);
	v->norm = norm;
}

static bool has_view_columns(const struct csv *c, int *col)
{
	static const char *const names[AT_COLUMNS] = {"vpp_stage", "name", "step", "min", "max",
		"mean", "norm", "zeros", "nans", "infs", "shape", "dtype"};

	for (int i = 0; i < AT_COLUMNS; i++)
		col[i] = csv_find_column(c, names[i]);
	return col[AT_NAME] >= 0 && col[AT_STEP] >= 0 && col[AT_NORM] >= 0 && col[AT_MIN] >= 0 &&
	       col[AT_MAX] >= 0;
}

/* Reads the files of one value. Returns true if they exist. */
static bool read_view(const struct view_reading *r, const char *dir, const struct overlay *overlay)
{
	struct step_files files;
	bool any;

	step_files_list(&files, dir, overlay, view_words[r->view]);
	any = files.n > 0;
	for (unsigned i = 0; i < files.n && !r->to->full; i++) {
		const struct step_file *f = &files.file[i];
		int col[AT_COLUMNS];
		struct csv c;

		if (f->first > r->hi || f->last < r->lo)
			continue;
		if (!csv_open(&c, f->path, f->limit, false, 65536) && has_view_columns(&c, col))
			while (!r->to->full && csv_read_row(&c))
				add_view_row(r, &c, col);
		csv_close(&c);
	}
	step_files_free(&files);
	return any;
}

void parameters_read(struct parameters *p, const struct gather *g, uint64_t lo, uint64_t hi)
{
	*p = (struct parameters){.g = g, .nrank = g->folders.n};
	table_init(&p->values, sizeof(struct param_value), VALUES_MAX);
	table_init(&p->list, sizeof(struct parameter), PARAMETERS_MAX);
	for (uint32_t i = 0; i < g->folders.n; i++) {
		bool any = false;

		for (unsigned v = 0; v < PARAM_VIEWS; v++) {
			struct view_reading r = {p, i, (enum param_view)v, lo, hi};

			any |= read_view(&r, g->folders.dir[i].path, &g->rank[i].overlay);
		}
		p->ranks_with += any;
	}
	/* Otherwise half of the ranks would appear to have no values. */
	if (!p->full)
		judge_copies(p);
}

void parameters_free(struct parameters *p)
{
	for (uint32_t i = 0; i < p->list.n; i++) {
		struct parameter *k = table_at(&p->list, i);

		free(k->name);
		free(k->shape);
		free(k->type);
	}
	for (unsigned i = 0; i < p->ndiverged; i++) {
		free(p->diverged[i].rank);
		free(p->diverged[i].odd);
	}
	table_free(&p->values);
	table_free(&p->list);
	free(p->step);
	free(p->diverged);
	free(p->untied);
	free(p->together);
	*p = (struct parameters){0};
}

const struct parameter *parameter_at(const struct parameters *p, uint32_t i)
{
	return table_at(&p->list, i);
}

bool have_common_parameter(const struct parameters *p, uint32_t rank, uint32_t other)
{
	return p->together && p->together[(size_t)rank * p->nrank + other];
}
