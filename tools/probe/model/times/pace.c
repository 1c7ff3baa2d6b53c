/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/pace.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

#define PER_CELL_MAX (1u << 15) /* steps: n of a cell has 16 bits */

void pace_init(struct pace *p, unsigned nrank)
{
	*p = (struct pace){.rank = tool_alloc(nrank * sizeof(*p->rank)), .n = nrank};
}

void pace_free(struct pace *p)
{
	free(p->rank);
	free_pace_matrix(p->mean);
	free_pace_matrix(p->longest);
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

/* Doubles the number of steps per cell. */
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
 * An asynchronous operation is in flight until it has completed. If no Wait for it is recorded, the
 * rank may have been waiting, so this time does not count as computing. For the rank that arrives
 * last it is only a moment. The wait of a blocking receive, in a probe, came before it.
 */
static void add_covered_time(struct rank_pace *r, const struct pace_call *c)
{
	uint64_t start = c->start - (c->bits & CALL_ASYNC ? 0 : c->wait), end = c->start + c->dur;
	uint64_t open = r->covered > r->begun ? r->covered : r->begun;
	uint64_t from = start > open ? start : open;

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
	/* The call came too late: its step has been counted already. */
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

/* True if the cells of all ranks fit into PACE_CELLS cells that begin with cell `base`, or cells can have no more steps. */
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

/* Gives all ranks the same cells. */
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
	for (unsigned i = 0; i < p->n; i++)
		while (p->rank[i].nahead)
			take_next_call(&p->rank[i]);
	align_cells(p);
	if (!p->any || p->n < 2 || !p->steps)
		return;
	p->mean = compute_pace_matrix(p, false);
	p->longest = compute_pace_matrix(p, true);
}
