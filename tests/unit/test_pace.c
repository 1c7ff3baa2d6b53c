/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks compute step by step, in runs with more steps than there are cells: each rank's cells are its own until all are put side by
 * side, whichever step it began with and in whichever order the ranks are read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/probe/model/times/pace.h"

#define RANKS 4
#define FIRST 100003u /* the first step: no multiple of what a cell has */
#define MS UINT64_C(1000000)

struct job {
	unsigned steps;
	unsigned begins[RANKS]; /* with this step, from 0 */
	unsigned ends[RANKS]; /* with the one before this; 0: with the last one */
	unsigned slow_from; /* of rank 2; 0: never */
	unsigned stall; /* of rank 1; 0: none */
	bool probed; /* rank 2 was not slow: it waited in a probe before its receive */
};

/* The step: its rank computes, and then all meet until 100 ms of it are over. */
static void pace_one_step(struct pace *p, const struct job *j, uint32_t rank, unsigned step)
{
	/* A little noise, the same each time, and another one for each rank. */
	uint64_t busy = 10 * MS +
			(rank * UINT64_C(7919) + step + 1) * UINT64_C(2654435761) / 4096 % 1000000;

	if (rank == 2 && j->slow_from && step >= j->slow_from)
		busy += 40 * MS;
	if (rank == 1 && j->stall && step == j->stall)
		busy += 3000 * MS;
	for (unsigned k = 0; k < 2; k++)
		note_pace(p, &(struct call){.rank = rank,
				     .comm = 7,
				     .step = FIRST + step,
				     .wait = !k && j->probed && rank == 2 ? 39 * MS : 0,
				     .start = step * 5000 * MS + busy + k * 10 * MS,
				     .dur = k ? 5000 * MS - busy - 10 * MS : 10 * MS});
}

static unsigned end_of_rank(const struct job *j, unsigned rank)
{
	return j->ends[rank] ? j->ends[rank] : j->steps;
}

static void run_job(struct pace *p, const struct job *j, bool side_by_side)
{
	pace_init(p, RANKS);
	p->steps = true;
	for (unsigned a = 0; a < (side_by_side ? j->steps : RANKS); a++)
		for (unsigned b = 0; b < (side_by_side ? RANKS : j->steps); b++) {
			unsigned rank = side_by_side ? b : a, step = side_by_side ? a : b;

			if (step >= j->begins[rank] && step < end_of_rank(j, rank))
				pace_one_step(p, j, rank, step);
		}
	end_pace(p);
}

static struct pace_found judge_job(const struct job *j, enum pace_kind kind, bool side_by_side)
{
	struct pace p;
	struct pace_found f;

	run_job(&p, j, side_by_side);
	f = judge_pace(&p, kind);
	pace_free(&p);
	return f;
}

static const struct job jobs[] = {
	{.steps = 200, .slow_from = 140, .stall = 77},
	{.steps = 1000, .slow_from = 701, .stall = 333},
	{.steps = 1000, .begins = {0, 3, 0, 301}, .slow_from = 701, .stall = 333},
	{.steps = 3001, .begins = {1500, 0, 7, 0}, .slow_from = 2500, .stall = 2001},
};

static void slow_since_a_step(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
		for (unsigned way = 0; way < 2; way++) {
			struct pace_found f = judge_job(&jobs[i], PACE_SLOW, way);
			uint64_t cell = jobs[i].steps / PACE_CELLS * 2 + 1;

			assert_int_equal(f.kind, PACE_SLOW);
			assert_int_equal(f.rank, 2);
			assert_in_range(f.step, FIRST + jobs[i].slow_from - cell,
				FIRST + jobs[i].slow_from + cell);
			assert_true(f.seen - f.usual > 39e6 && f.seen - f.usual < 41e6);
		}
}

static void one_stall(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
		for (unsigned way = 0; way < 2; way++) {
			struct pace_found f = judge_job(&jobs[i], PACE_STALL, way);

			assert_int_equal(f.kind, PACE_STALL);
			assert_int_equal(f.rank, 1);
			assert_int_equal(f.step, FIRST + jobs[i].stall);
			assert_int_equal(f.times, 1);
		}
}

static void a_wait_in_a_probe_is_not_slow(void **state)
{
	const struct job j = {.steps = 200, .slow_from = 140, .probed = true};

	(void)state;
	for (unsigned kind = PACE_SLOW; kind <= PACE_STALL; kind++)
		assert_int_equal(judge_job(&j, kind, true).kind, PACE_EVEN);
}

/* A job in which nothing is unusual, whichever rank came later. */
static void even(void **state)
{
	const struct job j = {.steps = 1777, .begins = {0, 900, 13, 512}};

	(void)state;
	for (unsigned kind = PACE_SLOW; kind <= PACE_STALL; kind++)
		assert_int_equal(judge_job(&j, kind, true).kind, PACE_EVEN);
}

/* Every step that ended is in the cell of its number, which is the same for all ranks. */
static void check_cells(const struct pace *p, const struct job *j)
{
	for (unsigned i = 0; i < RANKS; i++) {
		unsigned n[PACE_CELLS] = {0};

		/* The last one has no end. */
		for (unsigned step = j->begins[i]; step + 1 < end_of_rank(j, i); step++) {
			assert_in_range(
				(FIRST + step - p->first_step) / p->per_cell, 0, PACE_CELLS - 1);
			n[(FIRST + step - p->first_step) / p->per_cell]++;
		}
		for (unsigned k = 0; k < PACE_CELLS; k++) {
			uint64_t from = p->first_step + k * p->per_cell;

			assert_int_equal(p->rank[i].n[k], n[k]);
			assert_int_equal(p->rank[i].calls[k], 2 * n[k]);
			if (n[k])
				assert_in_range(
					p->rank[i].longest_step[k], from, from + p->per_cell - 1);
		}
	}
}

static void cells_are_those_of_the_steps(void **state)
{
	/* Ranks that have few steps each and many together, as where processes are replaced. */
	static const struct job more[] = {
		{.steps = 400, .begins = {0, 150, 0, 380}, .ends = {201, 0, 99, 0}},
		{.steps = 1200, .begins = {1000, 999, 0, 0}, .ends = {0, 0, 200, 300}},
	};
	struct pace p;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		const struct job *j = i < 4 ? &jobs[i] : &more[i - 4];

		run_job(&p, j, i % 2);
		check_cells(&p, j);
		pace_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_since_a_step),
		cmocka_unit_test(one_stall),
		cmocka_unit_test(a_wait_in_a_probe_is_not_slow),
		cmocka_unit_test(even),
		cmocka_unit_test(cells_are_those_of_the_steps),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
