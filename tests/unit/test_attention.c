/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of attention on small examples, against long double. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "training/params/attention.h"
#include "buffer_helper.h"

enum { BATCH = 2, HEADS = 3, TOKENS = 21, WIDTH = 5 };

/* [batch, tokens, heads, width], seen as [batch, heads, tokens, width]. */
static double q[BATCH][TOKENS][HEADS][WIDTH], k[BATCH][TOKENS][HEADS][WIDTH];
static const int64_t dims[] = {BATCH, HEADS, TOKENS, WIDTH};
static const int64_t strides[] = {TOKENS * HEADS * WIDTH, WIDTH, HEADS *WIDTH, 1};
static double logits[BATCH][HEADS][TOKENS][TOKENS];
static const int64_t square[] = {BATCH, HEADS, TOKENS, TOKENS};
static const int64_t steps[] = {HEADS * TOKENS * TOKENS, TOKENS *TOKENS, TOKENS, 1};

static int make_tensors(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (double *p = &q[0][0][0][0]; p < &q[0][0][0][0] + BATCH * TOKENS * HEADS * WIDTH; p++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		*p = (double)(int32_t)(seed >> 32) * 0x1p-29;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		(&k[0][0][0][0])[p - &q[0][0][0][0]] = (double)(int32_t)(seed >> 32) * 0x1p-29;
	}
	for (int b = 0; b < BATCH; b++)
		for (int h = 0; h < HEADS; h++)
			for (int i = 0; i < TOKENS; i++)
				for (int j = 0; j < TOKENS; j++) {
					long double x = 0;

					for (int w = 0; w < WIDTH; w++)
						x += (long double)q[b][i][h][w] * k[b][j][h][w];
					logits[b][h][i][j] = (double)(x / sqrtl(WIDTH));
				}
	return 0;
}

static void logits_of_four_and_three_dimensions(void **state)
{
	static const int64_t flat[] = {BATCH * HEADS, TOKENS, TOKENS};
	struct buffer four = make_tensor(logits, DT_FLOAT64, 4, square, steps);
	struct buffer three = make_tensor(logits, DT_FLOAT64, 3, flat, steps + 1);
	static struct max_logits m, n;
	double kept = logits[1][2][3][4];

	(void)state;
	assert_true(compute_max_logits(&four, 0, &m) && compute_max_logits(&three, HEADS, &n));
	assert_false(compute_max_logits(&three, 0, &n));
	assert_false(compute_max_logits(&three, 4, &n));
	assert_true(compute_max_logits(&three, HEADS, &n));
	assert_int_equal(m.heads, HEADS);
	for (int h = 0; h < HEADS; h++) {
		double most = -INFINITY;

		for (int b = 0; b < BATCH; b++)
			for (int i = 0; i < TOKENS * TOKENS; i++)
				most = fmax(most, logits[b][h][i / TOKENS][i % TOKENS]);
		assert_true(m.at[h].upper == most && m.at[h].lower == most);
		assert_true(n.at[h].upper == most && n.at[h].lower == most);
	}
	logits[1][2][3][4] = NAN;
	assert_true(compute_max_logits(&four, 0, &m));
	assert_true(isnan(m.at[2].upper) && isnan(m.at[2].lower) && !isnan(m.at[1].upper));
	logits[1][2][3][4] = kept;
	four.nostats = 1;
	assert_false(compute_max_logits(&four, 0, &m));
}

/* Bounds by definition, with the keys that pass `sees`. */
static void bounds_hold(const struct attention_mask *mask, bool (*sees)(int b, int i, int j))
{
	static const int64_t rows[] = {BATCH, HEADS, TOKENS};
	static const int64_t apart[] = {HEADS * TOKENS, TOKENS, 1};
	static double lse[BATCH][HEADS][TOKENS];
	struct buffer v = make_tensor(lse, DT_FLOAT64, 3, rows, apart);
	static struct max_logits m;

	for (int h = 0; h < HEADS; h++) {
		long double upper = -INFINITY, lower = -INFINITY, most = -INFINITY;

		for (int b = 0; b < BATCH; b++)
			for (int i = 0; i < TOKENS; i++) {
				long double sum = 0;
				int n = 0;

				for (int j = 0; j < TOKENS; j++)
					if (sees(b, i, j)) {
						n++;
						sum += expl((long double)logits[b][h][i][j]);
						most = fmaxl(most, (long double)logits[b][h][i][j]);
					}
				/* What kernels give for a row without keys is no number of the training. */
				lse[b][h][i] = n ? (double)logl(sum) : 1000;
				upper = n ? fmaxl(upper, logl(sum)) : upper;
				lower = n ? fmaxl(lower, logl(sum) - logl(n)) : lower;
			}
		m.at[h].upper = (double)upper;
		m.at[h].lower = (double)lower;
		assert_true(lower <= most && most <= upper);
	}

	struct max_logits want = m;

	assert_true(compute_lse_bounds(&v, mask, &m));
	for (int h = 0; h < HEADS; h++) {
		assert_true(fabs(m.at[h].upper - want.at[h].upper) < 1e-12);
		assert_true(fabs(m.at[h].lower - want.at[h].lower) < 1e-12);
	}
}

static bool sees_all(int b, int i, int j)
{
	(void)b;
	(void)i;
	return j >= 0;
}

static bool sees_past(int b, int i, int j)
{
	(void)b;
	return j <= i;
}

