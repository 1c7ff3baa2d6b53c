/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/replicas.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/tool.h"

#define PLACES_MAX (1u << 18)

struct replica {
	uint32_t rank, first; /* first: index of the first member of its class */
	uint64_t last; /* digest of the last values */
	struct trend trend; /* only for the first member of a class */
	bool diverged; /* the rank has diverged from its class */
	/* Only for the first member: number of values that all members had in common. */
	uint32_t equal;
	/*
	 * Only for the first member: how many of the numbers in these values could not be
	 * predicted.
	 */
	double kept;
};

struct replica_place {
	struct table_key key; /* a: communicator; b: call site */
	unsigned n;
	struct replica *member; /* by rank, ascending */
	bool ended; /* they diverged, and became equal again */
	/*
	 * The rank that diverged has the values that the others had earlier: its count of steps
	 * differs.
	 */
	bool late;
	bool scattered; /* three or more ranks, each with another value */
	struct odd_meeting diverged;
};

void replicas_init(struct replicas *r, const struct clock_fix *skew)
{
	*r = (struct replicas){.skew = skew};
	table_init(&r->places, sizeof(struct replica_place), PLACES_MAX);
}

void replicas_free(struct replicas *r)
{
	for (uint32_t i = 0; i < r->places.n; i++)
		free(((struct replica_place *)table_at(&r->places, i))->member);
	table_free(&r->places);
}

