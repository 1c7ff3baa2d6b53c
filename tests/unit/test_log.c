/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on a stderr that may be anything: closed, a broken pipe, a full one, or a data file of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"

static int real_stderr;
static char got[65536];

/* Stderr is fd from here on; -1: closed. */
static void stderr_is(int fd)
{
	if (fd >= 0)
		dup2(fd, 2);
	else
		close(2);
}

static int begin(void **state)
{
	(void)state;
	log_reset();
	log_level_set(1);
	real_stderr = dup(2);
	return 0;
}

static int end(void **state)
{
	(void)state;
	dup2(real_stderr, 2);
	close(real_stderr);
	return 0;
}

/* The text that is written to a pipe while fn runs. */
static const char *said(void (*fn)(void))
{
	int p[2];
	ssize_t n;

	assert_int_equal(pipe(p), 0);
	stderr_is(p[1]);
	close(p[1]);
	fn();
	stderr_is(real_stderr);
	n = read(p[0], got, sizeof(got) - 1);
	got[n > 0 ? n : 0] = 0;
	close(p[0]);
	return got;
}

static void two_of_a_kind(void)
{
	errno = 42;
	log_loss(LOSS_FULL, "first %d", 1);
	log_loss(LOSS_FULL, "second");
	log_loss(LOSS_WRITE, "other");
	log_info(2, "not at this level");
	assert_int_equal(errno, 42);
}

static void test_once_per_kind(void **state)
{
	(void)state;
	assert_null(log_loss_text(LOSS_FULL));
	assert_string_equal(said(two_of_a_kind), "libprobe: first 1\nlibprobe: other\n");
	assert_string_equal(log_loss_text(LOSS_FULL), "first 1");
	assert_string_equal(said(two_of_a_kind), "");
	log_reset();
	log_rank_set(7);
	assert_string_equal(
		said(two_of_a_kind), "libprobe: rank 7: first 1\nlibprobe: rank 7: other\n");
}

static void three_about_configuration(void)
{
	for (int i = 0; i < 3; i++)
		log_loss(LOSS_CONFIG, "line %d", i);
}

static void test_configuration_says_all(void **state)
{
	(void)state;
	assert_string_equal(said(three_about_configuration), "");
	assert_string_equal(
		said(log_config_now), "libprobe: line 0\nlibprobe: line 1\nlibprobe: line 2\n");
	assert_string_equal(said(log_config_now), "");
	assert_string_equal(said(three_about_configuration),
		"libprobe: line 0\nlibprobe: line 1\nlibprobe: line 2\n");
	assert_string_equal(log_loss_text(LOSS_CONFIG), "line 0; line 1; line 2");
}

static void test_silent(void **state)
{
	(void)state;
	log_level_set(0);
	assert_string_equal(said(two_of_a_kind), "");
	/* But it is remembered for meta.json. */
	assert_string_equal(log_loss_text(LOSS_WRITE), "other");
}

static char odd[3000];

static void say_odd(void)
{
	log_loss(LOSS_FOLDER, "%s", odd);
}

static void test_one_line(void **state)
{
	(void)state;
	strcpy(odd, "a\nb\rc\x1b[31m\x7f");
	assert_string_equal(said(say_odd), "libprobe: a?b?c?[31m?\n");
	assert_string_equal(log_loss_text(LOSS_FOLDER), "a?b?c?[31m?");
	log_reset();
	memset(odd, 'x', sizeof(odd) - 1);
	said(say_odd);
	assert_int_equal(strlen(got), 511);
	assert_int_equal(got[510], '\n');
	assert_int_equal(strlen(log_loss_text(LOSS_FOLDER)), LOSS_TEXT_MAX - 1);
}

static void broken_pipe(void)
{
	int p[2];
	sigset_t pending;

	assert_int_equal(pipe(p), 0);
	close(p[0]);
	stderr_is(p[1]);
	close(p[1]);
	two_of_a_kind();
	sigpending(&pending);
	assert_int_equal(sigismember(&pending, SIGPIPE), 0);
}

