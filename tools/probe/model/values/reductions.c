/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/reductions.h"

#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/probe/model/values/results.h"

#define REDUCTION_SIZES_MAX (1u << 16)

void reductions_init(struct reductions *r)
{
	table_init(&r->sizes, sizeof(struct reduction_size), REDUCTION_SIZES_MAX);
	table_init(&r->groups, sizeof(struct reduction_group), REDUCTION_SIZES_MAX);
}

void reductions_free(struct reductions *r)
{
	table_free(&r->sizes);
	table_free(&r->groups);
}

static bool is_backward_phase(const char *phase)
{
	return strcmp(phase, "backward") == 0;
}

static bool is_broadcast(const char *op)
{
	return strcmp(op, "broadcast") == 0;
}

static bool is_gradient_reduction(const struct meeting *m)
{
	static struct name_question backward = {.ask = is_backward_phase};
	static const char *const reduced[] = {"all_reduce", "reduce_scatter", "reduce", NULL};

	/* A single number is a loss or a count, not the gradient of a layer. */
	return check_name_property(&backward, m->longest.phase) && is_operation(m, reduced) &&
	       m->longest.count > 1;
}

static bool has_equal_inputs(const struct meeting *m)
{
	if (m->nin != m->n || m->bad)
		return false;
	for (unsigned i = 0; i < m->n; i++)
		if (!m->a[i].in || !m->a[i].telling || m->a[i].in != m->a[0].in)
			return false;
	return true;
}

void note_reduction(struct reductions *r, const struct meeting *m)
{
	static struct name_question broadcast = {.ask = is_broadcast};
	const struct call *c = &m->longest;
	struct reduction_group *g;
	struct reduction_size *s;

	if (check_name_property(&broadcast, c->op)) {
		g = table_get(&r->groups, m->comm, 0);
		if (g && !g->made)
			g->broadcast = *c;
		return;
	}
	if (!is_gradient_reduction(m))
		return;
	g = table_get(&r->groups, m->comm, 0);
	if (g) {
		if (!g->made++)
			g->call = *c;
		g->equal += has_equal_inputs(m);
		g->steps += !g->steps || m->step != g->last;
		g->last = m->step;
	}
	s = table_get(&r->sizes, m->comm, hash_u64(hash_u64(c->op, c->count), c->dtype));
	if (!s)
		return;
	if (!s->steps)
		s->first = m->step;
	s->steps += !s->steps || m->step != s->last;
	s->last = m->step;
	s->call = *c;
}

/*
 * Gradient buckets are rebuilt once the order of the gradients is known. Then other sizes replace
 * the first ones.
 */
static bool is_replaced(const struct reductions *r, const struct reduction_size *ended)
{
	for (uint32_t i = 0; i < r->sizes.n; i++) {
		const struct reduction_size *s = table_at(&r->sizes, i);

		if (s->key.a == ended->key.a && s->first > ended->first &&
			s->first <= ended->last + 2 && s->last > ended->last)
			return true;
	}
	return false;
}

const struct reduction_size *find_ended_reduction(
	const struct reductions *r, uint64_t last_step, unsigned skip)
{
	for (uint32_t i = 0; i < r->sizes.n; i++) {
		const struct reduction_size *s = table_at(&r->sizes, i);

		if (s->steps >= REDUCTION_STEPS_MIN && s->steps == s->last - s->first + 1 &&
			s->last + REDUCTION_STEPS_MIN <= last_step && !is_replaced(r, s) && !skip--)
			return s;
	}
	return NULL;
}
