/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

#define PER_CELL_MAX (1u << 15) /* steps: n of a cell is 16 bits wide */
#define SLOW_STEPS 5
#define CHANCE_STEPS 8
#define SLOW_SHARE 0.9 /* of the steps from there on */
#define SLOW_MIN 8e6 /* ns in a step */
#define SLOW_SPREADS 5 /* times the spread of the others */
#define SLOW_ABOVE 0.25 /* relative to the others' time */
#define APART_STEPS 8
#define APART_TIMES 2
#define STALL_MIN 500e6
#define STALL_TIMES 20
#define STALLS_MAX 3
#define JITTER_TIMES 3 /* late steps ... */
#define JITTER_SHARE 0.1 /* ... and their share */
#define JITTER_USUAL 2 /* rare steps are included if at least this many late ones are not rare */
#define RARE_ALIKE \
	4 /* rare steps with the same number of calls: fewer have no habit of their own */

void pace_init(struct pace *p, unsigned nrank)
{
	*p = (struct pace){.rank = tool_alloc(nrank * sizeof(*p->rank)), .n = nrank};
}

void pace_free(struct pace *p)
{
	free(p->rank);
	free(p->middle);
}

/* Adds cell `from` to cell `to`, which must not be later. */
static void move_cell(struct rank_pace *r, unsigned to, unsigned from)
{
	if (to == from)
		return;
	if (r->n[from] && (!r->n[to] || r->longest[from] > r->longest[to])) {
		r->longest[to] = r->longest[from];
		r->longest_step[to] = r->longest_step[from];
	}
	r->cell[to] += r->cell[from];
	r->calls[to] += r->calls[from];
	r->n[to] = (uint16_t)(r->n[to] + r->n[from]);
	r->longest[from] = r->cell[from] = 0;
	r->longest_step[from] = r->calls[from] = r->n[from] = 0;
}

/* Doubles the steps per cell. */
static void halve_cells(struct rank_pace *r)
{
	for (unsigned k = 0; k < PACE_CELLS; k++)
		move_cell(r, (unsigned)((r->base % 2 + k) / 2), k);
	r->per_cell *= 2;
	r->base /= 2;
}

static void end_pace_step(struct rank_pace *r, uint64_t until)
{
	double outside = (double)(until - r->begun) - r->inside;
	uint64_t k;

	if (until < r->begun || outside < 0)
		return;
	if (!r->per_cell) {
		r->per_cell = 1;
		r->base = r->step;
	}
	while ((k = r->step / r->per_cell - r->base) >= PACE_CELLS) {
		if (r->per_cell >= PER_CELL_MAX)
			return;
		halve_cells(r);
	}
	r->cell[k] += (float)outside;
	r->n[k]++;
	r->calls[k] += r->made;
	if ((float)outside >= r->longest[k]) {
		r->longest[k] = (float)outside;
		r->longest_step[k] = (uint32_t)r->step;
	}
}

/*
 * An asynchronous operation is in flight until it has completed. If no Wait for it is recorded, the rank may have waited all the time, so
 * this is not counted as computing: for the rank that arrives last it is only a moment.
 */
static void add_covered_time(struct rank_pace *r, const struct pace_call *c)
{
	uint64_t end = c->start + c->dur, from = c->start > r->covered ? c->start : r->covered;

	if (end <= from)
		return;
	r->inside += (double)(end - from);
	r->covered = end;
}

static void take_next_call(struct rank_pace *r)
{
	const struct pace_call c = r->ahead[r->first_ahead % PACE_AHEAD];
	bool waited = c.bits & CALL_ASYNC && c.bits & CALL_WAITED;

	r->first_ahead = (r->first_ahead + 1) % PACE_AHEAD;
	r->nahead--;
	/* Too late: that step has been counted. */
	if (r->any && c.step < r->step)
		return;
	if (r->any && c.step != r->step)
		end_pace_step(r, r->end);
	if (!r->any || c.step != r->step) {
		/* Computation before the first call of a step belongs to that step. */
		r->begun = r->any ? r->end : c.start;
		r->step = c.step;
		r->inside = 0;
		r->made = 0;
	}
	r->any = true;
	if (c.start + c.dur > r->end)
		r->end = c.start + c.dur;
	r->made++;
	if (!waited)
		add_covered_time(r, &c);
	else if (!(c.bits & CALL_WAIT_SHARED))
		r->inside += (double)c.wait;
}

