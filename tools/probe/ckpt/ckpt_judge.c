/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a checkpoint by the last step before its creation, as MindSpore Transformers does: by the
 * sum of squares of the embedding's gradient before reduction on each rank (statistics
 * grad_unreduced). Also by the alerts since the previous checkpoint.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/embedding.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/tool.h"
#include "tools/probe/ckpt/ckpt.h"
#include "tools/probe/model/read/alert_lines.h"
#include "tools/probe/model/read/meta_config.h"

#define CLOCK_NS UINT64_C(10000000) /* ns: the time of a file is that of the kernel's last tick */
#define CANDIDATES_SHOWN 8

/* The records of one rank. */
struct rank_health {
	int rank;
	struct step_end {
		uint64_t step, ns;
	} * end; /* ends of the steps */
	unsigned nend, cap_end;
	struct step_value {
		uint64_t step;
		double square;
		bool bad; /* contains a NaN or an Inf */
	} * value; /* values of the embedding */
	unsigned nvalue, cap_value;
	struct alert_span {
		uint64_t first, last, count;
		char *text;
	} * alert;
	unsigned nalert, cap_alert;
	struct step_value *scalar; /* the same from the job's own scalar embedding_local_norm */
	unsigned nscalar, cap_scalar;
	bool l2; /* `scalar` is a norm, not a sum of squares */
};

struct judging {
	const struct ckpt_rule *rule;
	/* Names of recorded gradients that do not belong to an embedding. */
	char *candidate[CANDIDATES_SHOWN];
	unsigned ncandidate, embeddings;
};

static void read_csv_rows(const char *folder, const char *head, void *arg,
	void (*row)(void *arg, struct csv *c, const int *column), const char *const *names,
	unsigned n)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int column[8];

	while (d && (e = readdir(d))) {
		char *path;
		struct csv c;

		if (strncmp(e->d_name, head, strlen(head)) ||
			!strstr(e->d_name + strlen(head), ".csv"))
			continue;
		path = tool_format("%s/%s", folder, e->d_name);
		if (csv_open(&c, path, UINT64_MAX, false, 1 << 16) == 0) {
			for (unsigned i = 0; i < n; i++)
				column[i] = csv_find_column(&c, names[i]);
			while (csv_read_row(&c))
				row(arg, &c, column);
		}
		csv_close(&c);
		free(path);
	}
	if (d)
		closedir(d);
}

static void record_embedding_scalar(
	struct rank_health *h, uint64_t step, const struct csv_text *value)
{
	double v = NAN;

	csv_parse_double(value, &v);
	TOOL_GROW(h->scalar, h->nscalar, h->cap_scalar);
	h->scalar[h->nscalar++] = (struct step_value){step, h->l2 ? v * v : v, !isfinite(v)};
}

/* Returns true if the job's configuration asks for the l2 norm. */
static bool is_l2_configured(const struct rank_dir *dir)
{
	char *json = meta_read_config(dir->path);
	bool l2 = json && strstr(json, "\"health_norm\": \"l2\"");

	free(json);
	return l2;
}

/* Uses the job's scalar instead of gradients, if none were recorded and the user named no parameter. */
static void copy_embedding_scalars(struct judging *j, struct rank_health *h)
{
	if (h->nvalue || j->rule->named || j->rule->elements || !h->nscalar)
		return;
	free(h->value);
	h->value = h->scalar;
	h->nvalue = h->nscalar;
	h->scalar = NULL;
	j->embeddings++;
}

static void record_step_end(void *arg, struct csv *c, const int *column)
{
	struct rank_health *h = arg;
	uint64_t step, ns;

	if (!csv_parse_u64(csv_get_field(c, column[0]), &step) ||
		!csv_parse_u64(csv_get_field(c, column[1]), &ns))
		return;
	if (csv_is(csv_get_field(c, column[2]), "embedding_local_norm"))
		record_embedding_scalar(h, step, csv_get_field(c, column[3]));
	/* If a step has several scalars, its end is the time of the last one. */
	if (h->nend && h->end[h->nend - 1].step == step) {
		if (ns > h->end[h->nend - 1].ns)
			h->end[h->nend - 1].ns = ns;
		return;
	}
	TOOL_GROW(h->end, h->nend, h->cap_end);
	h->end[h->nend++] = (struct step_end){step, ns};
}

