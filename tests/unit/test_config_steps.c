/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are recorded, against a training that goes through them one by one and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/config.h"

#define STEPS 80

static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* Ascending, and none touches the next, as ranges_merge() leaves them. */
static struct ranges some_ranges(struct range *r)
{
	uint32_t n = below(4), at = below(20);

	for (uint32_t i = 0; i < n; i++) {
		r[i].lo = at;
		r[i].hi = at + below(15);
		at = (uint32_t)r[i].hi + 2 + below(10);
	}
	return (struct ranges){n, r};
}

static void one_by_one(void **state)
{
	unsigned none = 0;

	(void)state;
	for (unsigned k = 0; k < 20000; k++) {
		struct range item[4];
		struct config c = {
			.step = some_ranges(item),
			.start_step = below(3) ? 0 : below(50),
			.step_interval = below(2) ? 1 : below(12),
			.collect_times = below(2) ? 0 : (int64_t)below(9) - 1,
			.start_iteration = below(2) ? 0 : below(60),
			.dynamic_on = below(20) != 0,
			.in_force_from = below(2) ? 0 : below(60),
		};
		/* Steps that another configuration recorded before do not count. */
		uint64_t first = (uint64_t)c.start_iteration > c.in_force_from
					 ? (uint64_t)c.start_iteration
					 : c.in_force_from;
		uint64_t got = config_find_next_step(&c, 0);
		int64_t recorded = 0;

		for (uint64_t s = first; s < STEPS; s++) {
			bool listed = !c.step.n, due = s >= (uint64_t)c.start_step;

			for (uint32_t i = 0; i < c.step.n; i++)
				listed |= s >= item[i].lo && s <= item[i].hi;
			if (due && c.step_interval > 1)
				due = (s - (uint64_t)c.start_step) % (uint64_t)c.step_interval == 0;

			bool want = c.dynamic_on && listed && due &&
				    (!c.collect_times || recorded < c.collect_times);

			recorded += want;
			assert_int_equal(config_step_wanted(&c, s), want);
			if (want) {
				assert_int_equal(got, s);
				got = config_find_next_step(&c, s + 1);
			}
		}
		/* The next one comes later, or never. */
		assert_true(got >= STEPS);
		if (c.collect_times && recorded == c.collect_times)
			assert_true(got == UINT64_MAX);
		none += !recorded;
	}
	assert_in_range(none, 100, 10000);
}

/* The last step that there is room for. */
static void far_away(void **state)
{
	struct range r = {UINT32_MAX - 1, INT64_MAX};
	struct config c = {.dynamic_on = true, .step_interval = UINT32_MAX, .step = {1, &r}};

	(void)state;
	assert_int_equal(config_find_next_step(&c, 0), UINT32_MAX);
	assert_true(config_step_wanted(&c, UINT32_MAX));
	assert_true(config_find_next_step(&c, (uint64_t)UINT32_MAX + 1) == UINT64_MAX);
	c.start_step = UINT32_MAX - 1;
	c.step_interval = 1;
	c.collect_times = 1;
	assert_int_equal(config_find_next_step(&c, 0), UINT32_MAX - 1);
	assert_false(config_step_wanted(&c, UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(far_away),
	};

	return cmocka_run_group_tests_name("config_steps", tests, NULL, NULL);
}
