/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the statistics' helper threads share: a kernel that stands before the real one, so that it is known
 * who measures, and everyone can be held up there.
 */
#ifndef PROBE_TESTS_STATS_THREADS_HELPER_H
#define PROBE_TESTS_STATS_THREADS_HELPER_H

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "stats/kernel.h"
#include "stats/threads.h"
#include "stats_reference.h"
#include "tasks_helper.h"

#define EPS 1e-8
#define CHILD_S 60 /* a child that hangs is killed */
#define CHUNK (16 * STATS_BLOCK) /* elements that are taken at once: preload/stats/threads.c */
#define ROUND (512 * CHUNK)

static uint64_t seed = 1;

struct figures {
	struct stats s;
	uint32_t sum;
};

/* ---- who measures ---- */

static _Atomic(stats_kernel *) real_kernel;
static _Atomic uint32_t blocks_mine, blocks_helped;
static _Atomic bool hold_helpers, hold_me; /* until this is false; until a helper has begun */
static _Atomic bool slow_me;
static _Atomic bool hold_one; /* of the helpers, the first that comes */
static _Atomic uint32_t held;
static _Atomic int environment_of_helper;
static __thread bool is_me; /* a thread of the test, not a helper */
static bool fork_here; /* in the first block that I measure */
static pid_t child = -1;

static inline void note_environment(void)
{
#if defined(__x86_64__)
	uint32_t mxcsr;

	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	atomic_store(&environment_of_helper, (int)(mxcsr & ~0x3fu)); /* without the flags */
#else
	atomic_store(&environment_of_helper, fegetround());
#endif
}

static inline void spy(const void *p, size_t n, const void *ahead, const struct stats_eps *eps,
	struct stats_block *b)
{
	stats_kernel *kernel = atomic_load(&real_kernel);

	if (is_me) {
		atomic_fetch_add(&blocks_mine, 1);
		if (atomic_load(&hold_me))
			wait_until(atomic_load(&blocks_helped));
		if (atomic_load(&slow_me))
			usleep(5000);
		if (fork_here) {
			fork_here = false;
			child = fork();
			if (child)
				atomic_store(&hold_helpers, false);
			else
				alarm(CHILD_S), stats_threads_forked();
		}
	} else {
		atomic_fetch_add(&blocks_helped, 1);
		note_environment();
		wait_until(!atomic_load(&hold_helpers));
		if (atomic_load(&hold_one) && !atomic_fetch_add(&held, 1))
			wait_until(!atomic_load(&hold_one));
	}
	kernel(p, n, ahead, eps, b);
}

static inline struct figures measure(
	unsigned dt, const void *p, uint64_t n, enum stats_checksum kind, bool spied)
{
	struct figures f = {0};
	struct stats_fenv env;
	struct stats_acc a;

	is_me = true;
	stats_fenv_set(&env);
	assert_int_equal(stats_begin(&a, dt, EPS), 0);
	stats_with_checksum(&a, kind);
	if (spied) {
		atomic_store(&real_kernel, a.kernel);
		a.kernel = spy;
	}
	stats_add(&a, p, n);
	stats_end(&a, &f.s);
	stats_fenv_reset(&env);
	f.sum = a.checksum;
	return f;
}

static inline void assert_same(
	const struct figures *a, const struct figures *b, unsigned dt, uint64_t n)
{
	if (memcmp(&a->s, &b->s, sizeof(a->s)) || a->sum != b->sum)
		fail_msg("%s, n %llu: mean %a %a norm %a %a checksum %x %x",
			get_dtype_info(dt)->name, (unsigned long long)n, a->s.mean, b->s.mean,
			a->s.norm, b->s.norm, a->sum, b->sum);
}

static inline void helpers_start(unsigned n, const struct cores *where)
{
	atomic_store(&blocks_mine, 0);
	atomic_store(&blocks_helped, 0);
	assert_int_equal(stats_threads_start(n, 0, where), n);
	wait_until(tasks_named("probe-stats") == n);
}

static inline int helpers_stop(void **state)
{
	(void)state;
	atomic_store(&hold_helpers, false);
	atomic_store(&hold_me, false);
	stats_threads_stop();
	wait_until(tasks_named("probe-stats") == 0);
	return 0;
}

/* ---- a tensor that is shared ---- */

static float tensor[40 * CHUNK];

/* Measures with a helper taking part for sure. */
static inline void with_help(const struct figures *want)
{
	struct figures got;

	atomic_store(&blocks_helped, 0);
	atomic_store(&hold_me, true);
	got = measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, true);
	atomic_store(&hold_me, false);
	assert_int_not_equal(atomic_load(&blocks_helped), 0);
	assert_same(&got, want, DT_FLOAT32, 40 * CHUNK);
}

static inline struct figures fill_and_measure(void)
{
	fill_tensor(DT_FLOAT32, tensor, 40 * CHUNK, FILL_USUAL, &seed);
	return measure(DT_FLOAT32, tensor, 40 * CHUNK, CHECKSUM_OFF, false);
}

#endif
