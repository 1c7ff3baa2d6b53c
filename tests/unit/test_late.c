/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of a training that needs numbers from a device: in the order in which it was added, each piece with its numbers, none before
 * they have arrived, none twice. On a device that this test plays (copies).
 */
#include "session_helper.h"

#include <dlfcn.h>

#include "session/generation_pair.h"
#include "stream_device.h"
#include "training/steps/late.h"

static char done[65536]; /* "NAME:MAX,..." of each piece of work that was done */
static float tensors[8][4];

static void note_work(const void *data, const struct stats *stats)
{
	size_t n = strlen(done);

	assert_true(late_is_running());
	n += (size_t)snprintf(done + n, sizeof(done) - n, "%s", (const char *)data);
	for (const char *of = strchr(data, ':'); of && *++of; stats++)
		n += (size_t)snprintf(done + n, sizeof(done) - n, stats->n ? "%c%g" : "%c-", *of,
			stats->n ? stats->max.f : 0);
	strcat(done, ";");
}

static struct late_number measure(unsigned i)
{
	struct buffer b = {.base = tensors[i],
		.count = 4,
		.bytes = 16,
		.dtype = DT_FLOAT32,
		.device = 1,
		.nostats = 1};

	return late_measure(&b, 9);
}

/* Adds work whose text is "NAME:" and a letter for each number. */
static bool add(const char *text, const struct late_number *n, unsigned count)
{
	return late_add(note_work, text, (uint32_t)strlen(text) + 1, n, count);
}

static int on(void **state)
{
	(void)state;
	session_on(4 << 20);
	loaded = true;
	memory_is = DEVICE_MEMORY;
	assert_non_null(dlopen("libBrokenLocale.so.1", RTLD_NOW));
	assert_ptr_equal(device_present(), &fake);
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	for (unsigned i = 0; i < 8; i++)
		tensors[i][3] = (float)(i + 1);
	real = quiet = true;
	copy_gives = poll_gives = 0;
	nsnapshots = 0;
	done[0] = 0;
	return 0;
}

static int off(void **state)
{
	(void)state;
	late_end();
	assert_false(late_is_pending());
	session_over();
	assert_int_equal(held, 0);
	return 0;
}

static void work_waits_for_its_numbers_and_for_earlier_work(void **state)
{
	struct late_number n[2] = {measure(0), measure(1)};

	(void)state;
	tensors[0][3] = 99; /* the job goes on */
	assert_true(add("a:xy", n, 2));
	assert_true(add("b", NULL, 0));
	late_check();
	assert_string_equal(done, "");
	assert_true(late_is_pending());
	poll_gives = 1;
	late_check();
	assert_string_equal(done, "a:xyx1y2;b;");
	assert_false(late_is_pending());
	assert_false(late_is_running());
	assert_int_equal(held, 0);
}

static void numbers_that_never_arrive_are_unknown(void **state)
{
	struct late_number n[2] = {measure(0)};

	(void)state;
	copy_gives = -ENOBUFS;
	n[1] = measure(1);
	assert_int_equal(n[1].snapshot, 0);
	assert_true(add("a:xy", n, 2));
	poll_gives = 1;
	late_check();
	assert_string_equal(done, "a:xyx1y-;");
	copy_gives = 0;
	n[0] = measure(2);
	assert_true(add("b:x", n, 1));
	poll_gives = -EIO;
	late_check();
	assert_string_equal(done, "a:xyx1y-;b:xx-;");
}

static void the_end_does_all_work(void **state)
{
	struct late_number n = measure(0);

	(void)state;
	assert_true(add("a:x", &n, 1));
	assert_true(add("b", NULL, 0));
	late_end();
	assert_string_equal(done, "a:xx-;b;");
}

static void a_tensor_that_was_not_placed_is_not_read(void **state)
{
	struct buffer b = {.base = (void *)16, .count = 4, .bytes = 16, .dtype = DT_FLOAT32};
	struct late_number n;

	(void)state;
	assert_int_equal(late_measure(&b, 9).snapshot, 0);
	b.device = 1;
	generation_first.cfg.device = CONFIG_DEVICE_OFF;
	assert_int_equal(late_measure(&b, 9).snapshot, 0);
	generation_first.cfg.device = CONFIG_DEVICE_COPY;
	capture = true; /* it would become part of the job's graph */
	assert_int_equal(measure(0).snapshot, 0);
	capture = false;
	n = measure(0);
	assert_int_not_equal(n.snapshot, 0);
	late_remove_number(&n);
	assert_int_equal(held, 0);
}

