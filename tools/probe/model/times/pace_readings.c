/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of ranks and steps, and what it shows: slow, jitter, stall. */
#include "tools/probe/model/times/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"
#include "tools/probe/model/times/noise.h"
#include "tools/probe/model/values/evidence.h"

/* share of the steps since the first slow one that must be slow: waits for the others may hide some */
#define SLOW_SHARE 0.9
/* relative to the others' time: ranks with different parts of the model differ by less */
#define SLOW_ABOVE 0.25
#define STALL_MIN 500e6 /* ns; a shorter delay does not look like a stall to a person */
#define JITTER_SHARE 0.1 /* share of the rank's steps: every rank is late occasionally */
#define LATE 0.02 /* a step is late if the probability of such a delay by chance is at most this */
#define WORK_USUAL 0.3 /* share of a rank's steps from which on their number of calls is usual */
/* minimum number of other steps with the same number of calls: fewer show no habit */
#define WORK_ALIKE 4

/*
 * Time outside of calls, minus the lower median of all ranks. With two ranks, that is the time of
 * the faster one, because the other may be the slow one.
 */
struct pace_matrix {
	double *excess; /* by rank and cell; NAN: not known */
	double *base; /* the usual excess of each rank: that of its calmer steps */
	/* Excess above the usual one, separately before and after a rank became slow. */
	double *rest;
	double middle[PACE_CELLS];
	unsigned known; /* cells of all ranks */
	struct noise noise; /* of all ranks: excess above the usual one of each */
	double level; /* noise above this level is long, ... */
	/* ... the number of such values, and how many of them follow another one. */
	unsigned longs, following;
};

static double *find_matrix_row(const struct pace_matrix *m, unsigned i)
{
	return m->excess + (size_t)i * PACE_CELLS;
}

static unsigned copy_known(const double *from, unsigned first, double *to)
{
	unsigned n = 0;

	for (unsigned k = first; k < PACE_CELLS; k++)
		if (!isnan(from[k]))
			to[n++] = from[k];
	return n;
}

static double compute_quantile_since(const double *row, unsigned first, double q)
{
	double v[PACE_CELLS];
	unsigned n = copy_known(row, first, v);

	return quantile_of(v, n, q);
}

/* ---- work ---- */

/*
 * Groups a rank's steps by their numbers of calls. If one number is usual, steps with another one
 * (an evaluation, a checkpoint) have their own usual time. Otherwise the number of calls measures
 * the work in a step.
 */
struct work {
	unsigned alike[PACE_CELLS]; /* number of cells with the same number of calls */
	unsigned known;
	/*
	 * median number of calls in a step; 0: WORK_USUAL or more of the steps have the same number of calls, and times are
	 * not scaled by it
	 */
	double calls;
};

static void measure_work(struct work *w, const struct rank_pace *r)
{
	double v[PACE_CELLS];
	bool usual = false;

	w->known = 0;
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		bool as_before = k && r->n[k] && r->n[k - 1] && r->calls[k] == r->calls[k - 1];

		w->alike[k] = as_before ? w->alike[k - 1] : 0;
		for (unsigned o = 0; r->n[k] && !as_before && o < PACE_CELLS; o++)
			w->alike[k] += r->n[o] && r->calls[o] == r->calls[k];
		if (r->n[k])
			v[w->known++] = (double)r->calls[k] / r->n[k];
	}
	for (unsigned k = 0; k < PACE_CELLS; k++)
		usual |= w->alike[k] >= WORK_USUAL * w->known && w->alike[k];
	w->calls = usual ? 0 : quantile_of(v, w->known, 0.5);
}

static double time_in_cell(const struct rank_pace *r, const struct work *w, unsigned k)
{
	return (double)r->cell[k] / r->n[k] *
	       (w->calls > 0 && r->calls[k] ? w->calls * r->n[k] / r->calls[k] : 1);
}

/* Removes the additional time that steps with an unusual number of calls usually take. */
static void remove_usual_work(
	const struct pace *p, const struct rank_pace *r, const struct work *w, double *row)
{
	double was[PACE_CELLS], v[PACE_CELLS];

	if (w->calls > 0)
		return;
	memcpy(was, row, sizeof(was));
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		unsigned n = 0;

		if (isnan(was[k]) || w->alike[k] >= WORK_USUAL * w->known)
			continue;
		for (unsigned o = 0; o < PACE_CELLS; o++)
			if (!isnan(was[o]) && r->calls[o] == r->calls[k])
				v[n++] = was[o];
		if (n >= WORK_ALIKE)
			row[k] -= fmax(0, quantile_of(v, n, 0.25));
		else if (p->per_cell == 1)
			row[k] = NAN;
	}
}

