/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/training/copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

#define RANKS_TOGETHER_MAX 4096 /* maximum number of ranks for `together` */
/*
 * A 24-bit float that is a sum of many numbers is off by a few units in the last place, and this
 * accumulates over the steps. Smaller differences are rounding. Faults in the tests begin at 4e-6
 * of a float32 and grow.
 */
#define ROUNDING_UNITS 16
/*
 * Rows of an embedding that no token of a batch selects have a gradient of 0. A layer that
 * multiplies by the same matrix has hardly any zeros. If the shares of zeros differ by this much,
 * the copies are used differently.
 */
#define MORE_ZEROS 0.25F

/* The copies of one parameter in the step being examined. */
struct copies {
	const struct parameters *all;
	uint32_t parameter;
	unsigned nrank; /* number of ranks with a copy */
	uint32_t *rank;
	/* Values in the step, by index in rank[]; NULL: no value. */
	const struct param_value **value;
	unsigned *set; /* for each rank, the index of the first rank of its set */
	bool *reduced; /* by first rank of a set */
};

static void load_step(struct copies *c, uint64_t step)
{
	for (unsigned i = 0; i < c->nrank; i++)
		c->value[i] =
			table_find(&c->all->values, value_key(c->parameter, c->rank[i]), step);
}

static unsigned find_set(struct copies *c, unsigned i)
{
	while (c->set[i] != i)
		i = c->set[i] = c->set[c->set[i]];
	return i;
}

static void join_sets(struct copies *c, unsigned i, unsigned k, bool reduced)
{
	unsigned a = find_set(c, i), b = find_set(c, k), first = a < b ? a : b;
	bool any = c->reduced[a] || c->reduced[b] || reduced;

	c->set[a] = c->set[b] = first;
	c->reduced[first] = any;
}

struct digest_at {
	uint64_t digest;
	unsigned place;
};

static int compare_digests(const void *x, const void *y)
{
	const struct digest_at *a = x, *b = y;

	if (a->digest != b->digest)
		return a->digest < b->digest ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/*
 * Two ranks have equal gradients. Returns true if a reduction made them equal. For shards nothing
 * before the reduction is recorded.
 */
static bool is_made_by_reduction(const struct param_value *a, const struct param_value *b)
{
	uint64_t x = a->digest[VIEW_OWN_GRADIENT], y = b->digest[VIEW_OWN_GRADIENT];

	return x != y || !x;
}

/* Joins the ranks whose optimizer step got equal gradients. at: memory for one entry per rank. */
static void join_by_gradient(struct copies *c, struct digest_at *at)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->nrank; i++)
		if (c->value[i] && c->value[i]->digest[VIEW_GRADIENT] > DIGEST_ZEROS)
			at[n++] = (struct digest_at){c->value[i]->digest[VIEW_GRADIENT], i};
	qsort(at, n, sizeof(*at), compare_digests);
	for (unsigned i = 1; i < n; i++)
		if (at[i].digest == at[i - 1].digest)
			join_sets(c, at[i - 1].place, at[i].place,
				is_made_by_reduction(
					c->value[at[i - 1].place], c->value[at[i].place]));
}

/* ---- one set ---- */

struct set_state {
	unsigned present;
	bool whole; /* all ranks of the set have a value */
	bool equal[PARAM_VIEWS];
};

static struct set_state look_at_set(const struct copies *c, const unsigned *member, unsigned n)
{
	struct set_state s = {.whole = true};
	const struct param_value *first = NULL;

	for (unsigned v = 0; v < PARAM_VIEWS; v++)
		s.equal[v] = true;
	for (unsigned i = 0; i < n; i++) {
		const struct param_value *v = c->value[member[i]];

		s.whole &= v != NULL;
		if (!v)
			continue;
		s.present++;
		first = first ? first : v;
		/* A value that is not known counts as equal to any other. */
		for (unsigned k = 0; k < PARAM_VIEWS; k++)
			s.equal[k] &= v->digest[k] == first->digest[k] || !v->digest[k] ||
				      !first->digest[k];
	}
	return s;
}

static double find_distance(const struct param_value *a, const struct param_value *b)
{
	double reach =
		fmax(fmax(fabs(a->least), fabs(a->most)), fmax(fabs(b->least), fabs(b->most)));
	double norm = fmax(a->norm, b->norm), d = 0;

	if (reach > 0)
		d = fmax(fabs(a->least - b->least), fabs(a->most - b->most)) / reach;
	return norm > 0 ? fmax(d, fabs(a->norm - b->norm) / norm) : d;
}

