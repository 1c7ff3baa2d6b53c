/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/training/unequal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/scalar_rows.h"

#define NUMBERS_MAX_KEPT (1u << 20)
/* in steps: a difference in one step may only mean that a rank read the number a moment later */
#define DIFFERENT_MIN 2

/* The ranks that must agree on a scalar. */
enum agreement {
	AGREE_TRAINING, /* all ranks that exchange activations, gradients or parameters */
	AGREE_REPLICAS, /* ranks whose gradients are reduced together */
};

static const struct {
	const char *name; /* the name of the scalar, or the part of its name before a slash */
	enum agreement agreement;
	double same; /* relative difference that is still rounding */
	const char *meaning;
} numbers[] = {
	{"loss-scale", AGREE_TRAINING, 1e-9,
		"one of them skips optimizer steps that the other makes"},
	{"learning-rate", AGREE_REPLICAS, 1e-6,
		"they compute different steps from the same gradients"},
	/* The root of a sum over many elements, which each rank may add in another order. */
	{"grad-norm", AGREE_REPLICAS, 1e-3,
		"each clips by the norm of its own part, and not by that of all gradients"},
};

struct number_value {
	struct table_key key; /* a: name and rank; b: step */
	double value;
};

struct number_reading {
	const struct gather *g;
	struct table *values;
	const struct meta *meta;
	uint32_t rank;
	uint32_t **name;
	unsigned *nname, *cap_name;
	uint64_t **step;
	unsigned *nstep, *cap_step;
};

static int find_agreed_number(const char *name)
{
	size_t n = strcspn(name, "/");

	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strlen(numbers[i].name) == n && memcmp(numbers[i].name, name, n) == 0)
			return (int)i;
	return -1;
}

static bool is_derived_scalar(const struct meta *m, const char *name)
{
	char *word = tool_format(" %.*s ", (int)strcspn(name, "/"), name);
	bool found = m->derived && strstr(m->derived, word);

	free(word);
	return found;
}

static uint64_t number_key(uint32_t name, uint32_t rank)
{
	return (uint64_t)name << 32 | rank;
}

static void add_number_of_step(
	void *arg, uint64_t step, const struct csv_text *text, double v, uint64_t wall_ns)
{
	struct number_reading *r = arg;
	uint32_t name = intern_add_text(text->s, text->n);
	struct number_value *k;
	unsigned at = *r->nstep, i = 0;

	(void)wall_ns;
	if (find_agreed_number(intern_get_name(name)) < 0 || !isfinite(v) ||
		is_derived_scalar(r->meta, intern_get_name(name)))
		return;
	k = table_get(r->values, number_key(name, r->rank), step);
	if (!k)
		return;
	k->value = v;
	while (i < *r->nname && (*r->name)[i] != name)
		i++;
	if (i == *r->nname) {
		TOOL_GROW(*r->name, *r->nname, *r->cap_name);
		(*r->name)[(*r->nname)++] = name;
	}
	while (at && (*r->step)[at - 1] > step)
		at--;
	if (at && (*r->step)[at - 1] == step)
		return;
	TOOL_GROW(*r->step, *r->nstep, *r->cap_step);
	memmove(*r->step + at + 1, *r->step + at, (*r->nstep - at) * sizeof(**r->step));
	(*r->step)[at] = step;
	++*r->nstep;
}

/* ---- which ranks must agree ---- */

static uint32_t find_first(uint32_t *first, uint32_t i)
{
	while (first[i] != i)
		i = first[i] = first[first[i]];
	return i;
}

static void join_ranks(uint32_t *first, uint32_t a, uint32_t b)
{
	a = find_first(first, a);
	b = find_first(first, b);
	first[a > b ? a : b] = a < b ? a : b;
}

/* first[i]: the first rank with which rank i must agree. */
static void join_agreeing(const struct gather *g, const struct parameters *p,
	enum agreement agreement, uint32_t *first)
{
	for (uint32_t i = 0; i < g->folders.n; i++)
		first[i] = i;
	for (uint32_t i = 0; i < g->comms.table.n; i++) {
		const struct comm_info *c = table_at(&g->comms.table, i);
		const char *role = intern_get_name(c->role);
		int one = -1;

		if (!*role || (agreement == AGREE_REPLICAS && strcmp(role, "data") != 0))
			continue;
		for (unsigned k = 0; k < c->nmember; k++) {
			int at = gather_index(g, c->member[k]);

			if (at >= 0 && one >= 0)
				join_ranks(first, (uint32_t)one, (uint32_t)at);
			one = at >= 0 ? at : one;
		}
	}
	for (uint32_t i = 1; i < g->folders.n; i++)
		for (uint32_t k = 0; p->together && k < i; k++)
			if (have_common_parameter(p, k, i))
				join_ranks(first, k, i);
}

/* ---- judging ---- */

struct spread {
	unsigned n;
	double least, most;
	uint32_t lowest, highest;
};

