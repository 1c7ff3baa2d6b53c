/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a step that are sums over all parameters, and times: one that is not known is absent. */
#include "session_helper.h"

#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/generation_pair.h"
#include "terms/metric.h"
#include "terms/scalar.h"
#include "training/params/metric.h"
#include "training/steps/step_times.h"

bool session_configure(void)
{
	return true;
}

static void begin(uint64_t scalars)
{
	session_on(1 << 20);
	generation_first.cfg.scalars = scalars;
	generation_first.cfg.metrics =
		UINT64_C(1) << METRIC_WEIGHT_NORM | UINT64_C(1) << METRIC_DEVICE_LOCAL_NORM;
	generation_first.cfg.metrics_interval = 1;
	step_times_forked();
}

static void measure(enum train_kind kind, uint32_t step, double norm, uint64_t count, uint64_t read)
{
	struct train_value v = {.kind = kind,
		.name = "w",
		.step = step,
		.micro_step = UINT32_MAX,
		.count = count,
		.stats = {.n = read, .norm = norm}};

	metric_handle_value(&v);
}

/* The value that was written; NAN: none. */
static double value_of(const char *name, unsigned step)
{
	char path[600], line[400], of[100];
	double value, found = NAN;
	unsigned s;
	FILE *f;

	assert_int_equal(drain_all(&rank_of_test.drain, false), 0);
	snprintf(path, sizeof(path), "%s/scalars_0-99.csv", rank_of_test.dir);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%u,%99[^,],%lf", &s, of, &value) == 3 && s == step &&
			strcmp(of, name) == 0)
			found = value;
	if (f)
		fclose(f);
	return found;
}

static void a_sum_of_some_is_not_written(void **state)
{
	(void)state;
	begin(0);
	/* All that were updated. */
	for (int i = 0; i < 2; i++)
		metric_add_expected_value(0);
	measure(TK_PARAM_UPDATED, 0, 3, 5, 5);
	measure(TK_PARAM_UPDATED, 0, 4, 5, 5);
	measure(TK_GRAD_UNREDUCED, 0, 1, 5, 5);
	step_times_close(0);
	/* One of both. */
	for (int i = 0; i < 2; i++)
		metric_add_expected_value(1);
	measure(TK_PARAM_UPDATED, 1, 3, 5, 5);
	step_times_close(1);
	/* No update: as many gradients as the last one had parameters. */
	measure(TK_GRAD_UNREDUCED, 2, 6, 5, 5);
	measure(TK_GRAD_UNREDUCED, 2, 8, 5, 5);
	step_times_close(2);
	measure(TK_GRAD_UNREDUCED, 3, 6, 5, 5);
	step_times_close(3);
	/* A pass has said that there are more than were updated. */
	metric_set_expected_values(3);
	for (int i = 0; i < 2; i++) {
		metric_add_expected_value(4);
		measure(TK_PARAM_UPDATED, 4, 3, 5, 5);
	}
	step_times_close(4);
	metric_set_expected_values(0);
	assert_true(value_of("weight_norm", 0) == 5);
	assert_true(isnan(value_of("device_local_norm", 0)));
	assert_true(isnan(value_of("weight_norm", 1)));
	assert_true(value_of("device_local_norm", 2) == 10);
	assert_true(isnan(value_of("weight_norm", 2)));
	assert_true(isnan(value_of("device_local_norm", 3)));
	assert_true(isnan(value_of("weight_norm", 4)));
	session_over();
}

static void pass_time(void)
{
	usleep(3000);
}

static bool lies_in_step(unsigned step)
{
	double comm = value_of("comm-time", step);

	return comm >= 3 && comm <= value_of("iteration-time", step);
}

static void a_time_that_is_not_known_is_absent(void **state)
{
	uint64_t began;

	(void)state;
	begin(UINT64_C(1) << SCALAR_COMM_TIME | UINT64_C(1) << SCALAR_OPTIMIZER_TIME |
		UINT64_C(1) << SCALAR_ITERATION_TIME);
	session.clock = session.journal.head->clock;
	session.world_size = 2;
	step_times_close(0);
	/* A pass; no optimizer and no communication was ever seen. */
	step_part_start(PART_BACKWARD);
	pass_time();
	step_part_stop(PART_BACKWARD);
	step_times_close(1);
	assert_true(value_of("iteration-time", 1) > 0);
	assert_true(isnan(value_of("comm-time", 1)) && isnan(value_of("optimizer-time", 1)));
	/* Two at a time count once. */
	began = clock_ticks();
	step_comm_start();
	step_comm_start();
	pass_time();
	step_comm_stop();
	step_comm_stop();
	step_part_add(PART_OPTIMIZER, began, clock_ticks());
	step_times_close(2);
	assert_true(lies_in_step(2));
	assert_true(value_of("optimizer-time", 2) >= value_of("comm-time", 2));
	/* One is on its way when the step ends. */
	step_comm_start();
	pass_time();
	step_times_close(3);
	pass_time();
	step_comm_stop();
	step_times_close(4);
	assert_true(lies_in_step(3) && lies_in_step(4));
	/* None in this one; no optimizer's step, either. */
	step_part_start(PART_BACKWARD);
	step_part_stop(PART_BACKWARD);
	step_times_close(5);
	assert_true(value_of("comm-time", 5) == 0 && value_of("optimizer-time", 5) == 0);
	step_comm_set_unknown();
	step_times_close(6);
	assert_true(isnan(value_of("comm-time", 6)) && value_of("iteration-time", 6) > 0);
	session.world_size = -1;
	session_over();
}

/* A job of one rank is known to communicate with no other. */
static void a_single_rank_communicates_for_no_time(void **state)
{
	(void)state;
	begin(UINT64_C(1) << SCALAR_COMM_TIME);
	step_times_close(0);
	step_times_close(1);
	assert_true(value_of("comm-time", 1) == 0);
	session_over();
}

/* Resident bytes, as the kernel counts them now. */
static double get_resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long all, resident = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &all, &resident), 2);
	fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void resident_memory_is_what_the_kernel_counts(void **state)
{
	double before, after, written;
	char *block;

	(void)state;
	begin(UINT64_C(1) << SCALAR_MEMORY_RSS);
	/* Enough pages that their number has several digits. */
	block = malloc(64 << 20);
	assert_non_null(block);
	memset(block, 1, 64 << 20);
	before = get_resident_bytes();
	step_times_close(0);
	after = get_resident_bytes();
	written = value_of("memory-rss", 0);
	/* The step itself may make some pages resident; a sanitizer's runtime may free some. */
	assert_true(written >= 0.98 * before && written <= 1.02 * after);
	free(block);
	session_over();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_sum_of_some_is_not_written),
		cmocka_unit_test(a_time_that_is_not_known_is_absent),
		cmocka_unit_test(a_single_rank_communicates_for_no_time),
		cmocka_unit_test(resident_memory_is_what_the_kernel_counts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