/* Returns one unit in the last place, relative. */
static double find_rounding(const char *type)
{
	return strstr(type, "bfloat16") || strstr(type, "BFloat16") ? 0x1p-8
	       : strstr(type, "float16") || strstr(type, "Float16") ? 0x1p-11
	       : strstr(type, "float64") || strstr(type, "Float64") ? 0x1p-53
								    : 0x1p-24;
}

static bool is_rounding(const struct parameters *p, uint32_t parameter, double distance)
{
	return distance <= ROUNDING_UNITS * find_rounding(parameter_at(p, parameter)->type);
}

/*
 * Marks the copies that differ from the largest group of equal ones. If no group is a majority,
 * none is marked.
 */
static void mark_odd(
	const struct copies *c, const unsigned *member, unsigned n, enum param_view view, bool *odd)
{
	uint64_t best = 0;
	unsigned top = 0;

	for (unsigned i = 0; i < n && 2 * top <= n; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < n; k++)
			same += c->value[member[k]] && c->value[member[i]] &&
				c->value[member[k]]->digest[view] ==
					c->value[member[i]]->digest[view];
		if (same > top) {
			top = same;
			best = c->value[member[i]]->digest[view];
		}
	}
	for (unsigned i = 0; i < n; i++)
		odd[i] = 2 * top > n && c->value[member[i]] &&
			 c->value[member[i]]->digest[view] != best;
}

/* A period of steps in which the copies differ. */
struct stretch {
	bool open;
	struct diverged p;
	/* length: steps of the current period; longest: of those that ended. */
	unsigned length, longest;
};

static void start_stretch(struct stretch *t, const struct copies *c, const unsigned *member,
	unsigned n, const struct set_state *s, uint64_t step, uint64_t equal, bool first)
{
	enum param_view view = s->equal[VIEW_BEFORE] ? VIEW_AFTER : VIEW_BEFORE;

	t->open = true;
	t->length = 0;
	t->p.step = step;
	t->p.equal_steps = equal;
	t->p.cause = view == VIEW_BEFORE ? (first ? PARTED_BEFORE_START : PARTED_BETWEEN_STEPS)
		     : s->equal[VIEW_GRADIENT] ? DIVERGED_BY_OPTIMIZER
					       : DIVERGED_BY_GRADIENT;
	mark_odd(c, member, n, view, t->p.odd);
}

static double find_largest_distance(const struct copies *c, const unsigned *member, unsigned n)
{
	const struct param_value *first = NULL;
	double most = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct param_value *v = c->value[member[i]];

		first = first ? first : v;
		if (v)
			most = fmax(most, find_distance(first, v));
	}
	return most;
}

static void add_diverged_copies(struct parameters *p, const struct copies *c,
	const unsigned *member, unsigned n, struct stretch *t)
{
	struct diverged *k;

	TOOL_GROW(p->diverged, p->ndiverged, p->cap_diverged);
	k = &p->diverged[p->ndiverged++];
	*k = t->p;
	k->parameter = c->parameter;
	k->n = n;
	k->rank = tool_alloc(n * sizeof(*k->rank));
	for (unsigned i = 0; i < n; i++)
		k->rank[i] = c->rank[member[i]];
	k->joined = k->never_equal && !k->equal_steps && !t->longest && k->step > p->step[0];
	k->tiny = is_rounding(p, c->parameter, k->distance);
	t->p.odd = NULL;
}

static uint64_t find_step_apart(
	const struct parameters *p, const struct copies *c, const unsigned *member, unsigned n)
{
	uint32_t *rank = tool_alloc(n * sizeof(*rank));
	uint64_t step;

	for (unsigned i = 0; i < n; i++)
		rank[i] = c->rank[member[i]];
	step = find_first_step_apart(&p->g->diagnose, p->g->folders.dir, rank, n);
	free(rank);
	return step;
}

/*
 * Copies that repeatedly become equal are averaged periodically (local SGD), so they diverge on
 * purpose. The longest earlier period in which they differed shows that. A far longer one is a
 * fault.
 */
