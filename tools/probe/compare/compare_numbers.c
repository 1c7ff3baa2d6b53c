/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the scalars and parameter statistics of two runs. The first of each that differs is
 * reported.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/model/read/scalar_rows.h"
#include "tools/probe/model/training/step_files.h"

#define NUMBERS_KEPT (1u << 20) /* maximum number for one rank */
#define SAME_NUMBER 1e-6 /* relative tolerance, because other machines round differently */

/*
 * Settings of the program. If these differ, the two runs were not meant to be equal. The scalars that
 * are not listed here are results.
 */
static const char *const set_numbers[] = {"learning-rate", "loss-scale", "batch-size", NULL};
static const char *const computed_numbers[] = {"loss", "grad-norm", "device_local_norm",
	"weight_norm", "local_lm_loss", "device_accum_local_lm_loss", "embedding_local_norm", NULL};

struct kept_number {
	struct table_key key; /* a: name; b: step */
	double value;
};

struct number_side {
	struct table values;
	const struct ranges *steps;
};

static bool is_listed_number(const char *name, const char *const *list)
{
	size_t n = strcspn(name, "/");

	for (; *list; list++)
		if (strlen(*list) == n && memcmp(*list, name, n) == 0)
			return true;
	return false;
}

static void add_kept_number(
	void *arg, uint64_t step, const struct csv_text *text, double v, uint64_t wall_ns)
{
	struct number_side *s = arg;
	uint32_t name = intern_add_text(text->s, text->n);
	struct kept_number *k;

	(void)wall_ns;
	if (!ranges_has(s->steps, step) ||
		(!is_listed_number(intern_get_name(name), set_numbers) &&
			!is_listed_number(intern_get_name(name), computed_numbers)))
		return;
	k = table_get(&s->values, name, step);
	if (k)
		k->value = v;
}

static bool is_same_number(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	return a == b || fabs(a - b) <= SAME_NUMBER * fmax(fabs(a), fabs(b));
}

/* Records the difference if it is the earliest. Within one step, settings come first. */
static void record_first_number(
	struct comparison *c, uint32_t name, uint64_t step, int rank, double a, double b)
{
	struct first_number *f = &c->first_number;
	bool set = is_listed_number(intern_get_name(name), set_numbers);

	c->set_differs |= set;
	if (f->any && (f->step < step || (f->step == step && (f->set || !set))))
		return;
	*f = (struct first_number){.any = true,
		.set = set,
		.name = intern_get_name(name),
		.step = step,
		.rank = rank,
		.a = a,
		.b = b};
}

/* ---- parameter statistics ---- */

#define PARTS 4 /* min, max, mean, norm */

/* In the order in which a step computes them. */
static const char *const kind_words[] = {
	"param_origin", "grad_unreduced", "grad_reduced", "param_updated"};

struct kind_value {
	struct table_key key; /* a: statistic, model chunk and name; b: step */
	double part[PARTS];
};

struct kind_reading {
	struct comparison *c;
	struct table *values; /* values of A */
	bool of_b;
	unsigned kind;
	int rank;
};

static uint64_t compute_text_hash(uint64_t h, const struct csv_text *t)
{
	for (size_t i = 0; i < t->n; i++)
		h = hash_u64(h, (unsigned char)t->s[i]);
	return hash_u64(h, t->n);
}

/*
 * Records the difference if it is the earliest: by step, then by the order in which a step computes
 * the statistics.
 */
static void record_first_kind(const struct kind_reading *r, uint64_t step,
	const struct csv_text *name, const char *part, double a, double b)
{
	struct first_number *f = &r->c->first_kind;

	if (f->any && (f->step < step || (f->step == step && f->order <= r->kind)))
		return;
	free(r->c->kind_name);
	r->c->kind_name =
		tool_format("%.*s, %s, %s", (int)name->n, name->s, kind_words[r->kind], part);
	*f = (struct first_number){.any = true,
		.name = r->c->kind_name,
		.step = step,
		.order = r->kind,
		.rank = r->rank,
		.a = a,
		.b = b};
}

