/* SPDX-License-Identifier: Apache-2.0 */
/* Who sleeps and who computes, of living processes: among them a computing one that is told from one with busy helpers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/probe/rules/end/asleep.h"

static pid_t child;

static void *spin(void *unused)
{
	(void)unused;
	for (volatile unsigned i = 0;; i++)
		;
	return NULL;
}

static void *write_rows(void *unused)
{
	prctl(PR_SET_NAME, "probe-writer");
	return spin(unused);
}

/* Wakes up twenty times a second, as a library's event loop does. */
static void *wake(void *unused)
{
	for (;;)
		usleep(50000);
	return unused;
}

static void sleep_only(void)
{
}

static void have_writer(void)
{
	pthread_t t;

	pthread_create(&t, NULL, write_rows, NULL);
}

static void have_loops(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, wake, NULL);
}

static void have_computing_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, spin, NULL);
}

static void start_child(void (*before)(void))
{
	child = fork();
	assert_true(child >= 0);
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	before();
	for (;;)
		pause();
}

static bool is_asleep(enum rank_state state, bool *nobody)
{
	struct rank_dir dir = {.rank = 0, .state = state};
	struct gather g = {0};
	const struct open_call *standing[1] = {NULL};

	dir.meta.has_owner = true;
	dir.meta.owner.pid = (uint32_t)child;
	g.folders.dir = &dir;
	g.folders.n = 1;
	return are_movers_asleep(&g, standing, nobody);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void check_child(void (*before)(void), int signal, bool want)
{
	bool nobody;

	start_child(before);
	usleep(50000);
	if (signal)
		kill(child, signal);
	assert_int_equal(is_asleep(RANK_RUNNING, &nobody), want);
	assert_false(nobody);
	end_child();
}

static void sleepers(void **state)
{
	(void)state;
	check_child(sleep_only, 0, true);
	check_child(have_loops, 0, true);
	/* Ours writes when others do nothing. */
	check_child(have_writer, 0, true);
}

static bool is_stopped(enum rank_state state)
{
	struct rank_dir dir = {.rank = 0, .state = state};

	dir.meta.has_owner = true;
	dir.meta.owner.pid = child;
	return is_process_stopped(&dir);
}

/* Whatever it was doing; of one that is gone, or runs elsewhere, nothing is known. */
static void stopped(void **state)
{
	(void)state;
	start_child(sleep_only);
	usleep(50000);
	assert_false(is_stopped(RANK_RUNNING));
	kill(child, SIGSTOP);
	usleep(50000);
	assert_true(is_stopped(RANK_RUNNING));
	assert_false(is_stopped(RANK_UNSEEN));
	assert_false(is_stopped(RANK_KILLED));
	kill(child, SIGCONT);
	usleep(50000);
	assert_false(is_stopped(RANK_RUNNING));
	end_child();
	assert_false(is_stopped(RANK_RUNNING));
}

static void stopped_while_computing(void **state)
{
	(void)state;
	check_child(have_computing_thread, SIGSTOP, true);
}

static void who_computes(void **state)
{
	(void)state;
	check_child(have_computing_thread, 0, false);
}

static void not_to_be_seen(void **state)
{
	bool nobody;

	(void)state;
	start_child(sleep_only);
	assert_false(is_asleep(RANK_UNSEEN, &nobody));
	end_child();
	/* It has gone since its state was read. */
	assert_false(is_asleep(RANK_RUNNING, &nobody));
	/* Who ended moves no more. */
	assert_true(is_asleep(RANK_FINISHED, &nobody));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleepers),
		cmocka_unit_test(stopped),
		cmocka_unit_test(stopped_while_computing),
		cmocka_unit_test(who_computes),
		cmocka_unit_test(not_to_be_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