/* Nothing is done of what was added after a loss, until all before it is done. */
static void a_full_queue_drops_and_counts(void **state)
{
	static char large[LATE_DATA_MAX] = "L";
	uint32_t before = late_get_losses(), added = 0, lost = 0;
	struct late_number n = measure(0), other;

	(void)state;
	assert_true(add("a:x", &n, 1));
	while (late_add(note_work, large, sizeof(large), NULL, 0))
		added++;
	assert_true(added > 4096);
	assert_int_equal(late_get_losses() - before, 1);
	other = measure(1);
	assert_false(add("c:x", &other, 1)); /* smaller, but after a loss */
	assert_int_equal(held, 1);
	lost = late_get_losses();
	poll_gives = 1;
	late_check();
	assert_false(late_is_pending());
	assert_int_equal(strncmp(done, "a:xx1;L;L;", 10), 0);
	done[0] = 0;
	assert_true(add("d", NULL, 0));
	late_check();
	assert_string_equal(done, "d;");
	assert_int_equal(late_get_losses(), lost);
}

/* The queue wraps: far more work than it has room for, a little at a time. */
static void a_long_run_takes_no_more_memory(void **state)
{
	static char large[LATE_DATA_MAX];

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct late_number n = measure(i % 8);

		nsnapshots = 0;
		done[0] = 0;
		snprintf(large, sizeof(large), "%u:x", i);
		poll_gives = i % 3 == 2;
		assert_true(late_add(note_work, large, sizeof(large), &n, 1));
		late_check();
		if (poll_gives)
			assert_false(late_is_pending());
		if (i % 3 == 0)
			nsnapshots = 0;
	}
	poll_gives = 1;
	late_check();
	assert_false(late_is_pending());
}

static _Atomic unsigned counted[2];

static void count_work(const void *data, const struct stats *stats)
{
	static unsigned inside; /* one thread at a time: TSan sees it if not */

	(void)stats;
	assert_int_equal(inside++, 0);
	counted[*(const char *)data == 'b']++;
	inside--;
}

static void *add_counted(void *arg)
{
	for (unsigned i = 0; i < 2000; i++) {
		while (!late_add(count_work, arg, 2, NULL, 0))
			late_check();
		late_check();
	}
	return NULL;
}

static void several_threads_lose_nothing(void **state)
{
	pthread_t t[2];

	(void)state;
	assert_int_equal(pthread_create(&t[0], NULL, add_counted, (void *)(uintptr_t) "a"), 0);
	assert_int_equal(pthread_create(&t[1], NULL, add_counted, (void *)(uintptr_t) "b"), 0);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	late_check();
	assert_int_equal(counted[0], 2000);
	assert_int_equal(counted[1], 2000);
}

static void a_forked_child_has_no_work(void **state)
{
	struct late_number n = measure(0);

	(void)state;
	assert_true(add("a:x", &n, 1));
	late_forked();
	assert_false(late_is_pending());
	poll_gives = 1;
	late_check();
	assert_string_equal(done, "");
	late_remove_number(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			work_waits_for_its_numbers_and_for_earlier_work, on, off),
		cmocka_unit_test_setup_teardown(numbers_that_never_arrive_are_unknown, on, off),
		cmocka_unit_test_setup_teardown(the_end_does_all_work, on, off),
		cmocka_unit_test_setup_teardown(a_tensor_that_was_not_placed_is_not_read, on, off),
		cmocka_unit_test_setup_teardown(a_full_queue_drops_and_counts, on, off),
		cmocka_unit_test_setup_teardown(a_long_run_takes_no_more_memory, on, off),
		cmocka_unit_test_setup_teardown(several_threads_lose_nothing, on, off),
		cmocka_unit_test_setup_teardown(a_forked_child_has_no_work, on, off),
	};

	(void)rows; /* of stream_device.h */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