static void test_broken_pipe(void **state)
{
	sigset_t before, after, one;

	(void)state;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	broken_pipe(); /* SIGPIPE would end us here */
	stderr_is(real_stderr);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i < 65; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	/* One that was pending already is the program's, and stays. */
	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	raise(SIGPIPE);
	log_reset();
	said(two_of_a_kind);
	sigpending(&after);
	assert_int_equal(sigismember(&after, SIGPIPE), 1);
	assert_int_equal(sigtimedwait(&one, NULL, &(struct timespec){0}), SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void test_closed(void **state)
{
	(void)state;
	stderr_is(-1);
	two_of_a_kind();
	assert_string_equal(log_loss_text(LOSS_FULL), "first 1");
}

/* The program closed stderr, and the next file that it opened got the number. */
static void test_data_file(void **state)
{
	char path[] = "/tmp/probe-unit-log-XXXXXX";
	int fd = mkstemp(path);
	struct stat st;

	(void)state;
	assert_int_equal(write(fd, "data data", 9), 9);
	lseek(fd, 4, SEEK_SET);
	stderr_is(fd);
	two_of_a_kind();
	fstat(fd, &st);
	assert_int_equal(st.st_size, 9);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 4);
	/* 2>file of a shell, and 2>>file, are for us. */
	log_reset();
	lseek(fd, 0, SEEK_END);
	two_of_a_kind();
	fstat(fd, &st);
	assert_int_equal(st.st_size, 9 + 18 + 16);
	close(fd);
	fd = open(path, O_WRONLY | O_APPEND);
	stderr_is(fd);
	log_reset();
	two_of_a_kind();
	fstat(fd, &st);
	assert_int_equal(st.st_size, 9 + 2 * (18 + 16));
	close(fd);
	unlink(path);
}

/* A pipe that is full and does not block: lost, and the program goes on. */
static void test_full_pipe(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	while (write(p[1], odd, sizeof(odd)) > 0)
		;
	while (write(p[1], odd, 1) > 0)
		;
	stderr_is(p[1]);
	two_of_a_kind();
	close(p[0]);
	close(p[1]);
}

static void *complain(void *arg)
{
	for (int i = 0; i < 2000; i++)
		for (int k = LOSS_FOLDER; k < LOSS_COUNT; k++) {
			const char *text;

			log_loss((enum loss)k, "kind %d by %s", k, (const char *)arg);
			text = log_loss_text((enum loss)k);
			if (text)
				assert_int_equal(atoi(text + 5), k);
		}
	return NULL;
}

static void all_complain(void)
{
	pthread_t th[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&th[i], NULL, complain, (void *)(uintptr_t) "somebody");
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
}

static void test_threads(void **state)
{
	unsigned lines = 0;

	(void)state;
	said(all_complain);
	for (const char *s = got; (s = strchr(s, '\n')); s++)
		lines++;
	assert_int_equal(lines, LOSS_COUNT - LOSS_FOLDER);
	for (int i = 0; i < LOSS_COUNT; i++)
		assert_true(strlen(log_loss_name((enum loss)i)) > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once_per_kind, begin, end),
		cmocka_unit_test_setup_teardown(test_configuration_says_all, begin, end),
		cmocka_unit_test_setup_teardown(test_silent, begin, end),
		cmocka_unit_test_setup_teardown(test_one_line, begin, end),
		cmocka_unit_test_setup_teardown(test_broken_pipe, begin, end),
		cmocka_unit_test_setup_teardown(test_closed, begin, end),
		cmocka_unit_test_setup_teardown(test_data_file, begin, end),
		cmocka_unit_test_setup_teardown(test_full_pipe, begin, end),
		cmocka_unit_test_setup_teardown(test_threads, begin, end),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