void note_pace(struct pace *p, const struct call *c)
{
	struct rank_pace *r = &p->rank[c->rank];
	unsigned at;

	if (!p->steps || !c->comm || c->bits & CALL_NESTED)
		return;
	if (r->nahead == PACE_AHEAD)
		take_next_call(r);
	r->messages += (c->bits & CALL_P2P) != 0;
	at = r->first_ahead + r->nahead++;
	for (; at > r->first_ahead && r->ahead[(at - 1) % PACE_AHEAD].start > c->start; at--)
		r->ahead[at % PACE_AHEAD] = r->ahead[(at - 1) % PACE_AHEAD];
	r->ahead[at % PACE_AHEAD] = (struct pace_call){c->start, c->dur, c->wait, c->step, c->bits};
}

/* ---- ranks that take longer ---- */

static int by_double(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double quantile_of(double *v, unsigned n, double q)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_double);
	return v[(unsigned)(q * (n - 1) + 0.5)];
}

/* Cells of steps with more or fewer calls than most: an evaluation, a checkpoint. Their times say nothing about the others. */
static void find_rare_steps(const struct rank_pace *r, bool rare[PACE_CELLS])
{
	unsigned known = 0;

	for (unsigned k = 0; k < PACE_CELLS; k++)
		known += r->n[k] > 0;
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		unsigned same = 0, like = 0;

		/* There are few different numbers of calls: mostly one of the first cells has the same. */
		while (like < k && r->calls[like] != r->calls[k])
			like++;
		if (like < k) {
			rare[k] = rare[like];
			continue;
		}
		for (unsigned o = 0; o < PACE_CELLS; o++)
			same += r->n[o] > 0 && r->calls[o] == r->calls[k];
		rare[k] = same * 10 < known * 3;
	}
}

/* True if no number of calls is usual, so that none is rare. */
static bool are_steps_alike(
	const struct pace *p, const struct rank_pace *r, const bool rare[PACE_CELLS])
{
	unsigned found = 0, known = 0;

	if (p->per_cell > 1)
		return false;
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		known += r->n[k] > 0;
		found += r->n[k] > 0 && rare[k];
	}
	return 2 * found < known;
}

/*
 * The two middle values of all ranks in each cell. The median without one of the ranks is the first or the second; for an even number of
 * ranks the lower one (of two ranks the faster one, as the other one may be the slow one).
 */
struct pace_middle {
	double low[PACE_CELLS], high[PACE_CELLS];
	unsigned n[PACE_CELLS];
};

static double time_in_cell(const struct rank_pace *r, unsigned k)
{
	return (double)r->cell[k] / r->n[k];
}

/* v: room for a value of each rank. */
static void find_middles(const struct pace *p, struct pace_middle *m, double *v)
{
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		unsigned n = 0;

		for (unsigned o = 0; o < p->n; o++)
			if (p->rank[o].n[k])
				v[n++] = time_in_cell(&p->rank[o], k);
		m->n[k] = n;
		if (n < 2)
			continue;
		qsort(v, n, sizeof(*v), by_double);
		m->low[k] = v[(n - 2) / 2];
		m->high[k] = v[(n - 2) / 2 + 1];
	}
}

/* The median of the ranks other than i, where i has a value too. */
static double middle_of_others(
	const struct pace *p, const struct pace_middle *m, unsigned i, unsigned k)
{
	return time_in_cell(&p->rank[i], k) <= m->low[k] ? m->high[k] : m->low[k];
}

/* Time of rank i above the median of the others, by cell; NAN if it is not known. */
static unsigned find_excess(
	const struct pace *p, const struct pace_middle *m, unsigned i, double *excess)
{
	bool rare[PACE_CELLS], alike;
	unsigned known = 0;

	find_rare_steps(&p->rank[i], rare);
	alike = are_steps_alike(p, &p->rank[i], rare);
	for (unsigned k = 0; k < PACE_CELLS; k++) {
		excess[k] = NAN;
		if (!p->rank[i].n[k] || m->n[k] < 2 || (k + 1) * p->per_cell <= PACE_STEPS_WARM ||
			(alike && rare[k]))
			continue;
		excess[k] = time_in_cell(&p->rank[i], k) - middle_of_others(p, m, i, k);
		known++;
	}
	return known;
}

/*
 * Includes rare steps, if there are several of their kind: the rank's time above its own usual time in those, for one rank may lack there
 * what all the others have.
 */
