/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which steps are recorded: the keys step, start_step, step_interval, collect_times, start_iteration together. */
#include "config/config.h"

#define LAST_STEP UINT32_MAX

static uint64_t larger_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t interval_of_steps(const struct config *c)
{
	return c->step_interval > 0 ? (uint64_t)c->step_interval : 1;
}

/* The first of start_step, start_step + step_interval ... from `from` on. */
static uint64_t first_due_step(const struct config *c, uint64_t from)
{
	uint64_t start = (uint64_t)c->start_step, n = interval_of_steps(c);

	return from <= start ? start : start + (from - start + n - 1) / n * n;
}

static struct range listed_steps(const struct config *c, uint32_t i)
{
	return c->step.n ? c->step.item[i] : (struct range){0, LAST_STEP};
}

/* Number of steps that the list and the interval allow before `step`, from the training's first step on. */
static uint64_t allowed_before(const struct config *c, uint64_t step)
{
	uint64_t n = 0, begin = larger_of((uint64_t)c->start_iteration, c->in_force_from);

	for (uint32_t i = 0; i < (c->step.n ? c->step.n : 1); i++) {
		struct range r = listed_steps(c, i);
		uint64_t first = first_due_step(c, larger_of(r.lo, begin)),
			 end = r.hi < step ? r.hi + 1 : step;

		if (first < end)
			n += (end - 1 - first) / interval_of_steps(c) + 1;
	}
	return n;
}

bool config_step_wanted(const struct config *c, uint64_t step)
{
	if (!c->dynamic_on || c->collect_times < 0 || !ranges_contain(&c->step, step) ||
		first_due_step(c, step) != step)
		return false;
	return !c->collect_times || allowed_before(c, step) < (uint64_t)c->collect_times;
}

uint64_t config_step_next(const struct config *c, uint64_t from)
{
	from = larger_of(larger_of(from, (uint64_t)c->start_iteration), c->in_force_from);
	for (uint32_t i = 0; i < (c->step.n ? c->step.n : 1); i++) {
		struct range r = listed_steps(c, i);
		uint64_t step = first_due_step(c, larger_of(r.lo, from));

		if (step <= r.hi && step <= LAST_STEP)
			return config_step_wanted(c, step) ? step : UINT64_MAX;
	}
	return UINT64_MAX;
}
