/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the steps that are recorded, by the keys step, start_step, step_interval, collect_times, start_iteration together. */
#include "config/rooms/room.h"
#include "config/rooms/steps.h"

#define LAST_STEP UINT32_MAX

static uint64_t get_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t get_step_interval(const struct config *c)
{
	const struct steps_keys *keys = get_steps_keys(c);

	return keys->step_interval > 0 ? (uint64_t)keys->step_interval : 1;
}

/* Returns the first of start_step, start_step + step_interval ... that is not below `from`. */
static uint64_t find_first_due_step(const struct config *c, uint64_t from)
{
	uint64_t start = (uint64_t)get_steps_keys(c)->start_step, n = get_step_interval(c);

	return from <= start ? start : start + (from - start + n - 1) / n * n;
}

static struct range listed_steps(const struct config *c, uint32_t i)
{
	const struct steps_keys *keys = get_steps_keys(c);

	return keys->step.n ? keys->step.item[i] : (struct range){0, LAST_STEP};
}

/*
 * Returns how many steps before `step`, from the first of the training on, the list and the
 * interval allow.
 */
static uint64_t allowed_before(const struct config *c, uint64_t step)
{
	const struct steps_keys *keys = get_steps_keys(c);
	uint64_t n = 0, begin = get_larger((uint64_t)keys->start_iteration, keys->in_force_from);

	for (uint32_t i = 0; i < (keys->step.n ? keys->step.n : 1); i++) {
		struct range r = listed_steps(c, i);
		uint64_t first = find_first_due_step(c, get_larger(r.lo, begin)),
			 end = r.hi < step ? r.hi + 1 : step;

		if (first < end)
			n += (end - 1 - first) / get_step_interval(c) + 1;
	}
	return n;
}

bool config_step_wanted(const struct config *c, uint64_t step)
{
	const struct steps_keys *keys = get_steps_keys(c);

	if (!keys->dynamic_on || keys->collect_times < 0 || !ranges_has(&keys->step, step) ||
		find_first_due_step(c, step) != step)
		return false;
	return !keys->collect_times || allowed_before(c, step) < (uint64_t)keys->collect_times;
}

uint64_t config_find_next_step(const struct config *c, uint64_t from)
{
	const struct steps_keys *keys = get_steps_keys(c);

	from = get_larger(get_larger(from, (uint64_t)keys->start_iteration), keys->in_force_from);
	for (uint32_t i = 0; i < (keys->step.n ? keys->step.n : 1); i++) {
		struct range r = listed_steps(c, i);
		uint64_t step = find_first_due_step(c, get_larger(r.lo, from));

		if (step <= r.hi && step <= LAST_STEP)
			return config_step_wanted(c, step) ? step : UINT64_MAX;
	}
	return UINT64_MAX;
}