static void add_rare_steps(
	const struct pace *p, const struct pace_middle *m, unsigned i, double *excess)
{
	const struct rank_pace *r = &p->rank[i];
	double alike[PACE_CELLS], now, was[PACE_CELLS];

	memcpy(was, excess, sizeof(was));
	for (unsigned k = PACE_STEPS_WARM; k < PACE_CELLS; k++) {
		unsigned n = 0;

		if (!isnan(was[k]) || !r->n[k] || m->n[k] < 2)
			continue;
		for (unsigned o = PACE_STEPS_WARM; o < PACE_CELLS; o++)
			if (r->n[o] && m->n[o] > 1 && r->calls[o] == r->calls[k])
				alike[n++] = time_in_cell(r, o) - middle_of_others(p, m, i, o);
		now = time_in_cell(r, k) - middle_of_others(p, m, i, k);
		if (n >= RARE_ALIKE)
			excess[k] = now - fmax(0, quantile_of(alike, n, 0.25));
	}
}

static unsigned count_above(const double *excess, double limit)
{
	unsigned n = 0;

	for (unsigned k = 0; k < PACE_CELLS; k++)
		n += !isnan(excess[k]) && excess[k] > limit;
	return n;
}

static unsigned copy_known(const double *from, unsigned first, double *to)
{
	unsigned n = 0;

	for (unsigned k = first; k < PACE_CELLS; k++)
		if (!isnan(from[k]))
			to[n++] = from[k];
	return n;
}

/* Merges cells until they have the given number of steps, from step base * per_cell on. false: there are more steps than cells. */
static bool fit_cells(struct pace *p, uint64_t base)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct rank_pace *r = &p->rank[i];

		for (unsigned k = 0; r->per_cell && k < PACE_CELLS; k++)
			if (r->n[k] && r->base + k - base >= PACE_CELLS)
				return p->per_cell >= PER_CELL_MAX;
	}
	return true;
}

/* The same cells for all ranks. */
static void align_cells(struct pace *p)
{
	uint64_t base;
	bool fit;

	p->per_cell = 1;
	for (unsigned i = 0; i < p->n; i++)
		if (p->rank[i].per_cell > p->per_cell)
			p->per_cell = p->rank[i].per_cell;
	do {
		base = UINT64_MAX;
		for (unsigned i = 0; i < p->n; i++) {
			struct rank_pace *r = &p->rank[i];

			while (r->per_cell && r->per_cell < p->per_cell)
				halve_cells(r);
			if (r->per_cell && r->base < base)
				base = r->base;
		}
		fit = fit_cells(p, base);
		p->per_cell *= fit ? 1 : 2;
	} while (!fit);
	for (unsigned i = 0; i < p->n; i++) {
		struct rank_pace *r = &p->rank[i];

		for (unsigned k = PACE_CELLS; r->per_cell && r->base > base && k-- > 0;) {
			uint64_t to = r->base - base + k;

			if (to < PACE_CELLS)
				move_cell(r, (unsigned)to, k);
			else
				r->n[k] = 0;
		}
		r->base = base;
		p->any |= r->any;
	}
	p->first_step = base == UINT64_MAX ? 0 : base * p->per_cell;
}

void end_pace(struct pace *p)
{
	double *v = tool_alloc((p->n + 1) * sizeof(*v));

	for (unsigned i = 0; i < p->n; i++)
		while (p->rank[i].nahead)
			take_next_call(&p->rank[i]);
	align_cells(p);
	p->middle = tool_alloc(sizeof(*p->middle));
	find_middles(p, p->middle, v);
	free(v);
}

bool is_late_by_messages(const struct pace *p, uint32_t rank, double ns)
{
	const struct rank_pace *r = &p->rank[rank];
	double excess[PACE_CELLS], known[PACE_CELLS];
	uint64_t steps = 0;
	unsigned n;

	for (unsigned k = 0; k < PACE_CELLS; k++)
		steps += r->n[k];
	if (steps < PACE_STEPS_MIN || r->messages < steps)
		return false;
	find_excess(p, p->middle, rank, excess);
	n = copy_known(excess, 0, known);
	return n && quantile_of(known, n, 0.5) < ns / 2;
}

/* Spread of a rank's excess: from its median to its p90. */
static double find_spread(const double *excess, unsigned first)
{
	double v[PACE_CELLS];
	unsigned n = copy_known(excess, first, v);
	double middle = quantile_of(v, n, 0.5);

	return quantile_of(v, n, 0.9) - middle;
}

