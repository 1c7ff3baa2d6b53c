/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create -Wl,--wrap=files_write -Wl,--wrap=sched_yield */
/*
 * A recording with other threads and processes about: forked children, a program that ends while its threads are in
 * their calls, and one whose writer thread cannot be made.
 */
#include "session_child.h"

#include <sys/resource.h>

static void wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void forked_child(void)
{
	bool follow = generation_first.cfg.fork == FORK_FOLLOW;
	char *second;
	pid_t pid;

	session_set_rank(0, 2);
	CHECK(call());
	follow = generation_first.cfg.fork == FORK_FOLLOW;
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

/* Another thread holds the lock at the moment of the fork: in the child no thread will ever unlock it. */
static void forked_while_locked(void)
{
	pid_t pid;

	CHECK(session_configure());
	pthread_mutex_lock(&session.lock);
	pid = fork();
	if (pid == 0) {
		alarm(5);
		session_set_rank(1, 2);
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

/* Its rows are looked for one by one: if the machine runs the ending thread late, they must not become too many. */
static void *record_until_over(void *arg)
{
	(void)arg;
	while (!over) {
		made += call();
		if (made > 20000)
			poll(NULL, 0, 1);
	}
	return NULL;
}

/* The program ends while its threads are in their calls. Nothing twice, nothing torn, and no thread trips. */
static void ends_under_way(void)
{
	pthread_t th[4];
	struct table t;

	session_set_rank(0, 1);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&th[i], NULL, record_until_over, NULL) == 0);
	/* Until they are well on their way, however busy the machine is. */
	for (int i = 0; i < 400 && (i < 2 || made < 400); i++)
		poll(NULL, 0, 25);
	session_end();
	over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	t = read_test_table(path_in("rank0", ""));
	CHECK(!t.bad && t.n > 100 && t.n <= made);
	for (size_t i = 0; i < t.n && i < 3000; i++)
		CHECK(rows_of_file(&t, strtoull(t.row[i].field[COL_seq], NULL, 10), NULL) == 1);
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
	session_set_rank(0, 1);
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

/* Stands for a writer that has the role for three seconds. */
static void *hold(void *arg)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + UINT64_C(3000000000);

	(void)arg;
	CHECK(role_take_within(1000));
	held = true;
	while (clock_ns(CLOCK_MONOTONIC) < end)
		if (!spins)
			poll(NULL, 0, 3000);
	role_release();
	return NULL;
}

static uint32_t state_in_journal(void)
{
	struct journal j;
	uint32_t state;

	CHECK(journal_open(&j, AT_FDCWD, path_in("rank0", "journal.bin"), true) == 0);
	state = atomic_load(&j.head->state);
	journal_close(&j);
	return state;
}

/*
 * On a crowded machine it is short of time, and waited for. One that is stuck is not: the journal says that the process
 * has ended, and the writer does the rest if it comes to it.
 */
static void ends_while_writing(void)
{
	pthread_t th;
	uint64_t t0;

	session_set_rank(0, 1);
	CHECK(call());
	CHECK(pthread_create(&th, NULL, hold, NULL) == 0);
	while (!held)
		poll(NULL, 0, 10);
	t0 = clock_ns(CLOCK_MONOTONIC);
	session_end();
	CHECK(spins || clock_ns(CLOCK_MONOTONIC) - t0 < UINT64_C(2900000000));
	CHECK(meta_says("rank0", "\"finished\"") == spins);
	CHECK(spins || state_in_journal() == JS_ENDED);
	pthread_join(th, NULL);
	for (int i = 0; i < 300 && !meta_says("rank0", "\"finished\""); i++)
		poll(NULL, 0, 10);
	CHECK(meta_says("rank0", "\"finished\"") && rows("rank0") == 1);
}

static void test_ends_while_writing(void **state)
{
	(void)state;
	spins = true;
	in_child(ends_while_writing);
	spins = false;
	in_child(ends_while_writing);
}

/* ---- a writer that gets no processor, or too little ---- */

static _Atomic int pass_ms; /* that a pass of the writer thread takes */

int __real_files_write(struct files *f, struct journal_commit *next);
int __wrap_files_write(struct files *f, struct journal_commit *next);

int __wrap_files_write(struct files *f, struct journal_commit *next)
{
	if (pass_ms && (int)syscall(SYS_gettid) == output.writer_tid)
		poll(NULL, 0, pass_ms);
	return __real_files_write(f, next);
}

/* It has much to write, and is slow: the thread that ends the program waits for one pass, and writes the rest. */
static void ends_while_behind(void)
{
	uint64_t t0;
	unsigned n = 0;

	CHECK(strcmp(env[1], "PROBE_JOURNAL_MIB=1") == 0);
	env[1] = strdup("PROBE_JOURNAL_MIB=16");
	session_set_rank(0, 1);
	CHECK(call());
	while (!output.writer_tid)
		poll(NULL, 0, 10);
	pass_ms = 500;
	for (int i = 0; i < 50000; i++)
		n += call();
	CHECK(n == 50000);
	t0 = clock_ns(CLOCK_MONOTONIC);
	session_end();
	CHECK(clock_ns(CLOCK_MONOTONIC) - t0 < UINT64_C(2000000000));
	CHECK(meta_says("rank0", "\"finished\"") && rows("rank0") == n + 1);
}

/* A file with more records than there is room for in the journal, as only the thread that makes them writes. */
static void writes_itself(void)
{
	unsigned n = 0;
	uint64_t own;

	lame_threads = true;
	session_set_rank(0, 1);
	CHECK(call());
	own = thread_get()->chain.slot->self_ticks;
	for (int i = 0; i < 20000; i++)
		n += call();
	CHECK(n == 20000 && thread_get()->chain.slot->count[JC_DROP_FULL] == 0);
	CHECK(rows("rank0") > 5000 && rows("rank0") < n);
	/* What it wrote is counted as its own time: 20 ns for each row at the very least. */
	own = thread_get()->chain.slot->self_ticks - own;
	CHECK((double)own * session.clock.ns_per_tick > 20.0 * (double)rows("rank0"));
	CHECK(session.journal.head->free_chunks > 0);
	session_end();
	CHECK(rows("rank0") == n + 1);
}

static _Atomic unsigned yields;
static _Atomic uint64_t longest_yield;

int __wrap_sched_yield(void);

/* The others take 100 us. */
int __wrap_sched_yield(void)
{
	uint64_t t0 = clock_ticks(), took;

	while ((double)(clock_ticks() - t0) * session.clock.ns_per_tick < 100000)
		;
	took = clock_ticks() - t0;
	longest_yield = took > longest_yield ? took : longest_yield;
	yields++;
	return 0;
}

/* A thread has the role and makes no progress: not one record is lost before the journal is full, and no call takes long. */
static void nobody_writes(void)
{
	struct journal_head *h;
	pthread_t th;
	uint64_t t0, longest = 0;
	unsigned n = 0;

	lame_threads = true;
	session_set_rank(0, 1);
	CHECK(call());
	h = session.journal.head;
	lame_threads = false;
	CHECK(pthread_create(&th, NULL, hold, NULL) == 0);
	while (!held)
		poll(NULL, 0, 10);
	while (call())
		n++;
	CHECK(h->free_chunks <= h->nchunk / JOURNAL_ENDS);
	t0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 1000; i++) {
		uint64_t t1 = clock_ns(CLOCK_THREAD_CPUTIME_ID), took;

		CHECK(!call());
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - t1;
		longest = took > longest ? took : longest;
	}
	/* Waiting is 5 % of the thread's time in all, and what others took the last time. */
	CHECK(yields > 0 && thread_get()->waited >= longest_yield);
	CHECK(thread_get()->waited * 20 <= clock_ticks() - thread_get()->made + 21 * longest_yield);
	CHECK(longest < 10000000 && clock_ns(CLOCK_THREAD_CPUTIME_ID) - t0 < 1000000000);
	CHECK(thread_get()->chain.slot->count[JC_DROP_FULL] == 1001);
	pthread_join(th, NULL);
	/* It is free again: so is the journal, soon. */
	poll(NULL, 0, 5);
	CHECK(call());
	session_end();
	CHECK(rows("rank0") == n + 2);
}