static int by_arrival_rank(const void *x, const void *y)
{
	const struct arrival *a = *(const struct arrival *const *)x,
			     *b = *(const struct arrival *const *)y;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/*
 * The largest group of equal values counts as correct, the others are the culprits. With two halves
 * the culprit is not known.
 */
static void part_class(struct replicas *r, const struct meeting *m, struct replica_place *p,
	const struct arrival *const *a, uint32_t class)
{
	struct odd_meeting o = {.any = true, .agreed = p->member[class].equal};
	uint64_t *v = tool_alloc(p->n * sizeof(*v)), best;
	unsigned n = 0, alike = 0;

	for (unsigned i = 0; i < p->n; i++)
		if (p->member[i].first == class && !p->member[i].diverged)
			v[n++] = a[i]->in;
	o.unsure = !majority_of(v, n, &best);
	free(v);
	for (unsigned i = 0; i < p->n; i++) {
		struct replica *k = &p->member[i];
		uint64_t start = clock_set_right(&r->skew[k->rank], a[i]->start);

		if (k->first != class || k->diverged)
			continue;
		k->diverged = a[i]->in != best;
		alike += !k->diverged;
		p->late |= k->diverged && a[i]->in == k->last;
		/* Ranks of another class may have arrived long before. */
		o.event = !o.event || start < o.event ? start : o.event;
		if (!o.unsure && !k->diverged) {
			add_rank_index(o.other, &o.nother, k->rank);
			continue;
		}
		if (!o.nrank)
			o.call = call_of_arrival(m, a[i]);
		add_rank_index(o.rank, &o.nrank, k->rank);
	}
	if (!p->diverged.any)
		p->scattered = n > 2 && alike < 2;
	keep_odd(&p->diverged, &o);
}

/*
 * Returns the number of values by which a tensor could differ between two ranks: its elements, or 1
 * if these are all equal.
 */
static double count_numbers(const struct meeting *m)
{
	double n = (double)m->in_count / m->nin;

	return m->in_least < m->in_most && n > 1 ? (n < NUMBERS_MAX ? n : NUMBERS_MAX) : 1;
}

/* There is no invariant yet, so ranks that still have equal values form new classes. */
static void split_class(struct replica_place *p, const struct arrival *const *a, uint32_t class)
{
	for (unsigned i = class; i < p->n; i++) {
		uint32_t first = i;

		if (p->member[i].first != class)
			continue;
		for (unsigned k = class; k < i && first == i; k++)
			if (p->member[k].first == k && a[k]->in == a[i]->in &&
				(k == class || p->member[k].last == p->member[i].last))
				first = k;
		p->member[i].first = first;
		p->member[i].equal = 0;
		p->member[i].trend = (struct trend){0};
		add_to_trend(&p->member[i].trend, a[i]->in_sum, (double)a[i]->in_reach);
	}
}

static void check_class(struct replicas *r, const struct meeting *m, struct replica_place *p,
	const struct arrival *const *a, uint32_t class)
{
	struct replica *k = &p->member[class];
	const struct arrival *is = NULL;
	uint64_t was = 0;
	bool diverged = false;
	unsigned n = 0;

	for (unsigned i = class; i < p->n; i++) {
		if (p->member[i].first != class || p->member[i].diverged)
			continue;
		was = is ? was : p->member[i].last;
		is = is ? is : a[i];
		diverged |= a[i]->in != is->in;
		n++;
	}
	if (diverged && k->kept > 0) {
		part_class(r, m, p, a, class);
	} else if (diverged) {
		split_class(p, a, class);
	} else if (n > 1 && is->in != was) {
		k->equal++;
		if (add_to_trend(&k->trend, is->in_sum, (double)is->in_reach))
			k->kept += count_numbers(m);
	}
	for (unsigned i = class; i < p->n && is; i++) {
		if (p->member[i].first != class || !p->member[i].diverged)
			continue;
		p->ended |= !diverged && a[i]->in == is->in;
		p->late |= a[i]->in == was;
	}
}

static struct replica_place *find_replica_place(
	struct replicas *r, const struct meeting *m, const struct arrival *const *a, bool *fresh)
{
	struct replica_place *p = table_get(&r->places, m->comm,
		hash_u64(hash_u64(hash_u64(a[0]->site, m->longest.api), a[0]->nth), m->n));

	*fresh = p && !p->n;
	if (*fresh) {
		p->n = m->n;
		p->member = tool_alloc(p->n * sizeof(*p->member));
	}
	for (unsigned i = 0; p && i < p->n; i++) {
		struct replica *k = &p->member[i];

		if (!*fresh && k->rank != a[i]->rank)
			return NULL;
		k->rank = a[i]->rank;
	}
	return p;
}

#define FEW_RANKS 32 /* For so few elements qsort() is slower. */

static void set_rank_order(const struct arrival **a, unsigned n)
{
	if (n > FEW_RANKS) {
		qsort(a, n, sizeof(*a), by_arrival_rank);
		return;
	}
	for (unsigned i = 1; i < n; i++) {
		const struct arrival *moved = a[i];
		unsigned k = i;

		for (; k && a[k - 1]->rank > moved->rank; k--)
			a[k] = a[k - 1];
		a[k] = moved;
	}
}

void judge_replicas(struct replicas *r, const struct meeting *m)
{
	static const char *const list[] = {
		"all_reduce", "reduce", "gather", "all_gather", "reduce_scatter", NULL};
	struct replica_place *p;
	const struct arrival **a;
	bool fresh;

	if (m->n < 2 || m->nin != m->n || m->bad || !is_operation(m, list))
		return;
	for (unsigned i = 0; i < m->n; i++)
		if (!m->a[i].in || !m->a[i].telling || m->a[i].nth != m->a[0].nth)
			return;
	a = tool_alloc(m->n * sizeof(*a));
	for (unsigned i = 0; i < m->n; i++)
		a[i] = &m->a[i];
	set_rank_order(a, m->n);
	p = find_replica_place(r, m, a, &fresh);
	if (p && fresh)
		split_class(p, a, 0);
	for (unsigned i = 0; p && !fresh && i < p->n; i++)
		if (p->member[i].first == i)
			check_class(r, m, p, a, i);
	for (unsigned i = 0; p && i < p->n; i++)
		p->member[i].last = a[i]->in;
	free(a);
}

static double numbers_kept(const struct replica_place *p)
{
	double n = 0;

	for (unsigned i = 0; i < p->n; i++)
		n += p->member[i].kept;
	return n;
}

void weigh_replicas(struct replicas *r)
{
	uint32_t tested = 0;

	for (uint32_t i = 0; i < r->places.n; i++)
		tested += numbers_kept(table_at(&r->places, i)) > 0;
	for (uint32_t i = 0; i < r->places.n; i++) {
		struct replica_place *p = table_at(&r->places, i);
		enum weight w = weigh_evidence(tested * chance_of_break(numbers_kept(p)));

		if (!p->diverged.any || p->ended || w == WEIGHT_NONE)
			continue;
		p->diverged.weight = p->late || p->scattered ? WEIGHT_NOTE : w;
		if (!r->diverged.any || p->diverged.weight >= r->diverged.weight) {
			if (r->diverged.any && p->diverged.weight > r->diverged.weight)
				r->diverged = (struct odd_meeting){0};
			keep_odd(&r->diverged, &p->diverged);
		}
	}
}