/* Removes long steps at a fixed distance, which are periodic work of the program. */
static void remove_periodic(double *row)
{
	double base = compute_quantile_since(row, 0, 0.25),
	       most = compute_quantile_since(row, 0, 1);
	double limit = base + fmax(MATTERS_NS, (most - base) / 2);
	unsigned last = 0, gap = 0, n = 0, odd = 0;

	for (unsigned k = 0; k < PACE_CELLS; k++) {
		if (isnan(row[k]) || row[k] <= limit)
			continue;
		odd += n > 1 && k - last != gap;
		gap = n == 1 ? k - last : gap;
		last = k;
		n++;
	}
	for (unsigned k = 0; n >= HABIT_TIMES && gap > 1 && odd * 4 < n && k < PACE_CELLS; k++)
		if (row[k] > limit)
			row[k] = NAN;
}

/* ---- the matrix ---- */

static void count_longs(const double *row, double limit, unsigned *longs, unsigned *following)
{
	bool before = false;

	for (unsigned k = 0; k < PACE_CELLS; k++) {
		if (isnan(row[k]))
			continue;
		*longs += row[k] > limit;
		*following += before && row[k] > limit;
		before = row[k] > limit;
	}
}

/* Returns the first step from which nearly all are above the limit, or PACE_CELLS. */
static unsigned find_slow_since(const double *row, double limit, unsigned *above, unsigned *known)
{
	unsigned best = PACE_CELLS, n = 0, a = 0;

	for (unsigned k = PACE_CELLS; k-- > 0;) {
		n += !isnan(row[k]);
		if (isnan(row[k]) || row[k] <= limit)
			continue;
		if (++a >= SLOW_SHARE * n) {
			best = k;
			*above = a;
			*known = n;
		}
	}
	return best;
}

/* Returns the level of the last steps: half of it separates them from those before the change. */
static double find_last_level(const double *row)
{
	double v[PACE_CELLS];
	unsigned n = copy_known(row, 0, v), last = 2 * HABIT_TIMES - 1;

	return n < last ? 0 : quantile_of(v + n - last, last, 0.5);
}

/* Removes the levels from a row: one change to a higher level is not noise. */
static void find_rest(const double *row, double base, double *rest)
{
	double level = find_last_level(row);
	unsigned above, known = 0, first = PACE_CELLS;

	if (level - base >= MATTERS_NS)
		first = find_slow_since(row, (level + base) / 2, &above, &known);
	if (known < HABIT_TIMES)
		first = PACE_CELLS;
	if (first < PACE_CELLS)
		level = compute_quantile_since(row, first, 0.25);
	for (unsigned k = 0; k < PACE_CELLS; k++)
		rest[k] = row[k] - (k < first ? base : level);
}

static void compute_noise(const struct pace *p, struct pace_matrix *m)
{
	double *v = tool_alloc((size_t)p->n * PACE_CELLS * sizeof(*v));

	for (unsigned i = 0; i < p->n; i++) {
		double *rest = m->rest + (size_t)i * PACE_CELLS;

		m->base[i] = compute_quantile_since(find_matrix_row(m, i), 0, 0.25);
		find_rest(find_matrix_row(m, i), m->base[i], rest);
		m->known += copy_known(rest, 0, v + m->known);
	}
	noise_init(&m->noise, v, m->known);
	chance_of_excess(&m->noise, NULL, 0, &m->level);
	for (unsigned i = 0; i < p->n; i++)
		count_longs(m->rest + (size_t)i * PACE_CELLS, m->level, &m->longs, &m->following);
}

struct pace_matrix *compute_pace_matrix(const struct pace *p, bool longest)
{
	struct pace_matrix *m = tool_alloc(sizeof(*m));
	struct work *work = tool_alloc((p->n + 1) * sizeof(*work));
	double *v = tool_alloc((p->n + 1) * sizeof(*v));

	m->rest = tool_alloc((size_t)p->n * PACE_CELLS * sizeof(*m->rest));
	m->base = tool_alloc(p->n * sizeof(*m->base));
	m->excess = tool_alloc((size_t)p->n * PACE_CELLS * sizeof(*m->excess));
	for (unsigned i = 0; i < p->n; i++)
		measure_work(&work[i], &p->rank[i]);
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		bool warm = (k + 1) * p->per_cell <= PACE_STEPS_WARM;
		unsigned n = 0;

