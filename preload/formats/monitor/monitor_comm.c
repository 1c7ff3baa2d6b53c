/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/monitor/monitor_comm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "stats/sum.h"

#define SUMS_MAX 512 /* maximum number of sums in a step; additional ones are omitted */

struct sums {
	unsigned n;
	uint32_t ended; /* all steps below this number are written */
	struct monitor_sum at[SUMS_MAX];
};

/*
 * State now, at the last commit, and before the last entry: entries are undone one at a time,
 * passes as a whole. touched: copies of the sums of `now` that the last add changed.
 */
struct monitor_comm {
	bool inputs;
	bool whole; /* `before` is complete, because the last change was monitor_comm_remove_written() */
	struct sums now, committed, before;
	unsigned ntouched, was;
	uint16_t touched[SUMS_MAX];
};

struct monitor_comm *monitor_comm_init(bool inputs)
{
	struct monitor_comm *m = calloc(1, sizeof(*m));

	if (m)
		m->inputs = inputs;
	return m;
}

void monitor_comm_free(struct monitor_comm *m)
{
	free(m);
}

static void copy_sums(struct sums *to, const struct sums *from)
{
	to->n = from->n;
	to->ended = from->ended;
	memcpy(to->at, from->at, from->n * sizeof(*from->at));
}

static struct monitor_sum *find_sum(
	struct monitor_comm *m, const char *op, uint32_t step, const struct journal_tensor *t)
{
	struct sums *s = &m->now;
	unsigned i = 0;

	while (i < s->n && (s->at[i].step != step || s->at[i].io != t->io ||
				   s->at[i].index != t->index || strcmp(s->at[i].op, op)))
		i++;
	if (i == SUMS_MAX)
		return NULL;
	if (i == s->n) {
		s->at[s->n++] = (struct monitor_sum){.io = t->io,
			.index = t->index,
			.step = step,
			.dtype = t->dtype,
			.alike = true,
			.count = t->count,
			.min = INFINITY,
			.max = -INFINITY};
		snprintf(s->at[i].op, sizeof(s->at[i].op), "%s", op);
	} else if (i < m->was) {
		m->before.at[m->ntouched] = s->at[i];
		m->touched[m->ntouched++] = (uint16_t)i;
	}
	return &s->at[i];
}

static void add_tensor_sum(struct monitor_sum *s, const struct journal_tensor *t)
{
	double counted = (double)(t->stats.n - t->stats.nans), least, most;
	unsigned cls = get_dtype_info(t->dtype)->cls;

	s->alike &= s->count == t->count;
	s->count = t->count;
	if (s->dtype != t->dtype)
		s->dtype = DT_OTHER;
	if (!t->stats.n) {
		s->blind |= t->count > 0;
		return;
	}
	s->n += t->stats.n;
	s->zeros += t->stats.zeros;
	s->nans += t->stats.nans;
	s->infs += t->stats.infs;
	if (counted <= 0)
		return;
	least = stats_value_as_double(cls, t->stats.min);
	most = stats_value_as_double(cls, t->stats.max);
	s->min = least < s->min ? least : s->min;
	s->max = most > s->max ? most : s->max;
	s->sum += t->stats.mean * counted;
	s->squares += t->stats.norm * t->stats.norm;
}

void monitor_comm_add(struct monitor_comm *m, const struct record *r)
{
	uint32_t step = r->call->step < m->now.ended ? m->now.ended : r->call->step;

	m->whole = false;
	m->ntouched = 0;
	m->was = m->now.n;
	if (!r->call->comm || r->call->parent || r->open || (r->call->flags & CF_ERROR))
		return;
	for (unsigned i = 0; i < r->n; i++) {
		const struct journal_tensor *t = r->tensor[i];
		struct monitor_sum *s = NULL;

		if (t->io == IO_OUT || m->inputs)
			s = m->ntouched < SUMS_MAX ? find_sum(m, r->api.op, step, t) : NULL;
		if (s)
			add_tensor_sum(s, t);
	}
}

const struct monitor_sum *monitor_comm_get_sum(const struct monitor_comm *m, unsigned i)
{
	return i < m->now.n ? &m->now.at[i] : NULL;
}

struct stats monitor_sum_compute_stats(const struct monitor_sum *s)
{
	uint64_t counted = s->n - s->nans;

	return (struct stats){.n = s->blind ? 0 : s->n,
		.zeros = s->zeros,
		.nans = s->nans,
		.infs = s->infs,
		.min.f = counted ? s->min : NAN,
		.max.f = counted ? s->max : NAN,
		.mean = counted ? s->sum / (double)counted : NAN,
		.norm = counted ? stats_sqrt(s->squares) : NAN};
}

void monitor_comm_remove_written(struct monitor_comm *m, uint32_t next)
{
	unsigned n = 0;

	copy_sums(&m->before, &m->now);
	m->whole = true;
	for (unsigned i = 0; i < m->now.n; i++)
		if (m->now.at[i].step >= next)
			m->now.at[n++] = m->now.at[i];
	m->now.n = n;
	m->now.ended = next;
}

void monitor_comm_reset_last(struct monitor_comm *m)
{
	if (m->whole) {
		copy_sums(&m->now, &m->before);
	} else {
		/* If a sum was changed twice, the first copy is the older one. */
		for (unsigned i = m->ntouched; i-- > 0;)
			m->now.at[m->touched[i]] = m->before.at[i];
		m->now.n = m->was;
	}
	m->ntouched = 0;
	m->was = m->now.n;
	m->whole = false;
}

void monitor_comm_commit(struct monitor_comm *m, bool written)
{
	if (written)
		copy_sums(&m->committed, &m->now);
	else
		copy_sums(&m->now, &m->committed);
}