/* "[16, 8]" */
static uint64_t compute_element_count(const struct csv_text *shape)
{
	uint64_t n = 1, v = 0;
	bool digits = false;

	for (size_t i = 0; i < shape->n; i++) {
		char c = shape->s[i];

		if (c >= '0' && c <= '9') {
			v = v * 10 + (uint64_t)(c - '0');
			digits = true;
		} else if (digits) {
			n *= v;
			v = 0;
			digits = false;
		}
	}
	return digits ? n * v : n;
}

static bool is_embedding(const struct ckpt_rule *r, const char *name, const struct csv_text *shape)
{
	if (r->named)
		return regexec(&r->name, name, 0, NULL, 0) == 0;
	if (r->elements)
		return compute_element_count(shape) == r->elements;
	return is_embedding_name(name);
}

static void record_candidate(struct judging *j, const char *name)
{
	for (unsigned i = 0; i < j->ncandidate; i++)
		if (strcmp(j->candidate[i], name) == 0)
			return;
	if (j->ncandidate < CANDIDATES_SHOWN)
		j->candidate[j->ncandidate++] = tool_strdup(name);
}

struct taking {
	struct judging *j;
	struct rank_health *h;
	/* Name of the first embedding: only one is judged, as in MindSpore Transformers. */
	char *name;
};

static void record_gradient(void *arg, struct csv *c, const int *column)
{
	struct taking *t = arg;
	char *name = csv_copy_field(csv_get_field(c, column[1]));
	uint64_t step, nans = 0, infs = 0;
	double norm = NAN;
	struct rank_health *h = t->h;

	if (!is_embedding(t->j->rule, name, csv_get_field(c, column[5])) ||
		(t->name && strcmp(t->name, name))) {
		if (!t->name)
			record_candidate(t->j, name);
		free(name);
		return;
	}
	if (!t->name) {
		t->name = name;
		t->j->embeddings++;
	} else {
		free(name);
	}
	if (!csv_parse_u64(csv_get_field(c, column[0]), &step))
		return;
	csv_parse_double(csv_get_field(c, column[2]), &norm);
	csv_parse_u64(csv_get_field(c, column[3]), &nans);
	csv_parse_u64(csv_get_field(c, column[4]), &infs);
	TOOL_GROW(h->value, h->nvalue, h->cap_value);
	h->value[h->nvalue++] =
		(struct step_value){step, norm * norm, nans || infs || !isfinite(norm)};
}

static void add_alert_span(void *arg, const struct alert_line *a)
{
	struct rank_health *h = arg;

	TOOL_GROW(h->alert, h->nalert, h->cap_alert);
	h->alert[h->nalert++] =
		(struct alert_span){a->first_step, a->last_step, a->count, tool_strdup(a->text)};
}

