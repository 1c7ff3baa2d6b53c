/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=mmap */
/*
 * The blocks that hold threads' variables: whose they are, when another thread gets one, in forked children, in signal
 * handlers and where there is no memory.
 */
#include "session_helper.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static THREAD_OWN uint64_t mine;
static THREAD_OWN struct {
	char text[1700];
	uint32_t number;
} large;

static atomic_bool no_memory;

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (!atomic_load(&no_memory))
		return __real_mmap(at, n, prot, flags, fd, off);
	errno = ENOMEM;
	return MAP_FAILED;
}

/* ThreadSanitizer's build uses no block again. */
#ifdef __SANITIZE_THREAD__
#define REUSED 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REUSED 0
#endif
#endif
#ifndef REUSED
#define REUSED 1
#endif

static bool is_all_zero(const void *p, size_t n)
{
	for (const char *c = p; n--; c++)
		if (*c)
			return false;
	return true;
}

/* The block, with everything in it 0 before it is written over; NULL: not so. */
static struct thread_self *fill_block(uint32_t number)
{
	struct thread_self *t = thread_self();
	struct thread_self zero = {.shift = t->shift, .error = &errno};
	bool fresh = thread_has_block() && t == thread_self() &&
		     memcmp(t, &zero, sizeof(zero)) == 0 && own(mine) == 0 &&
		     is_all_zero(&own(large), sizeof(own(large)));

	t->phase = number;
	own(mine) = number;
	memset(own(large).text, (int)(1 + number % 100), sizeof(own(large).text));
	own(large).number = number;
	return fresh ? t : NULL;
}

static bool is_filled(uint32_t number)
{
	char c = (char)(1 + number % 100);

	return thread_self()->phase == number && own(mine) == number &&
	       own(large).number == number && own(large).text[0] == c &&
	       own(large).text[sizeof(own(large).text) - 1] == c;
}

/* ---- threads that live at once ---- */

#define MANY 300u /* more than the library's own data holds */

struct one {
	pthread_t id;
	uint32_t number;
	struct thread_self *block;
	bool kept;
};

static pthread_barrier_t all_filled;

static void *fill_and_wait(void *arg)
{
	struct one *o = arg;

	o->block = fill_block(o->number);
	pthread_barrier_wait(&all_filled);
	o->kept = is_filled(o->number);
	return NULL;
}

static void each_thread_has_its_own_block(void **state)
{
	static struct one ones[MANY];
	pthread_attr_t small;

	(void)state;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_filled, NULL, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		ones[i].number = i + 1;
		assert_int_equal(pthread_create(&ones[i].id, &small, fill_and_wait, &ones[i]), 0);
	}
	for (uint32_t i = 0; i < MANY; i++)
		pthread_join(ones[i].id, NULL);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_non_null(ones[i].block);
		assert_true(ones[i].kept);
		assert_int_equal((uintptr_t)ones[i].block % 64, 0);
		for (uint32_t k = 0; k < i; k++)
			assert_ptr_not_equal(ones[i].block, ones[k].block);
	}
}

/* ---- one after the other ---- */

#define ROUNDS 3000u

static void *fill_once(void *arg)
{
	return fill_block((uint32_t)(uintptr_t)arg);
}

static unsigned count_blocks_of_rounds(void)
{
	static struct thread_self *seen[ROUNDS];
	unsigned n = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		pthread_t th;
		void *block;
		unsigned k = 0;

		assert_int_equal(
			pthread_create(&th, NULL, fill_once, (void *)(uintptr_t)(i + 1)), 0);
		pthread_join(th, &block);
		assert_non_null(block);
		while (k < n && seen[k] != block)
			k++;
		if (k == n)
			seen[n++] = block;
	}
	return n;
}

/* After 300 at once: the two tests run in this order. */
static void blocks_of_ended_threads_are_used_again(void **state)
{
	(void)state;
	if (!REUSED)
		skip();
	fill_block(0);
	assert_in_range(count_blocks_of_rounds(), 1, 2 * MANY);
}

/* ---- forked children ---- */

/*
 * A sanitizer's allocator may be locked when a thread forks, and stays so in the child: threads of this program are made and begin
 * before one of them forks, and make and end none until it has.
 */
static atomic_uint begun;
static atomic_bool all_made, has_forked;

static void sleep_a_millisecond(void)
{
	syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 1000000}, NULL);
}

/*
 * Not cancelled in a call that waits: ThreadSanitizer leaves atomic operations out between such a call's start and its end, and what
 * runs at a cancellation there is a race to it.
 */
static void *fill_until_told(void *arg)
{
	fill_block((uint32_t)(uintptr_t)arg);
	atomic_fetch_add(&begun, 1);
	for (;;) {
		pthread_testcancel();
		sleep_a_millisecond();
	}
	return NULL;
}

/* The child's blocks: its own one is as it was, and stays its own; those of threads that it has not are free. */
static int use_blocks_in_child(struct thread_self *before)
{
	if (thread_self() != before || !is_filled(77))
		return 1;
	if (REUSED && count_blocks_of_rounds() > 2 * MANY)
		return 2;
	return thread_self() == before && is_filled(77) ? 0 : 3;
}

static void *fork_with_others(void *arg)
{
	struct thread_self *before = fill_block(77);
	int status;
	pid_t pid;

	(void)arg;
	while (atomic_load(&begun) < 20 || !atomic_load(&all_made))
		sleep_a_millisecond();
	pid = fork();
	if (pid == 0)
		_exit(use_blocks_in_child(before));
	atomic_store(&has_forked, true);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(thread_self() == before && is_filled(77));
	return NULL;
}

