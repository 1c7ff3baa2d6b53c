/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of few elements: the same bits as from the running totals that they avoid. */
#include "core_helper.h"

#include <string.h>

#include "stats/stats.h"

static uint64_t seed = UINT64_C(88172645463325252);

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* kind 0: any bits; 1: moderate numbers; 2: zeros of both signs and few others. */
static void fill_buffer(unsigned char *buf, size_t bytes, enum dtype dt, int kind)
{
	bool is_fnuz = dt == DT_FLOAT8_E4M3FNUZ || dt == DT_FLOAT8_E5M2FNUZ;

	for (size_t i = 0; i < bytes; i++)
		buf[i] = (unsigned char)next_random();
	if (kind == 0)
		return;
	for (size_t i = 0; dt == DT_FLOAT32 && i < bytes / 4; i++) {
		float v = (float)(int32_t)next_random() * 1e-5f;

		v = kind == 2 ? (next_random() & 3 ? 0.0f : -0.0f) : v;
		memcpy(buf + 4 * i, &v, 4);
	}
	for (size_t i = 0; dt == DT_FLOAT64 && i < bytes / 8; i++) {
		double v = (double)(int64_t)next_random() * (next_random() & 1 ? 1e-5 : 1e-30);

		v = kind == 2 ? (next_random() & 3 ? 0.0 : -0.0) : v;
		memcpy(buf + 8 * i, &v, 8);
	}
	/* Floats of 8 and 16 bits: no exponent of all ones, and no 0x80 where that is NaN. */
	for (size_t i = 0;
		get_dtype_info(dt)->size <= 2 && get_dtype_info(dt)->cls == DTC_FLOAT && i < bytes;
		i++)
		buf[i] &= (kind == 2 ? 0x80 : 0xb7) & (is_fnuz ? 0x7f : 0xff);
}

static unsigned tiny;

static int check_figures(const void *p, uint64_t n, enum dtype dt, double eps)
{
	struct stats_acc acc;
	struct stats want, have;

	memset(&have, 0, sizeof(have));
	if (!stats_measure_few(p, n, dt, eps, &have))
		return 0;
	assert_int_equal(stats_begin(&acc, dt, eps), 0);
	stats_add(&acc, p, n);
	stats_end(&acc, &want);
	assert_memory_equal(&have, &want, sizeof(want));
	memset(&have, 0, sizeof(have));
	if (stats_measure_tiny(p, n, dt, eps, &have)) {
		assert_true(n <= STATS_TINY);
		assert_memory_equal(&have, &want, sizeof(want));
		tiny++;
	}
	return 1;
}

static void check_isa(enum stats_isa isa)
{
	static const double eps[] = {0, 1e-8, 1, 300, 1e30};
	unsigned char buf[STATS_FEW * 8 + 8];

	if (stats_select(isa))
		return;
	for (int dt = DT_BOOL; dt < DT_COUNT; dt++) {
		int done = 0;

		tiny = 0;
		/* Many of four: the order of their squares shows in few norms. */
		for (uint64_t i = 0; i < 1800; i++) {
			uint64_t n = i < 300   ? i % 70 + 1
				     : i < 900 ? next_random() % STATS_FEW + 1
					       : i % 4 + 1;

			fill_buffer(buf, sizeof(buf), (enum dtype)dt, (int)(i % 3));
			done += check_figures(
				buf + (i % 3 ? 0 : i % 7), n, (enum dtype)dt, eps[i % 5]);
		}
		/* Elements of these are two numbers each. */
		if (dt == DT_COMPLEX64 || dt == DT_COMPLEX128 || dt == DT_FLOAT4_E2M1FN_X2)
			assert_int_equal(done, 0);
		else
			assert_true(done > 500);
		if (dt == DT_FLOAT32 || dt == DT_FLOAT64 || dt == DT_BFLOAT16 || dt == DT_INT32 ||
			dt == DT_INT64)
			assert_true(tiny > 30);
	}
}

static void test_same_figures(void **state)
{
	(void)state;
	check_isa(STATS_SCALAR);
	check_isa(STATS_AUTO);
	stats_select(STATS_AUTO);
}

static void test_left_to_the_totals(void **state)
{
	static const float odd[] = {1, __builtin_inff(), 2}, nan[] = {__builtin_nanf("")};
	static const double large[] = {1e300, 1}, small[] = {1e-300};
	static float many[STATS_FEW + 1];
	struct stats s;

	(void)state;
	assert_false(stats_measure_few(odd, 3, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_few(nan, 1, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_few(large, 2, DT_FLOAT64, 0, &s));
	assert_false(stats_measure_few(small, 1, DT_FLOAT64, 0, &s));
	assert_false(stats_measure_few(many, STATS_FEW + 1, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_few(many, 0, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_few(many, 1, DT_OTHER, 0, &s));
	assert_true(stats_measure_few(many, STATS_FEW, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_tiny(odd, 3, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_tiny(nan, 1, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_tiny(large, 2, DT_FLOAT64, 0, &s));
	assert_false(stats_measure_tiny(small, 1, DT_FLOAT64, 0, &s));
	assert_false(stats_measure_tiny(many, STATS_TINY + 1, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_tiny(many, 0, DT_FLOAT32, 0, &s));
	assert_false(stats_measure_tiny(many, 1, DT_OTHER, 0, &s));
	assert_false(stats_measure_tiny(many, 1, DT_COMPLEX64, 0, &s));
	assert_true(stats_measure_tiny(many, STATS_TINY, DT_FLOAT32, 0, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_figures),
		cmocka_unit_test(test_left_to_the_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