/* The rank becomes known while a thread writes: the call does not wait for that. */
static void named_while_writing(void)
{
	pthread_t th;
	uint64_t t0;

	lame_threads = true;
	CHECK(call());
	lame_threads = false;
	CHECK(pthread_create(&th, NULL, hold, NULL) == 0);
	while (!held)
		poll(NULL, 0, 10);
	t0 = clock_ns(CLOCK_MONOTONIC);
	session_set_rank(3, 4);
	CHECK(clock_ns(CLOCK_MONOTONIC) - t0 < UINT64_C(1500000000));
	pthread_join(th, NULL);
	session_end();
	CHECK(rows("rank3") == 1 && meta_says("rank3", "\"world_size\": 4"));
}

static void holder_in_fork(void)
{
	pthread_t th;
	pid_t pid;

	set("PROBE_FORK=follow");
	session_set_rank(0, 1);
	CHECK(call());
	CHECK(pthread_create(&th, NULL, hold, NULL) == 0);
	while (!held)
		poll(NULL, 0, 10);
	pid = fork();
	if (pid == 0) {
		uint64_t t0 = clock_ns(CLOCK_MONOTONIC);

		alarm(20);
		CHECK(role_holder() == 0 && call());
		session_end();
		CHECK(clock_ns(CLOCK_MONOTONIC) - t0 < UINT64_C(1500000000));
		_exit(0);
	}
	wait_for(pid);
	pthread_join(th, NULL);
	session_end();
	CHECK(rows("rank0") == 1);
}

static void test_ends_while_behind(void **state)
{
	(void)state;
	in_child(ends_while_behind);
}

static void test_help(void **state)
{
	(void)state;
	in_child(writes_itself);
	spins = false;
	in_child(nobody_writes);
	in_child(named_while_writing);
	if (!TSAN)
		in_child(holder_in_fork);
}

/* As an ordinary user: it has the nice value that the program has, and wakes up without taking a processor from it. */
static void priority_of_writer(void)
{
	session_set_rank(0, 1);
	CHECK(call());
	while (!output.writer_tid)
		poll(NULL, 0, 10);
	for (int i = 0; i < 200 && sched_getscheduler(output.writer_tid) != SCHED_BATCH; i++)
		poll(NULL, 0, 10);
	CHECK(sched_getscheduler(output.writer_tid) == SCHED_BATCH);
	CHECK(getpriority(PRIO_PROCESS, (id_t)output.writer_tid) == getpriority(PRIO_PROCESS, 0));
	session_end();
}

static void test_priority(void **state)
{
	(void)state;
	in_child(priority_of_writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_ends_under_way),
		cmocka_unit_test(test_ends_while_writing),
		cmocka_unit_test(test_ends_while_behind),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_no_writer_thread),
	};

	return cmocka_run_group_tests_name("session_end", tests, NULL, NULL);
}