		for (unsigned i = 0; i < p->n; i++) {
			const struct rank_pace *r = &p->rank[i];
			double *x = find_matrix_row(m, i) + k;

			*x = !r->n[k] || warm ? NAN
			     : longest	      ? (double)r->longest[k]
					      : time_in_cell(r, &work[i], k);
			if (!isnan(*x))
				v[n++] = *x;
		}
		m->middle[k] = n < 2 ? NAN : quantile_of(v, n, 0.5 * (n - 2) / (n - 1));
		for (unsigned i = 0; i < p->n; i++)
			find_matrix_row(m, i)[k] -= m->middle[k];
	}
	for (unsigned i = 0; i < p->n; i++) {
		if (!longest)
			remove_usual_work(p, &p->rank[i], &work[i], find_matrix_row(m, i));
		remove_periodic(find_matrix_row(m, i));
	}
	compute_noise(p, m);
	free(work);
	free(v);
	return m;
}

void free_pace_matrix(struct pace_matrix *m)
{
	if (!m)
		return;
	noise_free(&m->noise);
	free(m->excess);
	free(m->base);
	free(m->rest);
	free(m);
}

/* ---- readings ---- */

/* One rank, compared with the noise of the others. */
struct row {
	const double *excess, *rest;
	double base;
	struct noise own;
	double again; /* probability that a long step of the others follows a long one */
};

static void init_row(struct row *w, const struct pace_matrix *m, unsigned i)
{
	double *v = tool_alloc(PACE_CELLS * sizeof(*v));
	unsigned longs = 0, following = 0;

	w->excess = find_matrix_row(m, i);
	w->rest = m->rest + (size_t)i * PACE_CELLS;
	w->base = m->base[i];
	noise_init(&w->own, v, copy_known(w->rest, 0, v));
	count_longs(w->rest, m->level, &longs, &following);
	w->again = chance_of_following(m->following - following, m->longs - longs);
}

/*
 * Returns how many groups chance alone would give in which a long step is followed by at least k long ones among the next n
 * steps. alone: the expected number of first long steps. Long delays may come in larger groups than short ones: if the number
 * is small, the groups of the other ranks above `level` count, too.
 */
static double compute_groups(const struct pace *p, const struct pace_matrix *m, const struct row *w,
	double alone, double level, unsigned k, unsigned n)
{
	double expected = alone * chance_of_run(w->again, k, n);
	unsigned longs = 0, following = 0;

	if (expected > FALSE_ALARMS)
		return expected;
	for (unsigned i = 0; i < p->n; i++)
		if (find_matrix_row(m, i) != w->excess)
			count_longs(m->rest + (size_t)i * PACE_CELLS, level, &longs, &following);
	return alone * chance_of_run(fmax(w->again, chance_of_following(following, longs)), k, n);
}

/* Returns the share of the rank's earlier steps in which an equally long delay began. */
static double compute_share_before(const double *row, unsigned first, double limit)
{
	unsigned known = 0, events = 0;
	bool before = false;

	for (unsigned k = 0; k < first; k++) {
		if (isnan(row[k]))
			continue;
		known++;
		events += row[k] > limit && !before;
		before = row[k] > limit;
	}
	return known ? (double)events / known : 0;
}

static struct pace_found check_slow(
	const struct pace *p, const struct pace_matrix *m, unsigned i, const struct row *w)
{
	struct pace_found f = {.kind = PACE_EVEN};
	double level = find_last_level(w->excess), least, chance, since[PACE_CELLS];
	unsigned above = 0, known = 0, first, n = 0;

	if (level < MATTERS_NS)
		return f;
	first = find_slow_since(w->excess, level / 2, &above, &known);
	if (first == PACE_CELLS)
		return f;
	least = compute_quantile_since(w->excess, first, 1 - SLOW_SHARE);
	chance = fmax(chance_of_excess(&m->noise, &w->own, least, &f.spread),
		compute_share_before(w->excess, first, least));
	f.chance = compute_groups(p, m, w, m->known * chance, least / 2, above - 1, known - 1);
	for (unsigned k = first; k < PACE_CELLS; k++)
		if (!isnan(w->excess[k]))
			since[n++] = m->middle[k];
	f.usual = quantile_of(since, n, 0.5);
	f.seen = f.usual + compute_quantile_since(w->excess, first, 0.5);
	f.step = p->first_step + first * p->per_cell;
	f.share = (double)above / known;
	f.rank = i;
	if (f.chance <= FALSE_ALARMS && f.seen - f.usual >= MATTERS_NS &&
		f.seen > (1 + SLOW_ABOVE) * f.usual)
		f.kind = PACE_SLOW;
	return f;
}

