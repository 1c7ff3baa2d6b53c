/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of trainings, each written as a line of events:
 *   A B C ... an optimizer's step begins, ) it ends; [ a backward pass begins, ] it ends; u the loss scale is updated.
 * The expected output has | where a step ends and ! where one ends without its optimizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "call/train_steps.h"

static struct train t;

static const char *play(const char *events)
{
	static char out[256];
	size_t n = 0;

	for (; *events; events++) {
		enum train_mark m = TRAIN_NOTHING;

		out[n++] = *events;
		switch (*events) {
		case ')':
			m = train_handle_optimizer_end(&t);
			break;
		case '[':
			train_handle_backward_begin(&t);
			break;
		case ']':
			m = train_handle_backward_end(&t);
			break;
		case 'u':
			m = train_handle_scale_update(&t);
			break;
		default:
			train_handle_optimizer_begin(&t, (uint64_t)*events);
		}
		if (m != TRAIN_NOTHING)
			out[n++] = m == TRAIN_STEP ? '|' : '!';
	}
	out[n] = 0;
	return out;
}

static int start(void **state)
{
	(void)state;
	t = (struct train){0};
	return 0;
}

static void test_plain(void **state)
{
	(void)state;
	assert_string_equal(play("[]A)[]A)[]A)"), "[]A)|[]A)|[]A)|");
}

static void test_accumulation(void **state)
{
	(void)state;
	assert_int_equal(train_get_micro_step(&t), UINT32_MAX);
	play("[");
	assert_int_equal(train_get_micro_step(&t), 0);
	play("]");
	assert_int_equal(train_get_micro_step(&t), 1);
	assert_string_equal(play("[]"), "[]");
	assert_int_equal(train_get_micro_step(&t), 2);
	assert_string_equal(play("A)"), "A)|");
	assert_int_equal(train_get_micro_step(&t), 0);
	t.accumulate = 2; /* of each micro batch the program makes two passes */
	play("[][][]");
	assert_int_equal(train_get_micro_step(&t), 1);
}

/* A pass within a pass (checkpointing) is one. */
static void test_reentrant_backward(void **state)
{
	(void)state;
	play("[[][[]]]");
	assert_int_equal(train_get_micro_step(&t), 1);
	assert_string_equal(play("A)"), "A)|");
}

/* An optimizer that calls another one (ZeroRedundancyOptimizer, wrappers). */
static void test_nested(void **state)
{
	(void)state;
	assert_string_equal(play("[]AB))[]AB))"), "[]AB))|[]AB))|");
	assert_string_equal(play("[]ABC)B)))[]A)"), "[]ABC)B)))|[]A)|");
}

static void test_inside_backward(void **state)
{
	(void)state;
	assert_string_equal(play("[A)B)C)][A)B)C)]"), "[A)B)C)]|[A)B)C)]|");
	assert_int_equal(train_get_micro_step(&t), 0);
}

static void test_closure(void **state)
{
	(void)state;
	assert_string_equal(play("A[][][])A[][])"), "A[][][])|A[][])|");
	/* An evaluation of the closure before the step, as programs of the kind do. */
	assert_string_equal(play("[]A[][])"), "[]A[][])|");
}

static void test_chained(void **state)
{
	(void)state;
	assert_string_equal(play("[]A)B)C)[]A)B)C)"), "[]A)|B)C)[]A)|B)C)");
	start(NULL);
	/* In a loop over optimizers of the same kind they look alike. */
	assert_string_equal(play("[]A)A)A)[]A)A)A)"), "[]A)|A)A)[]A)|A)A)");
}

static void test_gan(void **state)
{
	(void)state;
	assert_string_equal(play("[]D)[]G)[]D)[]G)"), "[]D)|[]G)[]D)|[]G)");
	start(NULL);
	/* Five of the critic for one of the generator. */
	assert_string_equal(play("[]D)[]D)[]D)[]G)[]D)"), "[]D)|[]D)|[]D)|[]G)[]D)|");
}

static void test_anchor(void **state)
{
	(void)state;
	t.anchor_wanted = 1;
	assert_string_equal(play("[]D)[]G)[]D)[]G)"), "[]D)|[]G)|[]D)[]G)|");
	start(NULL);
	t.anchor_wanted = TRAIN_ANCHOR_ANY;
	assert_string_equal(play("[]D)[]G)[]D)G)"), "[]D)|[]G)|[]D)|G)");
}