static int compare_step_ends(const void *x, const void *y)
{
	const struct step_end *a = x, *b = y;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

static void read_rank_health(struct judging *j, struct rank_health *h, const struct rank_dir *dir)
{
	static const char *const ends[] = {"step", "wall_ns", "name", "value"}, *const values[] = {
											"step",
											"name",
											"norm",
											"nans",
											"infs",
											"shape"};
	struct taking t = {.j = j, .h = h};
	uint64_t damaged;

	*h = (struct rank_health){.rank = dir->rank, .l2 = is_l2_configured(dir)};
	read_csv_rows(dir->path, "scalars_", h, record_step_end, ends, 4);
	read_csv_rows(dir->path, "grad_unreduced_", &t, record_gradient, values, 6);
	copy_embedding_scalars(j, h);
	damaged = read_alert_lines(dir->path, add_alert_span, h);
	if (damaged)
		tool_warn("ckpt: %s/alerts.jsonl: %llu damaged lines were skipped", dir->path,
			(unsigned long long)damaged);
	if (h->nend)
		qsort(h->end, h->nend, sizeof(*h->end), compare_step_ends);
	free(t.name);
}

static void free_rank_health(struct rank_health *h)
{
	for (unsigned i = 0; i < h->nalert; i++)
		free(h->alert[i].text);
	free(h->alert);
	free(h->scalar);
	free(h->value);
	free(h->end);
}

/* Returns the last step that had ended at the time ns, or -1. */
static int64_t find_step_at(const struct rank_health *h, uint64_t ns)
{
	int64_t step = -1;

	for (unsigned i = 0; i < h->nend && h->end[i].ns <= ns + CLOCK_NS; i++)
		step = (int64_t)h->end[i].step;
	return step;
}

static void set_unhealthy(struct checkpoint *c, int rank, char *reason)
{
	if (c->healthy) {
		c->healthy = false;
		c->rank = rank;
		c->reason = reason;
	} else {
		free(reason);
	}
}

static void check_value(
	struct checkpoint *c, const struct rank_health *h, const struct ckpt_rule *r)
{
	const char *norm_name = r->l2 ? "norm" : "sum of squares";

	for (unsigned i = 0; i < h->nvalue; i++) {
		const struct step_value *v = &h->value[i];
		double x = r->l2 ? sqrt(v->square) : v->square;

		if ((int64_t)v->step != c->step)
			continue;
		c->judged = true;
		if (isnan(c->value) || x > c->value)
			c->value = x;
		if (v->bad)
			set_unhealthy(c, h->rank,
				tool_format("the embedding's gradient is not finite in step %llu",
					(unsigned long long)v->step));
		else if (x >= r->threshold)
			set_unhealthy(c, h->rank,
				tool_format("the embedding's gradient has a %s of %g in step %llu, "
					    "threshold %g",
					norm_name, x, (unsigned long long)v->step, r->threshold));
	}
}

/*
 * Judges by the alerts after the previous checkpoint, up to this one. If an alert fired before and
 * after, it is not known whether it also fired in between.
 */
static void check_alerts(struct checkpoint *c, const struct rank_health *h, int64_t before)
{
	for (unsigned i = 0; i < h->nalert; i++) {
		const struct alert_span *a = &h->alert[i];
		int64_t first = (int64_t)a->first, last = (int64_t)a->last;
		bool inside = (first > before && first <= c->step) ||
			      (last > before && last <= c->step) ||
			      (a->count > 2 && first <= before && last > c->step);

		c->judged = true;
		if (inside)
			set_unhealthy(c, h->rank, tool_format("alert: %s", a->text));
	}
}

static int print_no_embedding(const struct judging *j, const struct checkpoints *c)
{
	char *list = tool_strdup("");

	for (unsigned i = 0; i < c->n; i++)
		if (c->at[i].judged && !j->ncandidate) {
			free(list);
			return STATUS_DONE; /* judged by alerts alone */
		}
	for (unsigned i = 0; i < j->ncandidate; i++) {
		char *more = tool_format("%s%s%s", list, i ? ", " : "", j->candidate[i]);

		free(list);
		list = more;
	}
	if (j->ncandidate)
		tool_warn("ckpt: no recorded gradient belongs to an embedding; candidates: %s; "
			  "select one by "
			  "--embedding REGEX",
			list);
	else
		tool_warn("ckpt: no rank recorded gradients before they are reduced; record with "
			  "`kinds: [grad_unreduced]` and `scalars: [iteration-time]`");
	free(list);
	return STATUS_USAGE;
}

int checkpoints_check(struct checkpoints *c, const struct folders *f, const struct ckpt_rule *r)
{
	struct rank_health *h = tool_alloc((f->n + 1) * sizeof(*h));
	struct judging j = {.rule = r};
	int status = STATUS_DONE;
	bool ended = false;

	for (unsigned i = 0; i < f->n; i++) {
		read_rank_health(&j, &h[i], &f->dir[i]);
		ended |= h[i].nend > 0;
	}
	for (unsigned k = 0; k < c->n; k++) {
		struct checkpoint *at = &c->at[k];
		int64_t before = k ? c->at[k - 1].step : -1;

		at->healthy = true;
		at->value = NAN;
		for (unsigned i = 0; i < f->n; i++) {
			int64_t step = find_step_at(&h[i], at->begun_ns);

			at->step = step > at->step ? step : at->step;
		}
		for (unsigned i = 0; i < f->n && at->step >= 0; i++) {
			check_value(at, &h[i], r);
			check_alerts(at, &h[i], before);
		}
	}
	if (!ended) {
		tool_error(
			"ckpt: %s: no rank recorded the ends of its steps; record with `scalars: "
			"[iteration-time]`",
			f->path);
		status = STATUS_USAGE;
	} else if (!j.embeddings) {
		status = print_no_embedding(&j, c);
	}
	for (unsigned i = 0; i < f->n; i++)
		free_rank_health(&h[i]);
	for (unsigned i = 0; i < j.ncandidate; i++)
		free(j.candidate[i]);
	free(h);
	return status;
}
