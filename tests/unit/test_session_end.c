/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create */
/*
 * A recording with other threads and processes about: forked children, a program that ends while its threads are in
 * their calls, and one whose writer thread cannot be made.
 */
#include "session_child.h"

static void wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void forked_child(void)
{
	bool follow = session.cfg.fork == FORK_FOLLOW;
	char *second;
	pid_t pid;

	session_rank(0, 2);
	CHECK(call());
	follow = session.cfg.fork == FORK_FOLLOW;
	pid = fork();
	if (pid == 0) {
		alarm(20);
		CHECK(call() == follow);
		session_end();
		_exit(0);
	}
	wait_for(pid);
	CHECK(call());
	session_end();
	CHECK(rows("rank0") == 2);
	/* The child has its parent's rank, whose folder is taken. */
	CHECK(asprintf(&second, "rank0-pid%d", (int)pid) > 0);
	CHECK(count_files(out, "rank") == 1u + follow && count_files(out, "host-") == 0);
	if (follow)
		CHECK(rows(second) == 1 && meta_says(second, "\"finished\""));
}

static void forked_child_that_is_followed(void)
{
	set("PROBE_FORK=follow");
	forked_child();
}

/* Another thread holds the lock at the moment of the fork: in the child nobody will ever unlock it. */
static void forked_while_locked(void)
{
	pid_t pid;

	CHECK(session_configure());
	pthread_mutex_lock(&session.lock);
	pid = fork();
	if (pid == 0) {
		alarm(5);
		session_rank(1, 2);
		CHECK(call());
		session_end();
		_exit(0);
	}
	pthread_mutex_unlock(&session.lock);
	wait_for(pid);
	CHECK(rows("rank1") == 1);
}

#if defined(__has_feature)
#define TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define TSAN 1
#else
#define TSAN 0
#endif

static void test_fork(void **state)
{
	(void)state;
	if (TSAN)
		skip(); /* it forbids threads in a child of a process with threads */
	in_child(forked_child);
	in_child(forked_child_that_is_followed);
	in_child(forked_while_locked);
}

static _Atomic bool over;
static _Atomic unsigned made;

static void *record_until_over(void *arg)
{
	(void)arg;
	while (!over)
		made += call();
	return NULL;
}

/* The program ends while its threads are in their calls. Nothing twice, nothing torn, and no thread trips. */
static void ends_under_way(void)
{
	pthread_t th[4];
	struct table t;

	session_rank(0, 1);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&th[i], NULL, record_until_over, NULL) == 0);
	poll(NULL, 0, 50);
	session_end();
	over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	t = table_read(path_in("rank0", ""));
	CHECK(!t.bad && t.n > 100 && t.n <= made);
	for (size_t i = 0; i < t.n && i < 3000; i++)
		CHECK(rows_of(&t, strtoull(t.row[i].field[COL_SEQ], NULL, 10), NULL) == 1);
	CHECK(meta_says("rank0", "\"finished\""));
}

static void test_ends_under_way(void **state)
{
	(void)state;
	in_child(ends_under_way);
}

static void no_writer_thread(void)
{
	unsigned n = 0;

	no_threads = true;
	session_rank(0, 1);
	/* More than the journal holds: the program's own thread has to write. */
	for (int i = 0; i < 20000; i++)
		n += call();
	CHECK(n == 20000);
	CHECK(rows("rank0") > 5000);
	session_end();
	CHECK(rows("rank0") == n && meta_says("rank0", "\"writer\": \"no writer thread"));
}

static void test_no_writer_thread(void **state)
{
	(void)state;
	in_child(no_writer_thread);
}

static _Atomic bool held;
static bool spins;

/* Stands for a writer that has the files for three seconds. */
static void *hold(void *arg)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + UINT64_C(3000000000);

	(void)arg;
	pthread_mutex_lock(&session.drain_lock);
	writer_tid = (int)syscall(SYS_gettid);
	held = true;
	while (clock_ns(CLOCK_MONOTONIC) < end)
		if (!spins)
			poll(NULL, 0, 3000);
	pthread_mutex_unlock(&session.drain_lock);
	return NULL;
}

/* On a crowded machine it is short of time, and waited for; one that is stuck is not. */
static void ends_while_writing(void)
{
	pthread_t th;

	session_rank(0, 1);
	CHECK(call());
	while (!writer_tid)
		poll(NULL, 0, 10);
	CHECK(pthread_create(&th, NULL, hold, NULL) == 0);
	while (!held)
		poll(NULL, 0, 10);
	session_end();
	CHECK(meta_says("rank0", "\"finished\"") == spins);
	pthread_join(th, NULL);
}

static void test_ends_while_writing(void **state)
{
	(void)state;
	spins = true;
	in_child(ends_while_writing);
	spins = false;
	in_child(ends_while_writing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_ends_under_way),
		cmocka_unit_test(test_ends_while_writing),
		cmocka_unit_test(test_no_writer_thread),
	};

	return cmocka_run_group_tests_name("session_end", tests, NULL, NULL);
}