/*
 * The same for differences from step to step. A single change of the level affects one difference only: if the rank of the comparison
 * becomes slow, the apparent gain of this one is no spread.
 */
static double find_step_spread(const double *excess)
{
	double v[PACE_CELLS];
	unsigned n = copy_known(excess, 0, v);

	for (unsigned k = 1; k < n; k++)
		v[k - 1] = fabs(v[k] - v[k - 1]);
	return n > 1 ? quantile_of(v, n - 1, 0.9) : 0;
}

/*
 * The spread of the rank's own time. With two ranks, the excess of the calm one is the negative of the other's, and half of the time it
 * seems to gain what a jitter costs the other.
 */
static double find_own_spread(const struct rank_pace *r, const double *excess)
{
	double v[PACE_CELLS];
	unsigned n = 0;

	for (unsigned k = 0; k < PACE_CELLS; k++)
		if (!isnan(excess[k]))
			v[n++] = time_in_cell(r, k);
	return quantile_of(v, n, 0.9) - quantile_of(v, n, 0.5);
}

/*
 * Few consecutive long steps may be chance if some earlier ones were long too; so may more of them, if not all are long and several earlier
 * ones were.
 */
static bool is_chance_run(
	const double *excess, double limit, unsigned first, unsigned known, double share)
{
	unsigned before = 0;

	for (unsigned k = 0; k < first; k++)
		before += !isnan(excess[k]) && excess[k] > limit;
	return (before > 1 && known < CHANCE_STEPS) || (before >= JITTER_TIMES && share < 1);
}

/* The cell from which on the rank is slow: the first one after which nearly all are. PACE_CELLS: none. */
static unsigned slow_since(const double *excess, double limit, double *share)
{
	unsigned above = 0, known = 0, best = PACE_CELLS, since = 0;

	for (unsigned k = PACE_CELLS; k-- > 0;) {
		if (isnan(excess[k]))
			continue;
		known++;
		above += excess[k] > limit;
		if (excess[k] > limit && known >= SLOW_STEPS && above >= SLOW_SHARE * known) {
			best = k;
			since = known;
			*share = (double)above / known;
		}
	}
	return is_chance_run(excess, limit, best, since, *share) ? PACE_CELLS : best;
}

/* The median of the spreads without that of rank i; all: in ascending order. */
static double others_spread(const double *all, unsigned n, double own)
{
	unsigned k = (n - 1) / 2;

	return n < 2 ? 0 : own <= all[k] && k + 1 < n ? all[k + 1] : all[k];
}

/* True if all long steps have the same distance: something that the program does periodically. */
static bool is_periodic(const double *excess, double limit)
{
	unsigned last = PACE_CELLS, gap = 0, n = 0, odd = 0;

	for (unsigned k = 0; k < PACE_CELLS; k++) {
		if (isnan(excess[k]) || excess[k] <= limit)
			continue;
		if (last < PACE_CELLS && gap && k - last != gap)
			odd++;
		else if (last < PACE_CELLS && !gap)
			gap = k - last;
		n++;
		last = k;
	}
	return gap > 1 && odd * 4 < n;
}

/* Deviation of rank o from its usual time: the 95 % quantile over its steps. v: room for PACE_CELLS. */
static double own_deviation(const struct rank_pace *r, const double *excess, double *v)
{
	unsigned n = 0;
	double middle;

	for (unsigned k = 0; k < PACE_CELLS; k++)
		if (!isnan(excess[k]))
			v[n++] = time_in_cell(r, k);
	middle = quantile_of(v, n, 0.5);
	for (unsigned k = 0; k < n; k++)
		v[k] = fabs(v[k] - middle);
	return quantile_of(v, n, 0.95);
}

/*
 * True if nearly all steps since then are far above nearly all steps before and on other ranks: this many are no chance, even with a large
 * spread. With two ranks, the other one's excess is the negative of this one's, so its own time is used. level: with enough steps on either
 * side it is enough to be above these, if the median is far above the rank's earlier usual time.
 */
