/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_walk() where stacks are not ordinary: fibers, alternate signal stacks, signals at any instruction and in the
 * middle of a walk, unknown bounds; and without allocating.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include <cmocka.h>

#include "stack/cache.h"
#include "stack_capture.h"

/* Sanitizers bring their own malloc, and ThreadSanitizer delivers signals when it suits it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#elif __has_feature(thread_sanitizer)
#define SANITIZED 1
#define SIGNALS_LATE 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#define SIGNALS_LATE 1
#endif

static struct stack_bounds bounds;
static struct stack_cache *cache;
static struct capture shared; /* for handlers and fibers */

#ifndef SANITIZED
/* Counts what is allocated. */
extern void *__libc_malloc(size_t n);
static volatile long mallocs;

__attribute__((visibility("default"))) void *malloc(size_t n)
{
	mallocs++;
	return __libc_malloc(n);
}
#endif

/* ---- fibers ---- */

static ucontext_t outside, inside;

__attribute__((noinline)) static void in_fiber(int depth)
{
	if (depth) {
		in_fiber(depth - 1);
	} else {
		for (int i = 0; i < 3; i++)
			capture_leaf(&shared);
		swapcontext(&inside, &outside);
		capture_leaf(&shared);
	}
	__asm__ volatile("" : : : "memory");
}

static void fibers(void **state)
{
	const size_t size = 128 * 1024;
	/* Directly below memory that cannot be read: a read beyond the fiber's stack faults. */
	char *map =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + size, 4096, PROT_NONE), 0);
	capture_init(&shared, &bounds, cache);
	for (int depth = 0; depth < 100; depth += 7) {
		getcontext(&inside);
		inside.uc_stack.ss_sp = map;
		inside.uc_stack.ss_size = size - (size_t)(depth % 3) * 4096;
		inside.uc_link = &outside;
		makecontext(&inside, (void (*)(void))in_fiber, 1, depth);
		swapcontext(&outside, &inside);
		capture_leaf(&shared);
		swapcontext(&outside, &inside);
		assert_true(shared.n > 1);
	}
	assert_int_equal(shared.errors, 0);
	assert_true(shared.taken > 0);
	munmap(map, size + 4096);
}

/* ---- signals ---- */

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	capture_leaf(&shared);
	errno = saved;
}

/* glibc says SA_ONSTACK needs the caller's stack only below; the alternate one may lie anywhere. */
static void alternate_stack(void **state)
{
	static char memory[256 * 1024];
	stack_t alt = {.ss_sp = memory, .ss_size = sizeof(memory)}, none = {.ss_flags = SS_DISABLE};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, old;

	(void)state;
	capture_init(&shared, &bounds, cache);
	assert_int_equal(sigaltstack(&alt, NULL), 0);
	sigaction(SIGUSR1, &sa, &old);
	for (int i = 0; i < 4; i++) {
		raise(SIGUSR1);
		capture_leaf(&shared);
	}
	sigaction(SIGUSR1, &old, NULL);
	sigaltstack(&none, NULL);
	assert_int_equal(shared.taken, 8);
	assert_int_equal(shared.errors, 0);
}

/* A signal can arrive anywhere: in prologues, epilogues, the PLT, the dynamic linker, in a stack walk. */
static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void interrupted_anywhere(void **state)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
	struct itimerval every = {.it_interval = {.tv_usec = 150}, .it_value = {.tv_usec = 150}},
			 never = {0};
	time_t end = time(NULL) + 3;
	struct capture mine;
	int v[64], n = 0;
	char text[64];

	(void)state;
	capture_init(&shared, &bounds, cache);
	capture_init(&mine, &bounds, cache);
	mine.handled = &shared.taken;
	sigaction(SIGALRM, &sa, &old);
	setitimer(ITIMER_REAL, &every, NULL);
	while (time(NULL) < end) {
		for (int i = 0; i < 64; i++)
			v[i] = (i * 7919 + n) % 1009;
		qsort(v, 64, sizeof(v[0]), compare_numbers);
		snprintf(text, sizeof(text), "%d %g %s", v[3], (double)n / 7, "x");
		n += (int)strtod(text, NULL);
		capture_leaf(&mine);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	printf("# %d stacks taken in a signal handler, %d beside it\n", shared.taken, mine.taken);
	assert_true(shared.taken > 100);
	assert_int_equal(shared.errors, 0);
	assert_int_equal(mine.errors, 0);
}

