/* SPDX-License-Identifier: Apache-2.0 */
/* exp and log without libm, against libm in long double; the numbers of routers on small examples. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "stats/exp_log.h"
#include "training/params/experts.h"
#include "buffer_helper.h"

static double relative(double have, long double want)
{
	return (double)fabsl(((long double)have - want) / (want == 0 ? 1 : want));
}

static void exp_and_log_agree_with_libm(void **state)
{
	double worst_exp = 0, worst_log = 0;

	(void)state;
	for (double x = -700; x < 709; x += 0.37)
		worst_exp = fmax(worst_exp, relative(stats_exp(x), expl((long double)x)));
	for (double x = 1e-300; x < 1e300; x *= 1.7)
		worst_log = fmax(worst_log, relative(stats_log(x), logl((long double)x)));
	for (double x = 0.5; x < 2; x += 0.001)
		worst_log = fmax(
			worst_log, (double)fabsl((long double)stats_log(x) - logl((long double)x)));
	assert_true(worst_exp < 1e-15);
	assert_true(worst_log < 1e-15);
	assert_true(stats_exp(-INFINITY) == 0 && stats_exp(-800) == 0 && isinf(stats_exp(710)));
	assert_true(isnan(stats_exp(NAN)));
}

static void masked_and_unreadable_tokens_count_as_zero(void **state)
{
	static const float logits[3][4] = {
		{0, 0, -INFINITY, 0}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, {NAN, 0, 0, 0}};
	static const int64_t dims[] = {3, 4}, strides[] = {4, 1}, turned[] = {1, 3};
	struct buffer b = make_tensor(logits, DT_FLOAT32, 2, dims, strides);
	double h = 0;

	(void)state;
	assert_true(compute_expert_entropy(&b, &h));
	assert_true(fabs(h - log(3) / 3) < 1e-15);
	b.displs = turned;
	assert_false(compute_expert_entropy(&b, &h));
}

static void experts_are_the_shorter_side(void **state)
{
	static const double w[2][3] = {{1, 0, 0}, {1, 1, 0}}, wide[3][2] = {{1, 1}, {0, 1}, {0, 0}};
	static const int64_t dims[] = {2, 3}, strides[] = {3, 1}, turned[] = {3, 2},
			     by_two[] = {2, 1};
	struct buffer rows = make_tensor(w, DT_FLOAT64, 2, dims, strides),
		      columns = make_tensor(wide, DT_FLOAT64, 2, turned, by_two);
	double s = 0;

	(void)state;
	assert_true(compute_router_similarity(&rows, &s));
	assert_true(fabs(s - sqrt(0.5)) < 1e-15);
	assert_true(compute_router_similarity(&columns, &s));
	assert_true(fabs(s - sqrt(0.5)) < 1e-15);
}

static void an_expert_with_all_tokens_has_the_least_diversity(void **state)
{
	struct expert_counts c = {.n = 4, .at = {8, 0, 0, 0}};
	struct expert_balance b;

	(void)state;
	assert_true(compute_expert_balance(&c, 1, &b));
	assert_true(fabs(b.drop_rate - 0.75) < 1e-15 && fabs(b.diversity - 0.25) < 1e-15 &&
		    fabs(b.cv - 2) < 1e-15);
	assert_true(fabs(b.dead_share - 0.75) < 1e-15 && b.utilization_min == 0 &&
		    fabs(b.utilization_max - 4) < 1e-15);
	memset(c.at, 0, sizeof(c.at));
	assert_false(compute_expert_balance(&c, 1, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exp_and_log_agree_with_libm),
		cmocka_unit_test(masked_and_unreadable_tokens_count_as_zero),
		cmocka_unit_test(experts_are_the_shorter_side),
		cmocka_unit_test(an_expert_with_all_tokens_has_the_least_diversity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
