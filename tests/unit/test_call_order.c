/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in the order in which their threads made them, whatever the order of their rows; none is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "journal/layout.h"
#include "tools/probe/model/call_order.h"

#define CALLS 4000

static struct call row[CALLS], back[CALLS];
static unsigned rows, given;

/* Calls of `threads` threads in turn, each with blocks of numbers of its own, of which no call has the first `left_out`. */
static void make_rows(unsigned threads, unsigned left_out)
{
	uint64_t at[16] = {0};

	rows = 0;
	for (unsigned i = 0; i < CALLS; i++) {
		unsigned t = (unsigned)random() % threads;
		uint64_t n = at[t]++;

		if (left_out && n % left_out == left_out - 1)
			continue;
		row[rows++] = (struct call){.thread = 100 + t,
			.start = 1000 + i,
			.seq = SEQ_FIRST + (n / SEQ_BLOCK * threads + t) * SEQ_BLOCK +
			       n % SEQ_BLOCK};
	}
}

/* Moves each row after at most `most` later ones, like rows of asynchronous operations. */
static void delay_rows(unsigned most)
{
	for (unsigned i = 0; i + most < rows; i += most) {
		unsigned k = i + (unsigned)random() % most;
		struct call late = row[i];

		memmove(row + i, row + i + 1, (k - i) * sizeof(*row));
		row[k] = late;
	}
}

static void play_rows(void)
{
	struct call_order o = {.held = NULL};
	struct call c;
	unsigned next = 0;
	bool ended = false;

	given = 0;
	while (true) {
		if (take_held_call(&o, &c, ended)) {
			back[given++] = c;
		} else if (ended) {
			break;
		} else if (next == rows) {
			ended = true;
		} else if (!hold_early_call(&o, &row[next++])) {
			back[given++] = row[next - 1];
		}
		assert_true(given <= rows);
	}
	free_call_order(&o);
	assert_int_equal(given, rows);
}

/* Number of calls that come after a later call of their thread. */
static unsigned count_late(const struct call *c)
{
	uint64_t last[256] = {0};
	unsigned late = 0;

	for (unsigned i = 0; i < rows; i++) {
		late += c[i].seq < last[c[i].thread];
		last[c[i].thread] = c[i].seq;
	}
	return late;
}

static int first_random(void **state)
{
	(void)state;
	srandom(1);
	return 0;
}

static void what_is_in_order_stays(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 6; threads++) {
		make_rows(threads, 0);
		play_rows();
		assert_memory_equal(back, row, rows * sizeof(*row));
	}
}

static void late_rows_come_in_order(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= ORDERED_THREADS; threads++) {
		make_rows(threads, 0);
		delay_rows(12);
		assert_true(count_late(row) > 100);
		play_rows();
		/* The first of a thread may be late itself. */
		assert_true(count_late(back) <= threads);
	}
}

static void without_calls_that_never_come(void **state)
{
	(void)state;
	make_rows(3, 97);
	delay_rows(8);
	play_rows();
	assert_true(count_late(back) <= 3);
}

static void more_threads_than_are_followed(void **state)
{
	(void)state;
	make_rows(16, 0);
	delay_rows(30);
	play_rows();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_in_order_stays, first_random),
		cmocka_unit_test_setup(late_rows_come_in_order, first_random),
		cmocka_unit_test_setup(without_calls_that_never_come, first_random),
		cmocka_unit_test_setup(more_threads_than_are_followed, first_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
