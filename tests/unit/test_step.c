/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: which source counts, which steps are recorded, and threads that end steps at once. */
#include "session_helper.h"

#include "call/step.h"
#include "session/generation_pair.h"

static int on(void **state)
{
	(void)state;
	session_on(1 << 20);
	generation_first.cfg.step_interval = 1;
	step_update_config();
	return 0;
}

static int off(void **state)
{
	(void)state;
	session_over();
	return 0;
}

/* The order is optimizer, marker, pcontrol, probe_step(): a higher one takes over, and the number goes on. */
static void test_sources(void **state)
{
	uint32_t step = step_now();

	(void)state;
	assert_int_equal(step, 0);
	for (uint32_t s = STEP_OPTIMIZER; s < STEP_SOURCES; s++) {
		assert_int_equal(step_end((enum step_source)s), ++step);
		assert_int_equal(step_end((enum step_source)s), ++step);
		for (uint32_t lower = STEP_OPTIMIZER; lower < s; lower++)
			assert_int_equal(step_end((enum step_source)lower), step);
		assert_int_equal(step_now(), step);
		assert_int_equal(rank_of_test.j.head->step, step);
		assert_int_equal(rank_of_test.j.head->step_source, s);
	}
	assert_true(wakes >= step);
}

static void test_names(void **state)
{
	static const char *const names[] = {"none", "optimizer", "marker", "pcontrol", "api"};

	(void)state;
	for (uint32_t s = 0; s < STEP_SOURCES; s++)
		assert_string_equal(get_step_source_name(s), names[s]);
	assert_string_equal(get_step_source_name(77), "none");
}

/* Is step s recorded with that configuration? Said step by step, from where we are on. */
static void check_selection(const char *what, bool (*want)(uint32_t))
{
	step_update_config();
	for (int i = 0; i < 40; i++) {
		uint32_t s = step_now();

		if (step_selected() != want(s))
			fail_msg("%s: step %u is %srecorded", what, s,
				step_selected() ? "" : "not ");
		step_end(STEP_API);
	}
}

static uint32_t from;

static bool every(uint32_t s)
{
	(void)s;
	return true;
}

static bool listed(uint32_t s)
{
	return s == from + 3 || (s >= from + 10 && s <= from + 12);
}

static bool third_from_start(uint32_t s)
{
	return s >= from + 5 && (s - (from + 5)) % 3 == 0;
}

static bool two_times(uint32_t s)
{
	return s == from + 5 || s == from + 8;
}

static void test_selection(void **state)
{
	struct range r[2];

	(void)state;
	check_selection("no choice", every);
	from = step_now();
	r[0] = (struct range){from + 3, from + 3};
	r[1] = (struct range){from + 10, from + 12};
	generation_first.cfg.step = (struct ranges){2, r};
	windows_changed = 0;
	check_selection("a list", listed);
	assert_int_equal(windows_changed,
		5); /* at the change of the configuration, and at both ends of both */
	generation_first.cfg.step = (struct ranges){0};
	from = step_now();
	generation_first.cfg.start_step = from + 5;
	generation_first.cfg.step_interval = 3;
	check_selection("an interval", third_from_start);
	from = step_now();
	generation_first.cfg.start_step = from + 5;
	generation_first.cfg.collect_times = 2;
	check_selection("a number of times", two_times);
	generation_first.cfg.start_step = generation_first.cfg.collect_times = 0;
	generation_first.cfg.step_interval = 0; /* never: the configuration's least is 1 */
	check_selection("no interval", every);
}

static void test_marker_count(void **state)
{
	uint32_t step = step_now();

	(void)state;
	/* Sources below the highest seen so far say nothing any more. */
	generation_first.cfg.step_marker_count = 3;
	for (int i = 0; i < 9; i++)
		step_handle_marker();
	assert_int_equal(step_now(), step);
}

#define THREADS 4
#define EACH 5000

static void *end_steps(void *arg)
{
	uint32_t last = 0;

	(void)arg;
	for (int i = 0; i < EACH; i++) {
		uint32_t s = step_end(STEP_API);

		assert_true(s > last);
		last = s;
	}
	return NULL;
}

static void *end_one(void *arg)
{
	(void)arg;
	step_end(STEP_API);
	return NULL;
}

static void test_threads(void **state)
{
	struct range even[1] = {{0, 0}};
	uint32_t step = step_now();
	pthread_t th[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, end_steps, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	assert_int_equal(step_now(), step + THREADS * EACH);
	/* However they overlapped, the answer is that for the step which it is now. */
	even[0] = (struct range){step_now(), step_now()};
	generation_first.cfg.step = (struct ranges){1, even};
	for (int round = 0; round < 200; round++) {
		even[0].lo = even[0].hi = step_now() + 4;
		for (int i = 0; i < 4; i++)
			pthread_create(&th[i], NULL, end_one, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(th[i], NULL);
		assert_true(step_selected());
	}
	generation_first.cfg.step = (struct ranges){0};
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sources, on, off),
		cmocka_unit_test_setup_teardown(test_names, on, off),
		cmocka_unit_test_setup_teardown(test_selection, on, off),
		cmocka_unit_test_setup_teardown(test_marker_count, on, off),
		cmocka_unit_test_setup_teardown(test_threads, on, off),
	};

	return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
