/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from activations of a function, in a language made up here; which ones are new is known by hand. */
#include "session_helper.h"

#include <string.h>

#include "call/activation.h"
#include "call/step.h"
#include "config/marker.h"
#include "session/generation_pair.h"
#include "stack/foreign.h"

/* Innermost first, as a walk gives them; the code's number is its function. */
static struct foreign_frame stack[FOREIGN_FRAMES_MAX];
static int depth;
static bool loops; /* the code may have come back */

static bool find(void)
{
	return true;
}

static int walk(struct foreign_frame *f, int max)
{
	memcpy(f, stack, sizeof(stack));
	return depth < max ? depth : max;
}

static bool describe(const struct foreign_frame *f, struct foreign_name *n)
{
	snprintf(n->file, sizeof(n->file), "/home/me/train.x");
	snprintf(n->function, sizeof(n->function), "Loop.fn%d", (int)f->code);
	n->line = 1;
	return true;
}

static bool test_goes_back(const struct foreign_frame *f, uintptr_t from)
{
	assert_true(f->at < from);
	return loops;
}

static const struct stack_language made_up = {
	.name = "x", .find = find, .walk = walk, .describe = describe, .goes_back = test_goes_back};
const struct stack_language *const stack_languages[] = {&made_up, NULL};

static char configured[] = "x:train.x:fn5";

static int on(void **state)
{
	(void)state;
	session_on(1 << 20);
	generation_first.cfg.step_interval = 1;
	generation_first.cfg.step_marker = configured;
	step_update_config();
	return 0;
}

static int off(void **state)
{
	(void)state;
	generation_first.cfg.step_marker = NULL;
	session_over();
	return 0;
}

struct place {
	int code, at, frame;
};

/* A call with these frames. True: the step ended before it. */
static bool call(struct place a, struct place b, struct place c)
{
	struct place p[3] = {a, b, c};
	uint32_t step = step_now();

	depth = 0;
	for (int i = 0; i < 3; i++)
		if (p[i].code)
			stack[depth++] = (struct foreign_frame){.code = (uintptr_t)p[i].code,
				.at = (uintptr_t)p[i].at,
				.frame = (uintptr_t)p[i].frame};
	activation_check();
	assert_true(step_now() - step <= 1);
	return step_now() != step;
}

#define NONE           \
	(struct place) \
	{              \
	}
#define P(...) ((struct place){__VA_ARGS__})
#define IN P(9, 4, 900)
#define MAIN P(1, 70, 100)

static void test_rules(void **state)
{
	(void)state;
	loops = true;
	/* The first ends no step. */
	assert_false(call(MAIN, NONE, NONE));
	assert_false(call(IN, P(5, 10, 500), MAIN));
	assert_false(call(IN, P(5, 20, 500), MAIN));
	/* Back in it, by a loop as far as anybody knows; then surely not by one. */
	assert_false(call(IN, P(5, 10, 500), MAIN));
	assert_false(call(P(5, 30, 500), MAIN, NONE));
	loops = false;
	assert_true(call(IN, P(5, 10, 500), MAIN));
	assert_false(call(IN, P(5, 10, 500), MAIN));
	loops = true;
	/* Not there at a call in between. */
	assert_false(call(IN, MAIN, NONE));
	assert_true(call(IN, P(5, 10, 500), MAIN));
	/* Its frame is at another address. */
	assert_true(call(IN, P(5, 10, 600), MAIN));
	/* The caller's frame is at another address, or it is another caller. */
	assert_true(call(IN, P(5, 10, 600), P(1, 72, 100)));
	assert_true(call(IN, P(5, 10, 600), P(1, 72, 108)));
	/* A recursion: the outermost counts. */
	assert_false(call(P(5, 1, 700), P(5, 10, 600), P(1, 72, 108)));
	assert_false(call(P(5, 1, 800), P(5, 10, 600), P(1, 72, 108)));
	/* An activation that can be left and re-entered decides nothing, and one without frames changes nothing. */
	assert_false(call(IN, P(5, 10, 0), MAIN));
	assert_false(call(NONE, NONE, NONE));
	assert_false(call(IN, P(5, 10, 600), P(1, 72, 108)));
}

static void test_deep(void **state)
{
	(void)state;
	for (int i = 0; i < FOREIGN_FRAMES_MAX; i++)
		stack[i] = (struct foreign_frame){.code = 9, .at = 1, .frame = 9000 + (uintptr_t)i};
	depth = FOREIGN_FRAMES_MAX;

	uint32_t step = step_now();

	/* The function may be among those skipped. */
	activation_check();
	assert_false(call(IN, P(5, 10, 600), P(1, 72, 108)));
	assert_int_equal(step_now(), step);
}

static bool is(const char *marker, const char *file, const char *function)
{
	struct marker m;

	assert_null(marker_parse(marker, strlen(marker), &m));
	assert_int_equal(m.form, MARKER_LANGUAGE);
	return marker_is(&m, "python", file, function);
}

static void test_names(void **state)
{
	(void)state;
	assert_true(is("python:train.py:step", "/a/train.py", "step"));
	assert_true(is("python:train.py:step", "train.py", "Net.step"));
	assert_true(is("python:a/train.py:Net.step", "/x/a/train.py", "Net.step"));
	assert_true(is("python:/x/a/train.py:step", "/x/a/train.py", "step"));
	assert_true(is("python:C:\\train.py:step", "C:\\train.py", "step"));
	assert_true(is("python:<stdin>:step", "<stdin>", "f.<locals>.step"));
	assert_false(is("python:train.py:step", "/a/pretrain.py", "step"));
	assert_false(is("python:train.py:step", "/a/train.py", "misstep"));
	assert_false(is("python:train.py:step", "/a/train.py", "step.inner"));
	assert_false(is("ruby:train.py:step", "/a/train.py", "step"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rules, on, off),
		cmocka_unit_test_setup_teardown(test_deep, on, off),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("activation", tests, NULL, NULL);
}