static void read_kind_row(const struct kind_reading *r, const struct csv *c, const int *col)
{
	static const char *const parts[PARTS] = {"min", "max", "mean", "norm"};
	double part[PARTS];
	struct kind_value *k;
	uint64_t step, key;

	if (!csv_parse_u64(csv_get_field(c, col[2]), &step) || !ranges_has(&r->c->steps, step))
		return;
	key = compute_text_hash(
		compute_text_hash(r->kind, csv_get_field(c, col[0])), csv_get_field(c, col[1]));
	for (unsigned i = 0; i < PARTS; i++)
		if (!csv_parse_double(csv_get_field(c, col[3 + i]), &part[i]))
			part[i] = NAN;
	k = r->of_b ? table_find(r->values, key, step) : table_get(r->values, key, step);
	if (!k)
		return;
	if (!r->of_b)
		memcpy(k->part, part, sizeof(part));
	r->c->numbers += r->of_b ? PARTS : 0;
	/* The norm comes first, because it says most about the whole tensor. */
	for (unsigned i = PARTS; r->of_b && i-- > 0;)
		if (!is_same_number(k->part[i], part[i])) {
			record_first_kind(
				r, step, csv_get_field(c, col[1]), parts[i], k->part[i], part[i]);
			return;
		}
}

static void read_kinds(struct kind_reading *r, const char *dir, const struct overlay *overlay)
{
	static const char *const names[] = {
		"vpp_stage", "name", "step", "min", "max", "mean", "norm"};

	for (r->kind = 0; r->kind < sizeof(kind_words) / sizeof(*kind_words); r->kind++) {
		struct step_files files;

		step_files_list(&files, dir, overlay, kind_words[r->kind]);
		for (unsigned i = 0; i < files.n; i++) {
			int col[sizeof(names) / sizeof(*names)];
			struct csv c;
			bool open = !csv_open(
				&c, files.file[i].path, files.file[i].limit, false, 65536);

			for (unsigned k = 0; open && k < sizeof(names) / sizeof(*names); k++)
				col[k] = csv_find_column(&c, names[k]);
			while (open && csv_read_row(&c))
				read_kind_row(r, &c, col);
			csv_close(&c);
		}
		step_files_free(&files);
	}
}

static void compare_kinds(struct comparison *c, const struct rank_dir *a, const struct overlay *oa,
	const struct rank_dir *b, const struct overlay *ob)
{
	struct table values;
	struct kind_reading r = {.c = c, .values = &values, .rank = a->rank};

	table_init(&values, sizeof(struct kind_value), NUMBERS_KEPT);
	read_kinds(&r, a->path, oa);
	r.of_b = true;
	if (values.n)
		read_kinds(&r, b->path, ob);
	table_free(&values);
}

void compare_numbers(struct comparison *c, const struct rank_dir *a, const struct overlay *oa,
	const struct rank_dir *b, const struct overlay *ob)
{
	struct number_side x = {.steps = &c->steps}, y = {.steps = &c->steps};

	table_init(&x.values, sizeof(struct kept_number), NUMBERS_KEPT);
	table_init(&y.values, sizeof(struct kept_number), NUMBERS_KEPT);
	read_scalar_rows(a->path, oa, 0, UINT64_MAX, add_kept_number, &x);
	read_scalar_rows(b->path, ob, 0, UINT64_MAX, add_kept_number, &y);
	for (uint32_t i = 0; i < x.values.n; i++) {
		const struct kept_number *k = table_at(&x.values, i);
		const struct kept_number *other = table_find(&y.values, k->key.a, k->key.b);

		c->numbers += other != NULL;
		if (other && !is_same_number(k->value, other->value))
			record_first_number(
				c, (uint32_t)k->key.a, k->key.b, a->rank, k->value, other->value);
	}
	table_free(&x.values);
	table_free(&y.values);
	compare_kinds(c, a, oa, b, ob);
}