static bool is_apart(
	const struct pace *p, unsigned i, const double *all, unsigned first, bool level)
{
	double *v = tool_alloc((size_t)p->n * PACE_CELLS * sizeof(*v));
	double least, most, middle, other = 0;
	unsigned n = copy_known(all + (size_t)i * PACE_CELLS, first, v);
	bool enough = n >= APART_STEPS;

	least = quantile_of(v, n, 0.1);
	middle = quantile_of(v, n, 0.5);
	if (p->n == 2)
		other = own_deviation(&p->rank[!i], all + (size_t)!i * PACE_CELLS, v);
	n = 0;
	for (unsigned k = 0; k < first; k++)
		if (!isnan(all[(size_t)i * PACE_CELLS + k]))
			v[n++] = fabs(all[(size_t)i * PACE_CELLS + k]);
	level = level && n >= APART_STEPS && middle > APART_TIMES * quantile_of(v, n, 0.5);
	if (level)
		other = fmax(other, quantile_of(v, n, 0.95));
	for (unsigned o = 0; o < p->n && p->n > 2; o++)
		for (unsigned k = 0; o != i && k < PACE_CELLS; k++)
			if (!isnan(all[(size_t)o * PACE_CELLS + k]))
				v[n++] = fabs(all[(size_t)o * PACE_CELLS + k]);
	most = fmax(other, quantile_of(v, n, 0.95));
	free(v);
	return enough && least > SLOW_MIN && least > (level ? 1 : APART_TIMES) * most;
}

/*
 * The cell from which on rank i is slow; PACE_CELLS: it is not. A rank that was late from time to time before has a level of its own, which
 * nearly all steps since then exceed, and nearly none before.
 */
static unsigned find_slow_cell(
	const struct pace *p, unsigned i, const double *all, double limit, double *share)
{
	const double *excess = all + (size_t)i * PACE_CELLS;
	unsigned first = slow_since(excess, limit, share);

	for (limit *= 2; first == PACE_CELLS && count_above(excess, limit) >= APART_STEPS;
		limit *= 2) {
		first = slow_since(excess, limit, share);
		if (first < PACE_CELLS && !is_apart(p, i, all, first, true))
			first = PACE_CELLS;
	}
	return first;
}

/* The usual time of the other ranks from that cell on. */
static double usual_since(const struct pace *p, const struct pace_middle *m, unsigned i,
	const double *excess, unsigned first)
{
	double v[PACE_CELLS];
	unsigned n = 0;

	for (unsigned k = first; k < PACE_CELLS; k++)
		if (!isnan(excess[k]))
			v[n++] = middle_of_others(p, m, i, k);
	return quantile_of(v, n, 0.5);
}

static uint64_t first_late_step(const struct pace *p, const double *excess, double limit)
{
	unsigned k = 0;

	while (k + 1 < PACE_CELLS && (isnan(excess[k]) || excess[k] <= limit))
		k++;
	return p->first_step + k * p->per_cell;
}

/* all: the excess of all ranks. *maybe: the slowest rank that would be found without the limit. */
static void judge_rank_pace(const struct pace *p, const struct pace_middle *m, unsigned i,
	double *all, double spread, enum pace_kind kind, struct pace_found *f,
	struct pace_found *maybe)
{
	double *excess = all + (size_t)i * PACE_CELLS;
	double v[PACE_CELLS], limit = SLOW_SPREADS * spread, share = 0, middle, top;
	unsigned first, n, late;

	if (limit < SLOW_MIN)
		limit = SLOW_MIN;
	first = find_slow_cell(p, i, all, limit / 2, &share);
	if (kind == PACE_SLOW && first < PACE_CELLS) {
		struct pace_found *to;

		middle = usual_since(p, m, i, excess, first);
		n = copy_known(excess, first, v);
		top = quantile_of(v, n, 0.5);
		to = top > limit ? f : maybe;
		if (top > SLOW_ABOVE * middle && top > to->seen - to->usual)
			*to = (struct pace_found){PACE_SLOW, i, p->first_step + first * p->per_cell,
				middle, middle + top, spread, share, 0};
		return;
	}
	if (kind != PACE_JITTER || first < PACE_CELLS)
		return;
	if (count_above(excess, limit) >= JITTER_USUAL)
		add_rare_steps(p, m, i, excess);
	n = copy_known(excess, 0, v);
	top = quantile_of(v, n, 0.9);
	if (!n)
		return;
	late = count_above(excess, limit);
	/* The median of the steps that are not late, which sorting has put first. */
	middle = v[(n - late) / 2];
	if (late >= JITTER_TIMES && late >= JITTER_SHARE * n && late < n && top - middle >= limit &&
		top > f->seen && !is_periodic(excess, limit > top / 2 ? limit : top / 2))
		*f = (struct pace_found){PACE_JITTER, i, first_late_step(p, excess, limit), middle,
			top, spread, (double)late / n, 0};
}