static struct spread measure_spread(
	const struct table *values, uint32_t name, uint64_t step, const uint32_t *rank, unsigned n)
{
	struct spread s = {0};

	for (unsigned i = 0; i < n; i++) {
		const struct number_value *v = table_find(values, number_key(name, rank[i]), step);

		if (!v)
			continue;
		if (!s.n || v->value < s.least) {
			s.least = v->value;
			s.lowest = rank[i];
		}
		if (!s.n || v->value > s.most) {
			s.most = v->value;
			s.highest = rank[i];
		}
		s.n++;
	}
	return s;
}

static void check_number(struct unequals *u, const struct number_reading *r, uint32_t name,
	const uint32_t *rank, unsigned n)
{
	double same = numbers[find_agreed_number(intern_get_name(name))].same;
	struct unequal k = {.name = name,
		.meaning = numbers[find_agreed_number(intern_get_name(name))].meaning};
	unsigned different = 0, since = 0;
	uint64_t apart = find_first_step_apart(&r->g->diagnose, r->g->folders.dir, rank, n);

	for (unsigned i = 0; i < *r->nstep && (*r->step)[i] < apart; i++) {
		struct spread s = measure_spread(r->values, name, (*r->step)[i], rank, n);

		if (s.n < n)
			continue;
		k.last_step = (*r->step)[i];
		if (s.most - s.least <= same * fmax(fabs(s.most), fabs(s.least))) {
			k.equal_steps += !different;
			since += different > 0;
			continue;
		}
		if (!different++) {
			k.step = (*r->step)[i];
			k.least = s.least;
			k.most = s.most;
			k.lowest = s.lowest;
			k.highest = s.highest;
		}
	}
	if (different < DIFFERENT_MIN || different <= since)
		return;
	k.n = n;
	k.rank = tool_alloc(n * sizeof(*k.rank));
	memcpy(k.rank, rank, n * sizeof(*k.rank));
	TOOL_GROW(u->item, u->n, u->cap);
	u->item[u->n++] = k;
}

static void check_agreement(struct unequals *u, const struct number_reading *r,
	const struct gather *g, const struct parameters *p, enum agreement agreement)
{
	uint32_t *first = tool_alloc(g->folders.n * sizeof(*first));
	uint32_t *rank = tool_alloc(g->folders.n * sizeof(*rank));

	join_agreeing(g, p, agreement, first);
	for (uint32_t i = 0; i < g->folders.n; i++) {
		unsigned n = 0;

		for (uint32_t k = i; k < g->folders.n; k++)
			if (find_first(first, k) == i)
				rank[n++] = k;
		for (unsigned k = 0; n > 1 && k < *r->nname; k++)
			if (numbers[find_agreed_number(intern_get_name((*r->name)[k]))].agreement ==
				agreement)
				check_number(u, r, (*r->name)[k], rank, n);
	}
	free(first);
	free(rank);
}

static void record_falls(struct unequals *u, const struct number_reading *r, uint32_t nrank)
{
	uint32_t name = intern_add_text("loss-scale", strlen("loss-scale"));

	double finite = 0; /* the largest scale of a step after which it did not fall */

	for (unsigned i = 0; i + 1 < *r->nstep; i++) {
		uint64_t step = (*r->step)[i];
		double largest = 0;
		bool fell = false;

		for (uint32_t k = 0; k < nrank; k++) {
			const struct number_value *a =
				table_find(r->values, number_key(name, k), step);
			const struct number_value *b =
				table_find(r->values, number_key(name, k), (*r->step)[i + 1]);

			if (!a || !b)
				continue;
			fell |= b->value < a->value;
			largest = a->value > largest ? a->value : largest;
		}
		if (fell) {
			TOOL_GROW(u->fall, u->nfall, u->cap_fall);
			u->fall[u->nfall++] = (struct scale_fall){step, largest <= finite};
		} else if (largest > finite) {
			finite = largest;
		}
	}
}

void unequals_read(struct unequals *u, const struct gather *g, const struct parameters *p,
	uint64_t lo, uint64_t hi)
{
	struct table values;
	uint32_t *name = NULL;
	uint64_t *step = NULL;
	unsigned nname = 0, cap_name = 0, nstep = 0, cap_step = 0;
	struct number_reading r = {.g = g,
		.values = &values,
		.name = &name,
		.nname = &nname,
		.cap_name = &cap_name,
		.step = &step,
		.nstep = &nstep,
		.cap_step = &cap_step};

	*u = (struct unequals){0};
	if (g->folders.n < 2)
		return;
	table_init(&values, sizeof(struct number_value), NUMBERS_MAX_KEPT);
	for (r.rank = 0; r.rank < g->folders.n; r.rank++) {
		uint32_t before = values.n;

		r.meta = &g->folders.dir[r.rank].meta;
		read_scalar_rows(g->folders.dir[r.rank].path, &g->rank[r.rank].overlay, lo, hi,
			add_number_of_step, &r);
		u->ranks_with += values.n > before;
	}
	record_falls(u, &r, g->folders.n);
	if (nname) {
		check_agreement(u, &r, g, p, AGREE_TRAINING);
		check_agreement(u, &r, g, p, AGREE_REPLICAS);
	}
	table_free(&values);
	free(name);
	free(step);
}

void unequals_free(struct unequals *u)
{
	for (unsigned i = 0; i < u->n; i++)
		free(u->item[i].rank);
	free(u->item);
	free(u->fall);
	*u = (struct unequals){0};
}