static bool sees_own_length(int b, int i, int j)
{
	return j < TOKENS - 4 * b && i != 7;
}

static bool sees_shared(int b, int i, int j)
{
	(void)b;
	return (i + j) % 3 && i != 2;
}

static void logsumexp_bounds_the_largest_logit(void **state)
{
	static float each[BATCH][1][TOKENS][TOKENS];
	static uint8_t shared[TOKENS][TOKENS];
	static const int64_t ed[] = {BATCH, 1, TOKENS, TOKENS},
			     es[] = {TOKENS * TOKENS, 9, TOKENS, 1};
	static const int64_t other[] = {TOKENS, TOKENS - 1};
	struct buffer of_each = make_tensor(each, DT_FLOAT32, 4, ed, es);
	struct buffer of_all = make_tensor(shared, DT_BOOL, 2, ed + 2, es + 2);
	struct buffer wrong = make_tensor(shared, DT_BOOL, 2, other, es + 2);
	struct attention_mask mask = {.keys = TOKENS};
	static struct max_logits m;

	(void)state;
	for (int i = 0; i < TOKENS; i++)
		for (int j = 0; j < TOKENS; j++) {
			shared[i][j] = sees_shared(0, i, j);
			for (int b = 0; b < BATCH; b++)
				each[b][0][i][j] = sees_own_length(b, i, j) ? 0 : -INFINITY;
		}
	bounds_hold(&mask, sees_all);
	mask.causal = true;
	bounds_hold(&mask, sees_past);
	mask.causal = false;
	mask.mask = &of_each;
	bounds_hold(&mask, sees_own_length);
	mask.mask = &of_all;
	bounds_hold(&mask, sees_shared);
	mask.mask = &wrong;
	assert_false(compute_lse_bounds(&of_all, &mask, &m));
}

/* The means over the rows i for which takes(i). */
/* The logits with a causal mask. */
static const void *mask_logits(void)
{
	static double masked[BATCH][HEADS][TOKENS][TOKENS];

	for (int b = 0; b < BATCH; b++)
		for (int h = 0; h < HEADS; h++)
			for (int i = 0; i < TOKENS; i++)
				for (int j = 0; j < TOKENS; j++)
					masked[b][h][i][j] =
						j <= i ? logits[b][h][i][j] : -(double)INFINITY;
	return masked;
}

static void spread_is(uint64_t rows_max, const int *row, int n)
{
	struct buffer a = make_tensor(q, DT_FLOAT64, 4, dims, strides);
	struct buffer b = make_tensor(k, DT_FLOAT64, 4, dims, strides);
	struct attention_spread s;
	long double entropy = 0, most = 0;

	for (int r = 0; r < n; r++) {
		int i = row ? row[r] : r;
		long double z = 0, largest = 0;

		for (int j = 0; j <= i; j++)
			z += expl((long double)logits[0][0][i][j]);
		for (int j = 0; j <= i; j++) {
			long double p = expl((long double)logits[0][0][i][j]) / z;

			entropy -= p * logl(p);
			largest = fmaxl(largest, p);
		}
		most += largest;
	}
	assert_true(compute_attention_spread(&a, &b, rows_max, &s));
	assert_int_equal(s.rows, n);
	assert_int_equal(s.rows_total, TOKENS);
	assert_true(fabsl(s.entropy - entropy / n) < 1e-12L &&
		    fabsl(s.softmax_max - most / n) < 1e-12L);
	a = make_tensor(mask_logits(), DT_FLOAT64, 4, square, steps);
	assert_true(compute_logits_spread(&a, rows_max, &s));
	assert_int_equal(s.rows, n);
	assert_true(fabsl(s.entropy - entropy / n) < 1e-12L &&
		    fabsl(s.softmax_max - most / n) < 1e-12L);
	a = make_tensor(mask_logits(), DT_FLOAT64, 3, square + 1, steps + 1);
	assert_false(compute_logits_spread(&a, rows_max, &s));
}

static void entropy_of_all_rows_and_of_some(void **state)
{
	static const int some[] = {2, 7, 13, 18};
	static const int64_t fewer[] = {BATCH, HEADS, TOKENS - 1, WIDTH};
	struct buffer a = make_tensor(q, DT_FLOAT64, 4, dims, strides);
	struct buffer b = make_tensor(k, DT_FLOAT64, 4, fewer, strides);
	struct attention_spread s;
	double kept = q[0][4][0][1];

	(void)state;
	spread_is(0, NULL, TOKENS);
	spread_is(100, NULL, TOKENS);
	spread_is(4, some, 4);
	assert_false(compute_attention_spread(&a, &b, 0, &s));
	b.counts = dims;
	q[0][4][0][1] = NAN;
	assert_true(compute_attention_spread(&a, &b, 0, &s));
	assert_true(isnan(s.entropy) && isnan(s.softmax_max));
	q[0][4][0][1] = INFINITY;
	assert_true(compute_attention_spread(&a, &b, 0, &s));
	assert_true(isnan(s.entropy) && isnan(s.softmax_max));
	q[0][4][0][1] = kept;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logits_of_four_and_three_dimensions),
		cmocka_unit_test(logsumexp_bounds_the_largest_logit),
		cmocka_unit_test(entropy_of_all_rows_and_of_some),
	};

	return cmocka_run_group_tests(tests, make_tensors, NULL);
}