/* Several stalls of one rank, and of no other, are jitter, unless the program makes them periodically. */
static bool is_jitter(const struct rank_pace *r, struct pace_found *f, double limit)
{
	double longest[PACE_CELLS];
	unsigned steps = 0;

	for (unsigned k = 0; k < PACE_CELLS; k++) {
		steps += r->n[k];
		longest[k] = r->n[k] ? (double)r->longest[k] : NAN;
	}
	f->share = (double)f->times / steps;
	return f->times >= JITTER_TIMES && f->share >= JITTER_SHARE && !is_periodic(longest, limit);
}

/* Far longer than anything else in this run, once or a few times. */
static struct pace_found judge_stall(const struct pace *p)
{
	struct pace_found f = {.kind = PACE_EVEN};
	bool others = false;
	uint64_t first = 0;
	double *all = tool_alloc((size_t)p->n * PACE_CELLS * sizeof(*all)), usual;
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; k < PACE_CELLS; k++)
			if (p->rank[i].n[k] && (k + 1) * p->per_cell > PACE_STEPS_WARM)
				all[n++] = (double)p->rank[i].longest[k];
	usual = quantile_of(all, n, 0.9);
	for (unsigned i = 0; i < p->n && n >= PACE_STEPS_MIN * p->n / 2; i++)
		for (unsigned k = 0; k < PACE_CELLS; k++) {
			double now = (double)p->rank[i].longest[k];
			unsigned too = 0, there = 0;

			if (!p->rank[i].n[k] || now < STALL_MIN || now < STALL_TIMES * usual ||
				(k + 1) * p->per_cell <= PACE_STEPS_WARM)
				continue;
			for (unsigned o = 0; o < p->n; o++) {
				there += p->rank[o].n[k] > 0;
				too += (double)p->rank[o].longest[k] > now / 2;
			}
			/* An evaluation, a checkpoint: the others did the same. */
			if (2 * too > there && there > 1)
				continue;
			others |= f.times++ && f.rank != i;
			first = f.times == 1 ? p->rank[i].longest_step[k] : first;
			if (f.kind == PACE_STALL && f.seen >= now)
				continue;
			f.kind = PACE_STALL;
			f.rank = i;
			f.step = p->rank[i].longest_step[k];
			f.seen = now;
			f.usual = usual;
		}
	free(all);
	if (f.kind == PACE_STALL && !others &&
		is_jitter(&p->rank[f.rank], &f, fmax(STALL_MIN, STALL_TIMES * usual))) {
		f.kind = PACE_JITTER;
		f.step = first;
	} else if (f.times > STALLS_MAX) {
		f.kind = PACE_EVEN;
	}
	return f;
}

struct pace_found judge_pace(const struct pace *p, enum pace_kind kind)
{
	struct pace_found f = {.kind = PACE_EVEN};
	struct pace_found maybe = f;
	const struct pace_middle *m = p->middle;
	double *excess, *calm, *sorted;
	unsigned known = 0;

	if (!p->any || p->n < 2 || !p->steps)
		return f;
	if (kind == PACE_STALL)
		return judge_stall(p);
	excess = tool_alloc((size_t)p->n * PACE_CELLS * sizeof(*excess));
	calm = tool_alloc(p->n * sizeof(*calm));
	sorted = tool_alloc(p->n * sizeof(*sorted));
	for (unsigned i = 0; i < p->n; i++) {
		double *own = excess + (size_t)i * PACE_CELLS;
		unsigned k = find_excess(p, m, i, own);

		known = k > known ? k : known;
		calm[i] = fmin(find_step_spread(own), find_spread(own, 0));
		if (p->n == 2)
			calm[i] = fmin(calm[i], find_own_spread(&p->rank[i], own));
		sorted[i] = calm[i];
	}
	qsort(sorted, p->n, sizeof(*sorted), by_double);
	for (unsigned i = 0; i < p->n && known >= PACE_STEPS_MIN; i++)
		judge_rank_pace(
			p, m, i, excess, others_spread(sorted, p->n, calm[i]), kind, &f, &maybe);
	if (f.kind == PACE_EVEN && maybe.kind != PACE_EVEN &&
		is_apart(p, maybe.rank, excess,
			(unsigned)((maybe.step - p->first_step) / p->per_cell), false))
		f = maybe;
	free(excess);
	free(calm);
	free(sorted);
	return f;
}