/* An optimizer for the warm-up, then another one; and a rare one that came first. */
static void test_anchor_goes_away(void **state)
{
	unsigned n = 0;

	(void)state;
	play("[]A)[]A)[]A)");
	for (int i = 0; i < 40; i++)
		n += strchr(play("[]B)"), '|') != NULL;
	assert_int_equal(n, 40 - 15);
	start(NULL);
	for (int round = 0; round < 4; round++) {
		assert_string_equal(play("[]A)"), "[]A)|");
		for (int i = 0; i < 14; i++)
			assert_string_equal(play("[]B)"), "[]B)");
	}
	for (int i = 0; i < 30; i++) /* longer than ever, but not yet gone */
		assert_string_equal(play("[]B)"), "[]B)");
}

static void test_without_backward(void **state)
{
	(void)state;
	/* Gradients by hand, or by an engine that is not seen. */
	assert_string_equal(play("A)A)A)"), "A)|A)|A)|");
	start(NULL);
	assert_string_equal(play("A)B)A)B)"), "A)|B)A)|B)");
}

/* get_state_dict() of torch.distributed.checkpoint steps an optimizer from a place of its own, to have its state. */
static void test_step_before_first_pass_is_no_anchor(void **state)
{
	(void)state;
	assert_string_equal(play("I)[]A)[]A)[]A)"), "I)|[]A)|[]A)|[]A)|");
	start(NULL);
	t.anchor_wanted = 1;
	assert_string_equal(play("I)[]D)[]G)[]D)[]G)"), "I)|[]D)|[]G)|[]D)[]G)|");
}

static void test_scale(void **state)
{
	(void)state;
	assert_string_equal(play("[]A)u[]u[]A)u"), "[]A)|u[]u![]A)|u");
	assert_int_equal(t.skipped, 1);
	start(NULL);
	/* From the beginning, as scales that are too large are found out; with accumulation. */
	assert_string_equal(play("[]u[]u[]A)u"), "[]u![]u![]A)|u");
	start(NULL);
	/* Without a pass there was nothing to be skipped. */
	assert_string_equal(play("uu[]A)uu"), "uu[]A)|uu");
	start(NULL);
	/* Two optimizers, one scale. */
	assert_string_equal(play("[]D)[]G)u[]D)[]u[][]u"), "[]D)|[]G)u[]D)|[]u[][]u!");
	start(NULL);
	/* An update for each. */
	assert_string_equal(play("[]D)u[]G)u[]D)u[]G)u"), "[]D)|u[]G)u[]D)|u[]G)u");
}

static void test_unbalanced(void **state)
{
	(void)state;
	assert_string_equal(play(")]))"), ")]))");
	assert_string_equal(play("[]A)"), "[]A)|");
}

static void test_many_optimizers(void **state)
{
	(void)state;
	play("[]A)");
	for (uint64_t i = 100; i < 200; i++) {
		train_handle_optimizer_begin(&t, i);
		assert_int_equal(train_handle_optimizer_end(&t), TRAIN_NOTHING); /* chained */
	}
	assert_string_equal(play("[]A)"), "[]A)|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_plain, start),
		cmocka_unit_test_setup(test_accumulation, start),
		cmocka_unit_test_setup(test_reentrant_backward, start),
		cmocka_unit_test_setup(test_nested, start),
		cmocka_unit_test_setup(test_inside_backward, start),
		cmocka_unit_test_setup(test_closure, start),
		cmocka_unit_test_setup(test_chained, start),
		cmocka_unit_test_setup(test_gan, start),
		cmocka_unit_test_setup(test_anchor, start),
		cmocka_unit_test_setup(test_anchor_goes_away, start),
		cmocka_unit_test_setup(test_without_backward, start),
		cmocka_unit_test_setup(test_step_before_first_pass_is_no_anchor, start),
		cmocka_unit_test_setup(test_scale, start),
		cmocka_unit_test_setup(test_unbalanced, start),
		cmocka_unit_test_setup(test_many_optimizers, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