static void a_forked_child_keeps_its_own_block(void **state)
{
	pthread_t other[20], th;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(
			pthread_create(&other[i], NULL, fill_until_told, (void *)(uintptr_t)i), 0);
	assert_int_equal(pthread_create(&th, NULL, fork_with_others, NULL), 0);
	atomic_store(&all_made, true);
	while (!atomic_load(&has_forked))
		sleep_a_millisecond();
	pthread_join(th, NULL);
	for (unsigned i = 0; i < 20; i++) {
		pthread_cancel(other[i]);
		pthread_join(other[i], NULL);
	}
}

/* It runs on the variables of its parent, whose block would be taken for that of a thread that has ended. */
static void *vfork_first(void *arg)
{
	pid_t pid = vfork();

	(void)arg;
	if (pid == 0)
		_exit(thread_self() == &thread_blank ? 0 : 1);

	int status;

	waitpid(pid, &status, 0);
	return (void *)(uintptr_t)(status == 0 && fill_block(5) && is_filled(5));
}

static void a_child_of_vfork_gets_no_block(void **state)
{
	pthread_t th;
	void *good;

	(void)state;
	if (!REUSED)
		skip(); /* ThreadSanitizer makes a fork() of it */
	assert_int_equal(pthread_create(&th, NULL, vfork_first, NULL), 0);
	pthread_join(th, &good);
	assert_non_null(good);
}

/* ---- signal handlers ---- */

static atomic_bool storm_over;
static atomic_uint handled;

static void count_in_handler(int sig)
{
	(void)sig;
	thread_self()->phase++;
	own(mine)++;
	atomic_fetch_add(&handled, 1);
}

/* The handler's counts are not lost, whenever it runs. */
static void *count_signals(void *arg)
{
	unsigned long bad = 0;
	sigset_t all;

	(void)arg;
	for (int i = 0; i < 2000; i++) {
		struct thread_self *t = thread_self();

		errno = 4711;
		bad += t != thread_self() || errno != 4711;
	}
	/* The handler may come between the two readings, too. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	bad += thread_self()->phase != own(mine);
	return (void *)bad;
}

/* With breaks: a signal that always waits at the handler's end would leave the thread no instruction of its own. */
static void *send_signals(void *arg)
{
	for (unsigned n = 1; !atomic_load(&storm_over); n++) {
		kill(getpid(), SIGUSR1);
		for (volatile unsigned i = 0; i < n % 16 * 25; i++)
			;
		if (n % 16 == 0)
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
	return arg;
}

static void a_signal_handler_may_come_at_any_moment(void **state)
{
	struct sigaction sa = {.sa_handler = count_in_handler, .sa_flags = SA_RESTART}, was;
	sigset_t usr1;
	pthread_t sender;

	(void)state;
	sigaction(SIGUSR1, &sa, &was);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	/* This thread and the sender take none: the newest does, from its first instruction. */
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	assert_int_equal(pthread_create(&sender, NULL, send_signals, NULL), 0);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	for (int i = 0; i < 300; i++) {
		pthread_t th;
		void *bad;

		assert_int_equal(pthread_create(&th, NULL, count_signals, NULL), 0);
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		pthread_join(th, &bad);
		pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
		assert_null(bad);
	}
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	atomic_store(&storm_over, true);
	pthread_join(sender, NULL);
	assert_true(atomic_load(&handled) > 0);
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	sigaction(SIGUSR1, &was, NULL);
}

/* ---- no memory ---- */

/* Calls of a thread without a block are counted as lost and reported; when there is memory again, later threads have one. */
static void *get_thread(void *arg)
{
	unsigned *blank = arg;

	*blank = thread_self() == &thread_refused;
	if (*blank && thread_get())
		*blank = 1000; /* it may record nothing */
	pthread_barrier_wait(&all_filled);
	return NULL;
}

static unsigned count_blank(unsigned n)
{
	static pthread_t id[4 * MANY];
	static unsigned blank[4 * MANY];
	pthread_attr_t small;
	unsigned sum = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	memset(blank, 0, sizeof(blank));
	pthread_barrier_init(&all_filled, NULL, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(pthread_create(&id[i], &small, get_thread, &blank[i]), 0);
	for (unsigned i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	for (unsigned i = 0; i < n; i++)
		sum += blank[i];
	return sum;
}

static void threads_without_memory_are_counted(void **state)
{
	unsigned blank, lost;

	(void)state;
	session_on(1 << 20);
	log_level_set(0);
	atomic_store(&no_memory, true);
	/* The tests before can leave 2 * MANY blocks, and the storm one for each thread whose first call a signal met. */
	blank = count_blank(4 * MANY);
	atomic_store(&no_memory, false);
	lost = (unsigned)rank_of_test.j.head->count[JC_DROP_THREADS];
	assert_in_range(blank, 1, 4 * MANY - 1);
	assert_int_equal(lost, blank);
	assert_int_equal(count_blank(4 * MANY), 0);
	/* Shared variables are unchanged. */
	assert_int_equal(thread_blank.busy, 1u << 30);
	assert_int_equal(thread_refused.busy, 1u << 30);
	session_over();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_own_block),
		cmocka_unit_test(blocks_of_ended_threads_are_used_again),
		cmocka_unit_test(a_forked_child_keeps_its_own_block),
		cmocka_unit_test(a_child_of_vfork_gets_no_block),
		cmocka_unit_test(a_signal_handler_may_come_at_any_moment),
		cmocka_unit_test(threads_without_memory_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