#ifndef SIGNALS_LATE
static sigjmp_buf back;

static void leave_in_the_middle(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* A handler that never returns into an interrupted walk must not spoil later ones. */
static void left_by_longjmp(void **state)
{
	struct sigaction sa = {.sa_handler = leave_in_the_middle, .sa_flags = SA_NODEFER}, old;
	struct itimerval once = {.it_value = {.tv_usec = 50}};
	volatile int left = 0;
	struct capture mine;

	(void)state;
	capture_init(&mine, &bounds, cache);
	mine.handled = &shared.taken;
	sigaction(SIGALRM, &sa, &old);
	for (volatile int i = 0; i < 3000; i++) {
		if (sigsetjmp(back, 1)) {
			left++;
			continue;
		}
		once.it_value.tv_usec = 30 + i % 50;
		setitimer(ITIMER_REAL, &once, NULL);
		for (;;)
			capture_wrapper(&mine);
	}
	sigaction(SIGALRM, &old, NULL);
	assert_int_equal(left, 3000);
	mine.errors = 0;
	capture_leaf(&mine);
	capture_leaf(&mine);
	assert_int_equal(mine.errors, 0);
}
#endif

static void only_one_at_a_time(void **state)
{
	struct stack_cache *c = stack_cache_new();
	uintptr_t here = bounds.lo + 64;

	(void)state;
	assert_non_null(c);
	assert_true(cache_open(c, &bounds, here));
	/* A handler on the same stack, one on another. */
	assert_false(cache_open(c, &bounds, here - 8));
	assert_false(cache_open(c, &bounds, bounds.hi + 4096));
	/* A call from higher up shows that the first was left. */
	assert_true(cache_open(c, &bounds, here + 64));
	cache_close(c);
	assert_true(cache_open(c, &bounds, here - 8));
	stack_cache_free(c);
}

#ifndef SANITIZED
static void nothing_is_allocated(void **state)
{
	struct capture c;
	long before;

	(void)state;
	capture_init(&c, &bounds, cache);
	free(malloc(1));
	before = mallocs;
	assert_true(before > 0);
	for (int i = 0; i < 100000; i++) {
		c.cache = i & 7 ? cache : NULL;
		capture_wrapper(&c);
	}
	assert_true(c.n > 2);
	assert_int_equal(mallocs - before, 0);
	assert_int_equal(c.errors, 0);
}
#endif

/* Bounds that could not be found: everything is asked for, and found all the same. */
static void bounds_unknown(void **state)
{
	struct stack_bounds none = {0};
	struct capture c;

	(void)state;
	capture_init(&c, &none, cache);
	for (int i = 0; i < 3; i++)
		capture_leaf(&c);
	assert_true(c.n > 2);
	assert_int_equal(c.errors, 0);
}

static int setup(void **state)
{
	(void)state;
	stack_bounds_init(&bounds);
	cache = stack_cache_new();
	return cache ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	stack_cache_free(cache);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers),
		cmocka_unit_test(alternate_stack),
		cmocka_unit_test(interrupted_anywhere),
#ifndef SIGNALS_LATE
		cmocka_unit_test(left_by_longjmp),
#endif
		cmocka_unit_test(only_one_at_a_time),
#ifndef SANITIZED
		cmocka_unit_test(nothing_is_allocated),
#endif
		cmocka_unit_test(bounds_unknown),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
