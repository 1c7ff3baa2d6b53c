/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/training/odd_losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/scalar_rows.h"

#define LOSSES_MAX (1u << 22) /* maximum number of losses that are read */
#define STEPS_MIN 5
#define AROUND 2 /* number of steps before, and after */

struct rank_loss {
	uint32_t name, rank;
	uint64_t step;
	double value;
	double distance, relative;
};

struct loss_list {
	struct rank_loss *at;
	unsigned n, cap;
};

struct loss_reading {
	struct loss_list *list;
	uint32_t rank;
};

static bool is_loss_name(const struct csv_text *t)
{
	static const char micro[] = "micro-loss/";

	return (t->n == 4 && memcmp(t->s, "loss", 4) == 0) ||
	       (t->n >= sizeof(micro) && memcmp(t->s, micro, sizeof(micro) - 1) == 0);
}

static void add_loss(
	void *arg, uint64_t step, const struct csv_text *text, double v, uint64_t wall_ns)
{
	struct loss_reading *r = arg;
	struct loss_list *l = r->list;

	(void)wall_ns;
	if (!is_loss_name(text) || !isfinite(v) || l->n == LOSSES_MAX)
		return;
	TOOL_GROW(l->at, l->n, l->cap);
	l->at[l->n++] = (struct rank_loss){.name = intern_add_text(text->s, text->n),
		.rank = r->rank,
		.step = step,
		.value = v};
}

static int compare_losses(const void *a, const void *b)
{
	const struct rank_loss *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int compare_distances(const void *a, const void *b)
{
	const struct rank_loss *x = *(const struct rank_loss *const *)a,
			       *y = *(const struct rank_loss *const *)b;

	return x->distance > y->distance ? -1 : x->distance < y->distance;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double compute_loss_median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The losses of one scalar in one step. */
struct loss_step {
	struct rank_loss *at;
	unsigned n;
	double median;
};

/* Returns the median of a step without the rank's own loss. room: memory for all losses. */
static double compute_others_median(
	const struct loss_step *s, const struct rank_loss *but, double *space)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n; i++)
		if (&s->at[i] != but)
			space[n++] = s->at[i].value;
	return compute_loss_median(space, n);
}

/* Returns the median of the steps around step i of n. */
static double compute_median_around(const struct loss_step *step, unsigned n, unsigned i)
{
	double v[2 * AROUND];
	unsigned k = 0;

	for (unsigned d = 1; d <= AROUND; d++) {
		if (i >= d)
			v[k++] = step[i - d].median;
		if (i + d < n)
			v[k++] = step[i + d].median;
	}
	return compute_loss_median(v, k);
}

static void measure_distances(struct loss_step *step, unsigned n, double *space)
{
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < step[i].n; k++)
			space[k] = step[i].at[k].value;
		step[i].median = compute_loss_median(space, step[i].n);
	}
	for (unsigned i = 0; i < n; i++) {
		double around = compute_median_around(step, n, i);

		for (unsigned k = 0; k < step[i].n; k++) {
			struct rank_loss *l = &step[i].at[k];
			double others = compute_others_median(&step[i], l, space);
			double size = fmax(fmax(fabs(others), fabs(around)), 1e-300);

			l->distance = fmin(fabs(l->value - others), fabs(l->value - around));
			l->relative = l->distance / size;
		}
	}
}

/* Returns how many of the losses are odd. by: sorted, the most distant first. */
static unsigned compute_odd_count(struct rank_loss *const *by, unsigned n)
{
	double least = INFINITY, most = 0;
	unsigned k = 1;

	while (k <= ODD_MAX && k < n &&
		(by[k]->distance * ODD_FACTOR > by[k - 1]->distance || !by[k - 1]->distance))
		k++;
	if (k > ODD_MAX || k >= n || n - k < ODD_OTHERS_MIN)
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (i < k)
			least = fmin(least, by[i]->relative);
		else
			most = fmax(most, by[i]->relative);
	return least >= 1 - 1e-9 && least >= ODD_FACTOR * most ? k : 0;
}

static bool has_odd_micro(const struct odd_losses *l, const struct rank_loss *v)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->item[i].step == v->step && l->item[i].rank == v->rank &&
			l->item[i].name != v->name)
			return true;
	return false;
}

static void check_losses(struct odd_losses *out, struct rank_loss *at, unsigned n, unsigned nrank)
{
	struct loss_step *step = tool_alloc(n * sizeof(*step));
	double *space = tool_alloc(nrank * sizeof(*space));
	struct rank_loss **by = tool_alloc(n * sizeof(*by));
	unsigned nstep = 0, nby = 0, odd = 0;

	for (unsigned i = 0, k; i < n; i = k) {
		for (k = i; k < n && at[k].step == at[i].step;)
			k++;
		if (k - i < 2 || k - i > nrank)
			continue; /* no other rank has the scalar */
		step[nstep++] = (struct loss_step){.at = &at[i], .n = k - i};
		for (unsigned j = i; j < k; j++)
			by[nby++] = &at[j];
	}
	if (nstep >= STEPS_MIN) {
		measure_distances(step, nstep, space);
		qsort(by, nby, sizeof(struct rank_loss *), compare_distances);
		odd = compute_odd_count(by, nby);
	}
	for (unsigned i = 0; i < odd; i++) {
		struct odd_loss o = {.name = by[i]->name,
			.step = by[i]->step,
			.rank = by[i]->rank,
			.value = by[i]->value,
			.compared = nby - odd,
			.farthest = by[odd]->distance};

		if (has_odd_micro(out, by[i]))
			continue;
		for (unsigned k = 0; k < nstep; k++)
			if (step[k].at[0].step == o.step) {
				o.nothers = step[k].n - 1;
				o.others = compute_others_median(&step[k], by[i], space);
			}
		TOOL_GROW(out->item, out->n, out->cap);
		out->item[out->n++] = o;
	}
	free(step);
	free(space);
	free(by);
}

void read_odd_losses(struct odd_losses *l, const struct gather *g, uint64_t lo, uint64_t hi)
{
	uint32_t whole = intern_add_text("loss", 4);
	struct loss_list list = {0};
	struct loss_reading r = {.list = &list};

	*l = (struct odd_losses){0};
	if (g->folders.n < 2)
		return;
	for (r.rank = 0; r.rank < g->folders.n; r.rank++)
		read_scalar_rows(g->folders.dir[r.rank].path, &g->rank[r.rank].overlay, lo, hi,
			add_loss, &r);
	if (list.n)
		qsort(list.at, list.n, sizeof(*list.at), compare_losses);
	/* Micro steps first, because they describe the same fault more exactly. */
	for (int micro = 1; micro >= 0; micro--)
		for (unsigned i = 0, k; i < list.n; i = k) {
			for (k = i; k < list.n && list.at[k].name == list.at[i].name;)
				k++;
			if ((list.at[i].name != whole) == micro)
				check_losses(l, &list.at[i], k - i, g->folders.n);
		}
	free(list.at);
}

void free_odd_losses(struct odd_losses *l)
{
	free(l->item);
	*l = (struct odd_losses){0};
}