static void judge_set(struct parameters *p, struct copies *c, const unsigned *member, unsigned n,
	bool never_equal)
{
	struct stretch t = {.p = {.reduced = !never_equal && c->reduced[member[0]],
				    .never_equal = never_equal,
				    .odd = tool_alloc(n * sizeof(bool))}};
	uint64_t equal = 0, diverged = find_step_apart(p, c, member, n);
	bool first = true;

	for (unsigned i = 0; i < p->nstep && p->step[i] < diverged; i++) {
		struct set_state s;

		load_step(c, p->step[i]);
		s = look_at_set(c, member, n);
		if (!s.whole)
			continue;
		if (t.open && s.equal[VIEW_BEFORE]) {
			t.open = false;
			t.longest = t.length > t.longest ? t.length : t.longest;
			equal = 0;
		}
		if (!t.open && (!s.equal[VIEW_BEFORE] || !s.equal[VIEW_AFTER]))
			start_stretch(&t, c, member, n, &s, p->step[i], equal, first);
		if (t.open) {
			t.length++;
			t.p.last_step = p->step[i];
			t.p.distance = find_largest_distance(c, member, n);
		} else {
			equal++;
		}
		first = false;
	}
	if (t.open && (!t.longest || t.length > 2 * t.longest + 1))
		add_diverged_copies(p, c, member, n, &t);
	free(t.p.odd);
}

/*
 * Loads the parameter's first step, which is a later one than the run's if it was frozen until
 * then.
 */
static void load_first_step(struct copies *c)
{
	for (unsigned s = 0; s < c->all->nstep; s++) {
		load_step(c, c->all->step[s]);
		for (unsigned i = 0; i < c->nrank; i++)
			if (c->value[i])
				return;
	}
}

/*
 * True if in the loaded step all ranks had the same values, which are not all the same number as of
 * a new bias.
 */
static bool began_equal(const struct copies *c)
{
	for (unsigned i = 0; i < c->nrank; i++)
		if (!c->value[i] || !c->value[i]->digest[VIEW_BEFORE] ||
			c->value[i]->digest[VIEW_BEFORE] != c->value[0]->digest[VIEW_BEFORE] ||
			!(c->value[i]->least < c->value[i]->most))
			return false;
	return true;
}

static void check_sets(struct parameters *p, struct copies *c)
{
	unsigned *member = tool_alloc(c->nrank * sizeof(*member));
	unsigned sets = 0;
	bool any = false;

	for (unsigned first = 0; first < c->nrank; first++) {
		unsigned n = 0;

		if (find_set(c, first) != first)
			continue;
		for (unsigned i = first; i < c->nrank; i++)
			if (find_set(c, i) == first)
				member[n++] = i;
		if (n < 2)
			continue;
		any |= c->reduced[first];
		for (unsigned i = 0; p->together && c->reduced[first] && i < n; i++)
			for (unsigned k = 0; k < n; k++)
				p->together[(size_t)c->rank[member[i]] * p->nrank +
					    c->rank[member[k]]] = true;
		judge_set(p, c, member, n, false);
		sets++;
	}
	if (!sets)
		load_first_step(c);
	if (!sets && began_equal(c)) {
		for (unsigned i = 0; i < c->nrank; i++)
			member[i] = i;
		judge_set(p, c, member, c->nrank, true);
	}
	p->copies += any;
	free(member);
}

static void check_parameter(struct parameters *p, uint32_t parameter)
{
	struct copies c = {.all = p,
		.parameter = parameter,
		.rank = tool_alloc(p->nrank * sizeof(*c.rank)),
		.value = tool_alloc(p->nrank * sizeof(*c.value)),
		.set = tool_alloc(p->nrank * sizeof(*c.set)),
		.reduced = tool_alloc(p->nrank * sizeof(*c.reduced))};
	struct digest_at *at = tool_alloc(p->nrank * sizeof(*at));

	/*
	 * The ranks that recorded this parameter in at least one step. Ranks of other pipeline
	 * stages do not hold it.
	 */
	for (uint32_t i = 0; i < p->nrank; i++)
		for (unsigned s = 0; s < p->nstep; s++)
			if (table_find(&p->values, value_key(parameter, i), p->step[s])) {
				c.rank[c.nrank++] = i;
				break;
			}
	for (unsigned i = 0; i < c.nrank; i++)
		c.set[i] = i;
	for (unsigned s = 0; s < p->nstep && c.nrank > 1; s++) {
		load_step(&c, p->step[s]);
		join_by_gradient(&c, at);
	}
	if (c.nrank > 1)
		check_sets(p, &c);
	free(c.rank);
	free(c.value);
	free(c.set);
	free(c.reduced);
	free(at);
}

/* ---- one matrix used twice ---- */

static bool is_matrix(const struct parameter *k)
{
	return k->shape && strchr(k->shape, ',') && !strchr(strchr(k->shape, ',') + 1, ',');
}

