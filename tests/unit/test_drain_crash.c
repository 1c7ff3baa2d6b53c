/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at random moments: threads record and a writer drains in a child that is killed; then it is recovered, and
 * the recovery is killed too, again and again. In the end every call that was left has its rows once, every call that
 * was open has its open row, no line is torn, and a further recovery changes nothing.
 *
 * CRASH_ROUNDS=n in the environment: n children instead of the default. CRASH_SEED=n: begin with that one.
 */
/* long: five times as long */
#include "crash_helper.h"
#include "long_form.h"

#include <signal.h>
#include <time.h>

/* Recoveries that are not killed, and the one that a child is killed in, must not wait for the disk. */
#define ROUNDS 700

/* A child that ThreadSanitizer looks at takes some 50 ms to start, and shows its races early. */
#ifdef __SANITIZE_THREAD__
#define SECONDS 8
#else
#define SECONDS 12
#endif
#define TIMES_LONG 5 /* with LONG in the environment */

static void nap(uint32_t us)
{
	struct timespec t = {.tv_nsec = us * 1000L};

	nanosleep(&t, NULL);
}

static void *thread_main(void *arg)
{
	live(arg);
	return NULL;
}

static void *drain_main(void *arg)
{
	struct rank *r = arg;

	while (drain_all(&r->drain, false) == 0)
		;
	return NULL;
}

/* In the child. Small blocks and parts: many files, some of which leave the commit and come back. */
static void record(struct rank *r, struct crash_truth *truth, uint64_t seed)
{
	struct crash_plan plan[CRASH_THREADS];
	pthread_t th[CRASH_THREADS], writer;

	if (sink_open(&r->sink, &r->j, r->dirfd, NULL, FORMAT_BIT(CSV)) ||
		drain_open(&r->drain, &r->j, &r->sink))
		_exit(1);
	pthread_create(&writer, NULL, drain_main, r);
	for (unsigned i = 0; i < CRASH_THREADS; i++) {
		plan[i] = (struct crash_plan){seed + i * 7919, &r->j, truth, i, CRASH_CALLS};
		pthread_create(&th[i], NULL, thread_main, &plan[i]);
	}
	for (unsigned i = 0; i < CRASH_THREADS; i++)
		pthread_join(th[i], NULL);
	for (;;)
		pause();
}

/*
 * Waits until the first thread has made 200 calls, at most 2 s: a busy machine may not have run the
 * child once after 25 ms.
 */
static void wait_for_calls(const struct crash_truth *truth)
{
	for (unsigned i = 0; i < 10000 && truth->how[200] == T_NOTHING; i++)
		nap(200);
}

static void kill_after(pid_t pid, uint32_t us)
{
	int status;

	nap(us);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) && WEXITSTATUS(status))
		fail_msg("the child failed: %d", WEXITSTATUS(status));
}

static bool one_round(struct crash_truth *truth, uint64_t round_seed)
{
	uint64_t seed = round_seed;
	struct rank r;
	bool spilled;
	char *bad;
	pid_t pid;

	memset(truth, 0, sizeof(*truth));
	rank_make(&r, 1 << 20);
	dict_api(&r.j, 1, "MPI_X");
	r.j.head->block_steps = 1 + roll(&seed, 12);
	if (roll(&seed, 2))
		r.j.head->part_bytes = 20000 + roll(&seed, 50000);
	pid = fork();
	if (pid == 0)
		record(&r, truth, round_seed);
	if (roll(&seed, 2)) {
		kill_after(pid, roll(&seed, 3000));
	} else {
		wait_for_calls(truth);
		kill_after(pid, roll(&seed, 25000));
	}
	spilled = r.j.head->spilled > 0;
	journal_close(&r.j);
	for (uint32_t k = roll(&seed, 4); k; k--) {
		pid = fork();
		if (pid == 0)
			_exit(recover(r.dir) ? 2 : 0);
		kill_after(pid, roll(&seed, 6000));
	}
	assert_int_equal(recover(r.dir), 0);
	bad = verify(r.dir, truth, spilled);
	if (bad)
		fail_msg("CRASH_SEED=%llu, kept in %s: %s", (unsigned long long)round_seed, r.dir,
			bad);

	uint64_t before = folder_hash(r.dir);

	assert_int_equal(recover(r.dir), 0);
	assert_int_equal(folder_hash(r.dir), before);
	close(r.dirfd);
	remove_tree(r.dir);
	return spilled;
}

static void test_killed(void **state)
{
	const char *rounds = getenv("CRASH_ROUNDS"), *first = getenv("CRASH_SEED");
	struct crash_truth *truth = truth_make();
	uint64_t seed = first ? strtoull(first, NULL, 10) : (uint64_t)time(NULL) * 100000;
	unsigned long n = rounds ? strtoul(rounds, NULL, 10) : ROUNDS;
	uint64_t left = 0, open = 0, spilled = 0;
	long seconds = SECONDS * long_or_short(TIMES_LONG, 1);
	struct timespec t0, now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	for (unsigned long i = 0; i < n; i++) {
		spilled += one_round(truth, seed + i);
		for (uint64_t k = 1; k < CRASH_SEQS; k++) {
			left += truth->how[k] == T_LEFT || truth->how[k] == T_ENDED;
			open += truth->how[k] == T_ENTERED || truth->how[k] == T_STARTED;
		}
		/* Slow machines and sanitizers: fewer rounds rather than a test that is killed for its time. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!rounds && now.tv_sec - t0.tv_sec > seconds)
			n = i;
	}
	print_message("# %lu children killed, %llu calls left, %llu open, %llu times some outside "
		      "the journal\n",
		n, (unsigned long long)left, (unsigned long long)open, (unsigned long long)spilled);
	assert_true(left > 20 * n); /* a sanitizer makes calls slow */
	munmap(truth, sizeof(*truth));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests_name("drain_crash", tests, NULL, NULL);
}
