/* SPDX-License-Identifier: Apache-2.0 */
/* Stable rank of matrices whose singular values are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "training/params/power_iteration.h"

static struct stable_rank known_rank_of(
	const void *p, uint64_t m, uint64_t n, enum dtype dt, unsigned passes)
{
	struct stable_rank r = {-1, -1};

	assert_true(stable_rank_compute(p, m, n, dt, passes, 0, &r));
	return r;
}

static void assert_near(double have, double want)
{
	if (fabs(have - want) > 1e-9 * fabs(want))
		fail_msg("%.17g instead of %.17g", have, want);
}

static void check_known_matrices(void **state)
{
	static const float diagonal[3][3] = {{3, 0, 0}, {0, -2, 0}, {0, 0, 1}};
	static const double column[4] = {1, 2, 3, 4};
	float product[5][3], identity[9][9] = {{0}};
	struct stable_rank r = known_rank_of(diagonal, 3, 3, DT_FLOAT32, 500);

	(void)state;
	assert_near(r.eigenvalue, 9);
	assert_near(r.rank, 14.0 / 9);
	r = known_rank_of(column, 4, 1, DT_FLOAT64, 2);
	assert_near(r.eigenvalue, 30);
	assert_near(r.rank, 1);
	r = known_rank_of(column, 1, 4, DT_FLOAT64, 2);
	assert_near(r.eigenvalue, 30);
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 3; j++)
			product[i][j] = (float)(i + 1) * (float)(j - 1);
	r = known_rank_of(product, 5, 3, DT_FLOAT32, 2);
	assert_near(r.eigenvalue, 55 * 2);
	assert_near(r.rank, 1);
	for (int i = 0; i < 9; i++)
		identity[i][i] = 1;
	r = known_rank_of(identity, 9, 9, DT_FLOAT32, 3);
	assert_near(r.eigenvalue, 1);
	assert_near(r.rank, 9);
}

static void check_odd_matrices(void **state)
{
	float values[2][2] = {{0}};
	struct stable_rank r = known_rank_of(values, 2, 2, DT_FLOAT32, 5);

	(void)state;
	assert_true(isnan(r.rank) && r.eigenvalue == 0);
	values[1][0] = NAN;
	r = known_rank_of(values, 2, 2, DT_FLOAT32, 5);
	assert_true(isnan(r.rank) && isnan(r.eigenvalue));
}

/* It is given up when its time is over, which is checked from time to time. */
static void check_time_limit(void **state)
{
	static float large[1100][1024];
	struct stable_rank r;

	(void)state;
	for (int i = 0; i < 1100; i++)
		large[i][i % 1024] = 1;
	assert_false(stable_rank_compute(large, 1100, 1024, DT_FLOAT32, 5, 1, &r));
	assert_true(stable_rank_compute(large, 1100, 1024, DT_FLOAT32, 5, UINT64_MAX, &r));
	assert_false(stable_rank_compute(large, 1, STABLE_RANK_COLUMNS + 1, DT_FLOAT32, 5, 0, &r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_known_matrices),
		cmocka_unit_test(check_odd_matrices),
		cmocka_unit_test(check_time_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
