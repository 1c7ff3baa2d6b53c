/* SPDX-License-Identifier: Apache-2.0 */
/* The helper threads of the statistics in the job's process: environment, signals, faults, cores. */
#include "stats_threads_helper.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/cores.h"

static void default_floating_point_environment(void **state)
{
	struct figures want = fill_and_measure();
	fenv_t was;

	(void)state;
	fegetenv(&was);
	fesetround(FE_UPWARD);
#if defined(__x86_64__)
	uint32_t mxcsr;

	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	mxcsr |= 0x8040; /* flush to zero, denormals are zero */
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
#endif
	helpers_start(1, NULL);
	fesetenv(&was);
	with_help(&want);
#if defined(__x86_64__) /* the x87 unit is not used */
	assert_int_equal(atomic_load(&environment_of_helper), 0x1f80);
#else
	assert_int_equal(atomic_load(&environment_of_helper), FE_TONEAREST);
#endif
}

static void no_signal_is_theirs(void **state)
{
	sigset_t all;
	uint64_t want = 0;

	(void)state;
	sigfillset(&all);
	for (int s = 1; s <= 64; s++)
		if (sigismember(&all, s) == 1 && s != SIGKILL && s != SIGSTOP && s != SIGSEGV &&
			s != SIGBUS)
			want |= 1ull << (s - 1);
	helpers_start(3, NULL);
	assert_int_equal(tasks_blocking("probe-stats", want), 3);
}

/* A handler of the job that makes memory readable, as some checkpointers and garbage collectors have. */
static _Atomic int faults_of_helpers;

static void make_readable(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	atomic_fetch_add(&faults_of_helpers, !is_me);
	mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)4095), 4096, PROT_READ);
}

static void a_fault_is_the_jobs_to_handle(void **state)
{
	struct sigaction sa = {.sa_sigaction = make_readable, .sa_flags = SA_SIGINFO}, was;
	size_t bytes = 40 * CHUNK * sizeof(float);
	struct figures want = fill_and_measure(), got;
	float *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	memcpy(p, tensor, bytes);
	helpers_start(1, NULL);
	assert_int_equal(mprotect(p, bytes, PROT_NONE), 0);
	sigaction(SIGSEGV, &sa, &was);
	atomic_store(&hold_me, true);
	got = measure(DT_FLOAT32, p, 40 * CHUNK, CHECKSUM_OFF, true);
	atomic_store(&hold_me, false);
	sigaction(SIGSEGV, &was, NULL);
	assert_same(&got, &want, DT_FLOAT32, 40 * CHUNK);
	assert_int_not_equal(atomic_load(&faults_of_helpers), 0);
	munmap(p, bytes);
}

static _Atomic bool pinned_may_end;

static void *pinned_main(void *arg)
{
	sched_setaffinity(0, sizeof(cpu_set_t), arg);
	wait_until(atomic_load(&pinned_may_end));
	return NULL;
}

static void cores_that_are_free(void **state)
{
	cpu_set_t was, one;
	struct cores c;
	pthread_t thread;
	int all, first = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(was), &was), 0);
	all = CPU_COUNT(&was);
	assert_int_equal(cores_free(&c), all == 1 ? 0 : all);
	if (all == 1)
		skip();
	while (!CPU_ISSET(first, &was))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_false(cores_pinned());
	assert_int_equal(pthread_create(&thread, NULL, pinned_main, &one), 0);
	wait_until(cores_free(&c) == all - 1);
	assert_false(c.word[first / 64] >> first % 64 & 1);
	helpers_start(1, &c);
	assert_int_equal(tasks_on("probe-stats", first), 0);
	assert_int_equal(tasks_named("probe-stats"), 1);
	helpers_stop(NULL);
	/* All are pinned: the process has no other core that it knows of. */
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_true(cores_pinned());
#if !defined(__SANITIZE_THREAD__) /* which has a thread of its own */
	assert_int_equal(cores_free(&c), 0);
#endif
	assert_int_equal(sched_setaffinity(0, sizeof(was), &was), 0);
	atomic_store(&pinned_may_end, true);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(default_floating_point_environment, helpers_stop),
		cmocka_unit_test_teardown(no_signal_is_theirs, helpers_stop),
		cmocka_unit_test_teardown(a_fault_is_the_jobs_to_handle, helpers_stop),
		cmocka_unit_test_teardown(cores_that_are_free, helpers_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