/*
 * Finds steps that are late by `least` ns or more, and more often than by chance. Consecutive steps
 * are one event.
 */
static struct pace_found check_late(const struct pace *p, const struct pace_matrix *m, unsigned i,
	const struct row *w, double least)
{
	struct pace_found f = {.kind = PACE_EVEN, .rank = i};
	double calm[PACE_CELLS], level = INFINITY, expected, most = 0;
	unsigned late = 0, events = 0, ncalm = 0;
	bool before = false;

	for (unsigned k = 0; k < PACE_CELLS; k++) {
		double now = w->excess[k] - w->base;
		bool is_late = now >= least &&
			       chance_of_excess(&m->noise, &w->own, now, &f.spread) <= LATE;

		if (isnan(now))
			continue;
		if (!is_late)
			calm[ncalm++] = w->excess[k];
		if (is_late && !events)
			f.step = p->first_step + k * p->per_cell;
		events += is_late && !before;
		late += is_late;
		level = is_late ? fmin(level, now) : level;
		if (is_late && now > most) {
			most = now;
			f.worst = p->rank[i].longest_step[k];
		}
		before = is_late;
	}
	if (!late)
		return f;
	f.times = events;
	f.share = (double)late / (late + ncalm);
	f.usual = quantile_of(calm, ncalm, 0.5);
	f.seen = most;
	/*
	 * Delays that have not been seen on another rank may be as frequent as one break of a
	 * habit.
	 */
	expected = w->own.n * fmax(chance_of_excess(&m->noise, &w->own, level, &f.spread),
				      chance_of_break(m->noise.n - w->own.n));
	f.chance = compute_groups(p, m, w, p->n * chance_of_events(expected, events), level / 2,
		late - events, late - 1);
	/* For the longest delay of all, once. */
	f.chance_once = m->known * chance_of_excess(&m->noise, &w->own, most, &f.spread);
	if (events >= HABIT_TIMES && f.share >= JITTER_SHARE && f.chance <= FALSE_ALARMS)
		f.kind = PACE_JITTER;
	return f;
}

static struct pace_found check_pace_row(
	const struct pace *p, const struct pace_matrix *m, unsigned i, enum pace_kind kind)
{
	struct pace_found f = {.kind = PACE_EVEN};
	struct row w;

	if (compute_quantile_since(find_matrix_row(m, i), 0, 1) < MATTERS_NS)
		return f;
	init_row(&w, m, i);
	if (kind != PACE_STALL)
		f = check_slow(p, m, i, &w);
	if (kind == PACE_JITTER)
		f = f.kind == PACE_SLOW ? (struct pace_found){.kind = PACE_EVEN}
					: check_late(p, m, i, &w, MATTERS_NS);
	if (kind == PACE_STALL) {
		f = check_late(p, m, i, &w, STALL_MIN);
		f.kind = !f.times || f.chance_once > FALSE_ALARMS	   ? PACE_EVEN
			 : f.times < HABIT_TIMES || f.share < JITTER_SHARE ? PACE_STALL
									   : PACE_JITTER;
		f.step = f.kind == PACE_STALL ? f.worst : f.step;
	}
	noise_free(&w.own);
	return f;
}

/* Returns how much longer the rank's steps are. The rank with the largest result is reported. */
static double find_loss(const struct pace_found *f)
{
	return f->kind == PACE_SLOW ? f->seen - f->usual : f->seen;
}

struct pace_found judge_pace(const struct pace *p, enum pace_kind kind)
{
	struct pace_found best = {.kind = PACE_EVEN}, f;
	const struct pace_matrix *m = kind == PACE_STALL ? p->longest : p->mean;

	for (unsigned i = 0; m && i < p->n; i++) {
		f = check_pace_row(p, m, i, kind);
		if (f.kind != PACE_EVEN && find_loss(&f) > find_loss(&best))
			best = f;
	}
	return best;
}

bool is_late_by_messages(const struct pace *p, uint32_t rank, double ns)
{
	const struct rank_pace *r = &p->rank[rank];
	double v[PACE_CELLS];
	uint64_t steps = 0;
	unsigned n;

	for (unsigned k = 0; k < PACE_CELLS; k++)
		steps += r->n[k];
	if (steps < PACE_STEPS_MIN || r->messages < steps || !p->mean)
		return false;
	n = copy_known(find_matrix_row(p->mean, rank), 0, v);
	return n && quantile_of(v, n, 0.5) < ns / 2;
}
