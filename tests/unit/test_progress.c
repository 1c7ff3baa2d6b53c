/* SPDX-License-Identifier: Apache-2.0 */
/* The writer thread's measurements of its process: which process makes progress, by itself or through a child. The caller is the writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "writer/progress.h"

static _Atomic int stop;

static void spin(void)
{
	for (volatile unsigned i = 0; !stop; i++)
		;
}

static void *compute(void *unused)
{
	spin();
	return unused;
}

static void *read_file(void *unused)
{
	static char block[1 << 16];
	int fd = open("/dev/zero", O_RDONLY);

	while (!stop) {
		if (read(fd, block, sizeof(block)) < 0)
			break;
		usleep(200000);
	}
	close(fd);
	return unused;
}

/* Twenty times a second, as a library's event loop. */
static void *wake_up(void *unused)
{
	while (!stop)
		usleep(50000);
	return unused;
}

static void measure_times(struct journal_progress *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		measure_progress(p);
		usleep(950000);
	}
	measure_progress(p);
}

static bool is_still(const struct journal_progress *p)
{
	return p->quiet_ns == p->at_ns && p->moved_ns < p->at_ns;
}

static struct journal_progress measure_with_thread(void *(*run)(void *))
{
	struct journal_progress p = {0};
	pthread_t t;

	stop = 0;
	assert_int_equal(pthread_create(&t, NULL, run, NULL), 0);
	measure_times(&p, 3);
	stop = 1;
	pthread_join(t, NULL);
	return p;
}

static struct journal_progress measure_with_child(void (*run)(void))
{
	struct journal_progress p = {0};
	pid_t pid;

	stop = 0;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(0);
	}
	measure_times(&p, 4);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return p;
}

static void sleep_on(void)
{
	pause();
}

/* A shell that waits for a compressor. */
static void wait_for_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin();
	}
	waitpid(pid, NULL, 0);
}

static void sleeping_threads_are_no_progress(void **state)
{
	struct journal_progress p = measure_with_thread(wake_up);

	(void)state;
	/* A thread that woke up and waits for a core moves; on a busy machine it may be met so. */
	for (int i = 0; i < 9 && !(is_still(&p) && p.cpu_percent < 2); i++)
		p = measure_with_thread(wake_up);
	assert_true(is_still(&p));
	assert_int_equal(p.unseen, 0);
	assert_true(p.cpu_percent < 2);
}

static void computing_is_progress(void **state)
{
	struct journal_progress p = measure_with_thread(compute);

	(void)state;
	assert_true(p.moved_ns == p.at_ns);
	assert_true(p.cpu_percent >= 2);
}

static void reading_is_progress(void **state)
{
	struct journal_progress p = measure_with_thread(read_file);

	(void)state;
	assert_true(p.moved_ns == p.at_ns);
}

static void a_computing_child_is_progress(void **state)
{
	struct journal_progress p = measure_with_child(spin);

	(void)state;
	assert_true(p.moved_ns == p.at_ns);
}

static void a_computing_grandchild_is_progress(void **state)
{
	struct journal_progress p = measure_with_child(wait_for_child);

	(void)state;
	assert_true(p.moved_ns == p.at_ns);
}

static void a_sleeping_child_is_no_progress(void **state)
{
	struct journal_progress p = measure_with_child(sleep_on);

	(void)state;
	assert_true(is_still(&p));
}

static void the_writers_own_time_does_not_count(void **state)
{
	struct journal_progress p = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint64_t at;

		measure_progress(&p);
		at = p.at_ns;
		while (p.at_ns == at)
			measure_progress(&p);
	}
	assert_true(is_still(&p));
}

/* Bytes that this process has read, as the kernel prints them. */
static uint64_t count_bytes_read(void)
{
	char text[512] = "";
	int fd = open("/proc/self/io", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	assert_true(n > 0);
	return strtoull(text + strlen("rchar: "), NULL, 10);
}

/* Reads until the number has another digit soon, so that the text of /proc/self/io grows by a byte between two measurements. */
static void a_longer_count_is_no_progress(void **state)
{
	static char block[1 << 16];
	struct journal_progress p = {0};
	uint64_t limit = 10;
	int fd = open("/dev/zero", O_RDONLY);

	(void)state;
	while (limit < count_bytes_read() + sizeof(block))
		limit *= 10;
	for (uint64_t n; (n = count_bytes_read()) < limit - 4000;) {
		uint64_t left = limit - 4000 - n;

		assert_true(read(fd, block, left < sizeof(block) ? left : sizeof(block)) > 0);
	}
	measure_progress(&p);
	p.at_ns -= 1000000000; /* as if the measurement were a second ago */
	assert_true(count_bytes_read() < limit);
	assert_true(read(fd, block, 4000) > 0);
	measure_progress(&p);
	close(fd);
	assert_true(p.moved_ns < p.at_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeping_threads_are_no_progress),
		cmocka_unit_test(computing_is_progress),
		cmocka_unit_test(reading_is_progress),
		cmocka_unit_test(a_computing_child_is_progress),
		cmocka_unit_test(a_computing_grandchild_is_progress),
		cmocka_unit_test(a_sleeping_child_is_no_progress),
		cmocka_unit_test(the_writers_own_time_does_not_count),
		cmocka_unit_test(a_longer_count_is_no_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
