/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of an interpreter that is made up: text, rules, lent frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "stack/foreign.h"

static __thread int depth; /* frames of this thread */
static bool here = true;
static int asked;

static bool find(void)
{
	asked++;
	return here;
}

static int walk(struct foreign_frame *f, int max)
{
	int n = depth < max ? depth : max;

	for (int i = 0; i < n; i++)
		f[i] = (struct foreign_frame){.code = (uintptr_t)(depth - i), .at = 7};
	return n;
}

static bool describe(const struct foreign_frame *f, struct foreign_name *n)
{
	snprintf(n->file, sizeof(n->file), "/f%d.x", (int)f->code);
	snprintf(n->function, sizeof(n->function), "fn%d", (int)f->code);
	n->line = (int)f->at;
	return f->code != 13; /* one without a name */
}

static const struct stack_language made_up = {
	.name = "made up", .find = find, .walk = walk, .describe = describe};
const struct stack_language *const stack_languages[] = {&made_up, NULL};

static const char *text(const struct foreign_rules *r, bool *selected)
{
	static char buf[FOREIGN_TEXT_MAX];
	struct foreign_stack s;

	foreign_read_stack(&s);

	size_t n = foreign_write_text(&s, r, buf, sizeof(buf), selected);

	assert_int_equal(n, strlen(buf));
	return buf;
}

static struct foreign_rules *rules(const char *select, const char *drop)
{
	const char *wrong;
	char why[64];
	struct foreign_rules *r = foreign_rules_new(select, drop, &wrong, why, sizeof(why));

	assert_null(wrong);
	return r;
}

static void test_text(void **state)
{
	bool selected;
	struct foreign_stack a, b;

	(void)state;
	depth = 3;
	assert_string_equal(text(NULL, &selected), "/f3.x:7 fn3 <- /f2.x:7 fn2 <- /f1.x:7 fn1");
	assert_true(selected);
	depth = 0;
	foreign_read_stack(&a);
	assert_null(a.language);
	depth = 14; /* the frame without a name is skipped */
	assert_non_null(strstr(text(NULL, &selected), "fn14 <- /f12.x"));
	foreign_read_stack(&a);
	foreign_read_stack(&b);
	assert_int_equal(a.hash, b.hash);
	depth = 15;
	foreign_read_stack(&b);
	assert_int_not_equal(a.hash, b.hash);
	assert_int_equal(asked, 1);
}

static void test_deep(void **state)
{
	bool selected;
	struct foreign_stack s;
	char small[40];
	const char *t;

	(void)state;
	depth = 500;
	t = text(NULL, &selected);
	assert_string_equal(t + strlen(t) - 7, " <- ...");
	assert_non_null(strstr(t, "fn405 <- ..."));
	depth = 5;
	foreign_read_stack(&s);
	/* Whole frames only. */
	foreign_write_text(&s, NULL, small, sizeof(small), &selected);
	assert_string_equal(small, "/f5.x:7 fn5 <- /f4.x:7 fn4 <- ...");
}

static void test_rules(void **state)
{
	struct foreign_rules *r = rules("f2\\.x\\[7\\] fn2$", NULL);
	const char *wrong;
	char why[64];
	bool selected;

	(void)state;
	depth = 3;
	text(r, &selected);
	assert_true(selected);
	depth = 1;
	text(r, &selected);
	assert_false(selected);
	foreign_rules_free(r);
	r = rules("fn2", "fn2|fn3"); /* a frame that is skipped does not count */
	depth = 4;
	assert_string_equal(text(r, &selected), "/f4.x:7 fn4 <- /f1.x:7 fn1");
	assert_false(selected);
	assert_true(foreign_rules_have_selection(r));
	foreign_rules_free(r);
	assert_null(rules("", NULL));
	assert_false(foreign_rules_have_selection(NULL));
	assert_null(foreign_rules_new("ok", "(", &wrong, why, sizeof(why)));
	assert_string_equal(wrong, "stack_blacklist");
	assert_null(foreign_rules_new("[", NULL, &wrong, why, sizeof(why)));
	assert_string_equal(wrong, "codeline");
}

static void *on_other_thread(void *arg)
{
	struct foreign_stack s;

	depth = *(int *)arg;
	foreign_read_stack(&s);
	return (void *)(intptr_t)(s.language ? s.n : 0);
}

static int frames_elsewhere(int own)
{
	pthread_t th;
	void *n;

	assert_int_equal(pthread_create(&th, NULL, on_other_thread, &own), 0);
	pthread_join(th, &n);
	return (int)(intptr_t)n;
}

static void test_lent(void **state)
{
	(void)state;
	depth = 6;
	assert_int_equal(frames_elsewhere(0), 0);
	foreign_start_lending();
	assert_int_equal(frames_elsewhere(0), 6);
	assert_int_equal(frames_elsewhere(2), 2); /* has its own */
	foreign_stop_lending();
	assert_int_equal(frames_elsewhere(0), 0);
	foreign_stop_lending(); /* once too often does no harm */
	depth = 0; /* nothing to lend */
	foreign_start_lending();
	assert_int_equal(frames_elsewhere(0), 0);
	foreign_stop_lending();
}

struct work {
	const struct foreign_kept *stack;
	int own; /* frames of the thread that does it */
	char text[256];
};

static void *do_work(void *arg)
{
	struct work *w = arg;
	bool selected;

	depth = w->own;
	assert_null(foreign_set_stack(w->stack));
	snprintf(w->text, sizeof(w->text), "%s", text(NULL, &selected));
	/* Work that this work asks for is on behalf of the same stack. */
	if (!w->own)
		assert_ptr_equal(foreign_copy_stack(), w->stack);
	assert_ptr_equal(foreign_set_stack(NULL), w->stack);
	if (!w->own)
		assert_null(foreign_copy_stack());
	return NULL;
}

static void test_kept(void **state)
{
	struct work w = {.own = 0};
	const struct foreign_kept *three;
	pthread_t th;

	(void)state;
	depth = 3;
	three = w.stack = foreign_copy_stack();
	assert_non_null(w.stack);
	assert_ptr_equal(foreign_copy_stack(), w.stack);
	depth = 9; /* who asked for it has gone on */
	assert_int_equal(pthread_create(&th, NULL, do_work, &w), 0);
	pthread_join(th, NULL);
	assert_string_equal(w.text, "/f3.x:7 fn3 <- /f2.x:7 fn2 <- /f1.x:7 fn1");
	w.own = 1;
	assert_int_equal(pthread_create(&th, NULL, do_work, &w), 0);
	pthread_join(th, NULL);
	assert_string_equal(w.text, "/f1.x:7 fn1");
	/* One frame has no name. */
	depth = 14;
	w.own = 0;
	w.stack = foreign_copy_stack();
	assert_ptr_not_equal(w.stack, three);
	assert_int_equal(pthread_create(&th, NULL, do_work, &w), 0);
	pthread_join(th, NULL);
	assert_non_null(strstr(w.text, "fn14 <- /f12.x"));
	depth = 0;
	assert_null(foreign_copy_stack());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