static bool has_parameter(const struct parameters *p, uint32_t parameter, uint32_t rank)
{
	return table_find(&p->values, value_key(parameter, rank), p->step[0]) != NULL;
}

/*
 * Returns true if another matrix of the two ranks began equal as well, under one name: they have the same seed, as
 * experts may, and equal bits do not mean one matrix.
 */
static bool did_others_begin_equal(
	const struct parameters *p, uint32_t i, uint32_t k, uint32_t a, uint32_t b)
{
	for (uint32_t m = 0; m < p->list.n; m++) {
		const struct param_value *x, *y;

		if (m == i || m == k || !is_matrix(parameter_at(p, m)))
			continue;
		x = table_find(&p->values, value_key(m, a), p->step[0]);
		y = table_find(&p->values, value_key(m, b), p->step[0]);
		if (x && y && x->digest[VIEW_BEFORE] && x->least != x->most &&
			x->digest[VIEW_BEFORE] == y->digest[VIEW_BEFORE])
			return true;
	}
	return false;
}

/*
 * Checks whether two uses of a matrix, which began equal, are no longer equal. i on rank a: the embedding; k on rank b:
 * the layer. Skipped if one of the ranks has both parameters: some programs initialise a layer from another one.
 */
static void check_uses(struct parameters *p, uint32_t i, uint32_t a, uint32_t k, uint32_t b)
{
	const struct param_value *x, *y;
	struct untied u = {.parameter = {i, k}, .rank = {a, b}};
	bool diverged = false;

	if (a == b || (i != k && (has_parameter(p, i, b) || has_parameter(p, k, a))))
		return;
	for (unsigned s = 0; s < p->nstep; s++) {
		x = table_find(&p->values, value_key(i, a), p->step[s]);
		y = table_find(&p->values, value_key(k, b), p->step[s]);
		if (!x || !y)
			continue;
		/* If the gradient is summed over the two, it is equal on both. */
		if (x->digest[VIEW_GRADIENT] == y->digest[VIEW_GRADIENT] &&
			x->digest[VIEW_GRADIENT] > DIGEST_ZEROS)
			return;
		if (!diverged && x->digest[VIEW_AFTER] != y->digest[VIEW_AFTER])
			u.step = p->step[s];
		diverged |= x->digest[VIEW_AFTER] != y->digest[VIEW_AFTER];
		u.last_step = p->step[s];
		u.distance = find_distance(x, y);
	}
	if (!diverged || is_rounding(p, i, u.distance) || did_others_begin_equal(p, i, k, a, b))
		return;
	TOOL_GROW(p->untied, p->nuntied, p->cap_untied);
	p->untied[p->nuntied++] = u;
}

struct first_value {
	uint64_t digest;
	uint32_t parameter, rank;
	float zeros;
};

static int compare_first_values(const void *x, const void *y)
{
	const struct first_value *a = x, *b = y;

	return a->digest < b->digest ? -1 : a->digest > b->digest;
}

/* Looks for matrices of any ranks that have equal bits in the first step. */
static void judge_untied(struct parameters *p)
{
	struct first_value *v = tool_alloc((size_t)(p->values.n + 1) * sizeof(*v));
	unsigned n = 0;

	for (uint32_t i = 0; i < p->values.n; i++) {
		const struct param_value *k = table_at(&p->values, i);
		uint32_t parameter = (uint32_t)(k->key.a >> 32);

		if (k->key.b != p->step[0] || !k->digest[VIEW_BEFORE] || k->least == k->most ||
			!is_matrix(parameter_at(p, parameter)))
			continue;
		v[n++] = (struct first_value){
			k->digest[VIEW_BEFORE], parameter, (uint32_t)k->key.a, k->zeros};
	}
	qsort(v, n, sizeof(*v), compare_first_values);
	for (unsigned i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].digest == v[i].digest;)
			end++;
		for (unsigned a = i; a < end && !p->nuntied; a++)
			for (unsigned b = i; b < end && !p->nuntied; b++)
				if (v[a].zeros >= v[b].zeros + MORE_ZEROS)
					check_uses(p, v[a].parameter, v[a].rank, v[b].parameter,
						v[b].rank);
	}
	free(v);
}

void judge_copies(struct parameters *p)
{
	if (!p->nstep || p->nrank < 2)
		return;
	if (p->nrank <= RANKS_TOGETHER_MAX)
		p->together = tool_alloc((size_t)p->nrank * p->nrank * sizeof(*p->together));
	for (uint32_t i = 0; i < p->list.n; i++)
		check_parameter(p, i);
	judge_untied(p);
}
