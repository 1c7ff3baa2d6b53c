/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_walk() on ordinary stacks: many kinds of frames, builds with and without frame pointers, depths, threads,
 * libraries that come and go; always against libgcc's unwinder.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "stack_build.h"
#include "stack_capture.h"

#include "elf/loaded/modules.h"

typedef int run_fn(const uint8_t *kinds, int n, void (*leaf)(void *), void *arg);
typedef int deep_fn(int depth, void (*leaf)(void *), void *arg);

static const struct build {
	const char *cc, *flags, *name;
} builds[] = {
	{"gcc", "-O2 -fomit-frame-pointer", "gcc_omit.so"},
	{"gcc", "-O2 -fno-omit-frame-pointer", "gcc_keep.so"},
	{"gcc", "-O0", "gcc_o0.so"},
	{"gcc", "-O3 -march=native -fomit-frame-pointer", "gcc_o3.so"},
	{"gcc", "-Os -Wl,-z,noseparate-code", "gcc_os.so"},
	{"clang", "-O2 -fomit-frame-pointer", "clang_omit.so"},
	{"clang", "-O2 -fno-omit-frame-pointer", "clang_keep.so"},
};
#define BUILDS (sizeof(builds) / sizeof(builds[0]))

static struct stack_bounds bounds;
static struct stack_cache *cache;
static bool built[BUILDS];

static const char *path_of(size_t i)
{
	static __thread char path[256];

	snprintf(path, sizeof(path), "%s/%s", build_dir, builds[i].name);
	return path;
}

static void *load(size_t i)
{
	void *h = built[i] ? dlopen(path_of(i), RTLD_NOW | RTLD_LOCAL) : NULL;

	if (built[i])
		assert_non_null(h);
	return h;
}

static uint32_t random_next(uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s >> 8;
}

/* Plans that share beginnings and ends, so that kept stacks come back and nearly the same ones are mixed in. */
static void run_random(run_fn *run, struct capture *c, int rounds, uint32_t seed)
{
	uint8_t kinds[40];
	int n = 12;

	for (int i = 0; i < rounds; i++) {
		uint32_t r = random_next(&seed);

		if (r % 8 == 0) {
			n = 1 + (int)(random_next(&seed) % sizeof(kinds));
			for (int k = 0; k < n; k++)
				kinds[k] = (uint8_t)random_next(&seed);
		} else if (r % 8 < 5) {
			kinds[random_next(&seed) % (uint32_t)n] = (uint8_t)random_next(&seed);
		} else if (n > 1) {
			/* Two neighbours change places: often the same total size, through other frames. */
			uint32_t k = random_next(&seed) % (uint32_t)(n - 1);
			uint8_t t = kinds[k];

			kinds[k] = kinds[k + 1];
			kinds[k + 1] = t;
		}
		for (int k = 0; i == 0 && k < n; k++)
			kinds[k] = (uint8_t)k;
		for (int again = 0; again < 3; again++)
			run(kinds, n, capture_leaf, c);
	}
}

static void all_kinds_of_frames(void **state)
{
	int tried = 0;

	(void)state;
	for (size_t i = 0; i < BUILDS; i++) {
		void *h = load(i);
		struct capture c;

		if (!h)
			continue;
		for (int with = 0; with < 2; with++) {
			capture_init(&c, &bounds, with ? cache : NULL);
			run_random((run_fn *)dlsym(h, "chain_run"), &c, with ? 4000 : 200,
				7u + (uint32_t)i);
			if (c.errors)
				fprintf(stderr, "%s cache %d: %d of %d differ\n", builds[i].name,
					with, c.errors, c.taken);
			assert_int_equal(c.errors, 0);
		}
		dlclose(h);
		tried++;
	}
	assert_true(tried > 0);
}

/* One library calls back into another that was built otherwise. */
struct mixed {
	run_fn *next;
	struct capture *c;
};

static void mixed_leaf(void *arg)
{
	struct mixed *m = arg;
	const uint8_t kinds[] = {0x20, 3, 0x88, 4, 1};

	m->next(kinds, sizeof(kinds), capture_leaf, m->c);
	__asm__ volatile("" : : : "memory");
}

static void mixed_builds(void **state)
{
	const uint8_t kinds[] = {1, 8, 5, 0x73, 2, 9, 25};
	struct capture c;

	(void)state;
	capture_init(&c, &bounds, cache);
	for (size_t i = 0; i < BUILDS; i++) {
		for (size_t k = 0; k < BUILDS; k++) {
			void *a = load(i), *b = load(k);
			struct mixed m = {.c = &c};

			if (!a || !b)
				continue;
			m.next = (run_fn *)dlsym(b, "chain_run");
			for (int again = 0; again < 3; again++)
				((run_fn *)dlsym(a, "chain_run"))(
					kinds, sizeof(kinds), mixed_leaf, &m);
			dlclose(a);
			dlclose(b);
		}
	}
	assert_int_equal(c.errors, 0);
	assert_true(c.taken > 0 && c.noted > 0 && c.found_quickly > 0);
}

/*
 * The same return address and frame address, and at the places where return addresses stood before they stand still,
 * left over in memory that was not written since; but in between another call was made, from a frame that moved.
 */
static void moved_frames(void **state)
{
	const uint8_t a[] = {0x13, 9, 0xf3}, b[] = {0xf3, 25, 0x13};
	struct capture c;

	(void)state;
	capture_init(&c, &bounds, cache);
	for (size_t i = 0; i < BUILDS; i++) {
		void *h = load(i);
		uintptr_t pc = 0;

		for (int round = 0; h && round < 4; round++) {
			((run_fn *)dlsym(h, "chain_run"))(round & 1 ? b : a, 3, capture_leaf, &c);
			assert_true(!pc || pc == c.pcs[0]);
			pc = c.pcs[0];
		}
		if (h)
			dlclose(h);
	}
	assert_int_equal(c.errors, 0);
}

static bool all_mapped(uintptr_t lo, uintptr_t hi)
{
	unsigned char in;

	for (uintptr_t p = lo & ~(uintptr_t)4095; p < hi; p += 4096)
		if (mincore((void *)p, 4096, &in))
			return false;
	return true;
}

static void limits(void **state)
{
	uint8_t kinds[60] = {0};
	void *h = load(0);
	run_fn *run;
	struct capture c;

	(void)state;
	assert_non_null(h);
	run = (run_fn *)dlsym(h, "chain_run");
	capture_init(&c, &bounds, cache);
	for (int max = 1; max <= STACK_DEPTH_MAX; max += 9) {
		c.max = max;
		run(kinds, 60, capture_leaf, &c);
	}
	/* Downwards: now longer stacks are known than are asked for. */
	for (int max = STACK_DEPTH_MAX; max > 0; max -= 7) {
		c.max = max;
		run(kinds, 60, capture_leaf, &c);
		assert_int_equal(c.n, max);
	}
	assert_int_equal(c.errors, 0);
	assert_int_equal(stack_walk(&bounds, cache, 1, 16, c.pcs, 0), 0);
	/* A frame address that is none: the caller is known all the same. */
	assert_int_equal(stack_walk(&bounds, cache, 0x1234, 0x18, c.pcs, 9), 1);
	assert_int_equal(c.pcs[0], 0x1234);
	dlclose(h);
}

static void deep_recursion(void **state)
{
	static const int depths[] = {0, 5, 130, 2000, 20000, 300, 20000};
	struct capture c;

	(void)state;
	capture_init(&c, &bounds, cache);
	for (size_t i = 0; i < BUILDS; i++) {
		void *h = load(i);

		for (size_t k = 0; h && k < sizeof(depths) / sizeof(depths[0]); k++)
			((deep_fn *)dlsym(h, "chain_deep"))(depths[k], capture_leaf, &c);
		if (h)
			dlclose(h);
	}
	assert_int_equal(c.errors, 0);
	assert_true(bounds.lo >= bounds.floor && bounds.lo < bounds.hi);
	assert_true(all_mapped(bounds.lo, bounds.hi));
}

/* Often the same addresses for other code: nothing may be remembered wrongly. */
static void libraries_come_and_go(void **state)
{
	const uint8_t kinds[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x33, 0x45};
	uint64_t before = modules_get_generation(), g;
	struct capture c;

	(void)state;
	capture_init(&c, &bounds, cache);
	for (int round = 0; round < 60; round++) {
		void *h = load((size_t)round % BUILDS);

		if (!h)
			continue;
		g = modules_get_generation();
		assert_true(g != before);
		before = g;
		((run_fn *)dlsym(h, "chain_run"))(kinds, sizeof(kinds), capture_leaf, &c);
		((run_fn *)dlsym(h, "chain_run"))(kinds, sizeof(kinds), capture_leaf, &c);
		dlclose(h);
		g = modules_get_generation();
		assert_true(g != before);
		before = g;
	}
	assert_int_equal(c.errors, 0);
}

struct worker {
	pthread_t t;
	run_fn *run;
	deep_fn *deep;
	uint32_t seed;
	int rounds, errors, taken;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct stack_cache *mine = stack_cache_new();
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct stack_bounds b;
	struct capture c;

	stack_bounds_init(&b);
	capture_init(&c, &b, mine);
	if (!b.hi || here < b.lo || here >= b.hi || !all_mapped(b.lo, b.hi))
		c.errors++;
	run_random(w->run, &c, w->rounds, w->seed);
	if (w->deep)
		w->deep(100000, capture_leaf, &c);
	w->errors = c.errors;
	w->taken = c.taken;
	stack_cache_free(mine);
	return NULL;
}

static void threads_while_libraries_come_and_go(void **state)
{
	struct worker w[4];
	void *h = load(0), *other;

	(void)state;
	assert_non_null(h);
	memset(w, 0, sizeof(w));
	for (int i = 0; i < 4; i++) {
		w[i].run = (run_fn *)dlsym(h, "chain_run");
		w[i].seed = (uint32_t)i;
		w[i].rounds = 1500;
		assert_int_equal(pthread_create(&w[i].t, NULL, work, &w[i]), 0);
	}
	for (int i = 0; i < 300; i++) {
		other = load(1);
		if (other)
			dlclose(other);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(w[i].t, NULL);
		assert_int_equal(w[i].errors, 0);
		assert_int_equal(w[i].taken, 4500);
	}
	dlclose(h);
}

/* 100000 frames below, on a stack that the program has supplied itself. */
static void very_deep_on_an_own_stack(void **state)
{
	const size_t size = (size_t)256 << 20;
	struct worker w = {.rounds = 50};
	pthread_attr_t a;
	void *stack, *h = load(0);

	(void)state;
	assert_non_null(h);
	w.run = (run_fn *)dlsym(h, "chain_run");
	w.deep = (deep_fn *)dlsym(h, "chain_deep");
	stack = aligned_alloc(4096, size);
	pthread_attr_init(&a);
	assert_int_equal(pthread_attr_setstack(&a, stack, size), 0);
	assert_int_equal(pthread_create(&w.t, &a, work, &w), 0);
	pthread_join(w.t, NULL);
	assert_int_equal(w.errors, 0);
	free(stack);
	pthread_attr_destroy(&a);
	dlclose(h);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Not asserted: machines differ. Printed as a TAP comment. */
static void bench_leaf(void *arg)
{
	struct capture *c = arg;
	struct stack_cache *with = c->cache;
	double t0, t1, t2, t3;
	const int rounds = 20000;

	capture_leaf(c);
	t0 = now_ns();
	for (int i = 0; i < rounds; i++)
		capture_wrapper(c);
	t1 = now_ns();
	c->cache = NULL;
	for (int i = 0; i < rounds / 10; i++)
		capture_wrapper(c);
	t2 = now_ns();
	for (int i = 0; i < rounds / 10; i++)
		capture_truth(c);
	t3 = now_ns();
	c->cache = with;
	printf("# %d frames: %.0f ns; without a cache %.0f ns; libgcc %.0f ns\n", c->n,
		(t1 - t0) / rounds, (t2 - t1) / rounds * 10, (t3 - t2) / rounds * 10);
	fflush(stdout);
}

static void cost(void **state)
{
	uint8_t kinds[13] = {0};
	struct capture c;

	(void)state;
	capture_init(&c, &bounds, cache);
	for (size_t i = 0; i < 2; i++) {
		void *h = load(i);

		if (!h)
			continue;
		((run_fn *)dlsym(h, "chain_run"))(kinds, sizeof(kinds), bench_leaf, &c);
		dlclose(h);
	}
	assert_int_equal(c.errors, 0);
}

static int setup(void **state)
{
	(void)state;
	if (!build_begin())
		return -1;
	for (size_t i = 0; i < BUILDS; i++) {
		char flags[256];

		snprintf(flags, sizeof(flags), "-shared -fPIC -fasynchronous-unwind-tables %s",
			builds[i].flags);
		built[i] = build(builds[i].cc, flags, "stack_chain.c", builds[i].name);
	}
	stack_bounds_init(&bounds);
	if (!all_mapped(bounds.lo, bounds.hi))
		return -1;
	cache = stack_cache_new();
	return built[0] && cache ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	stack_cache_free(cache);
	build_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_frames),
		cmocka_unit_test(mixed_builds),
		cmocka_unit_test(moved_frames),
		cmocka_unit_test(limits),
		cmocka_unit_test(deep_recursion),
		cmocka_unit_test(libraries_come_and_go),
		cmocka_unit_test(threads_while_libraries_come_and_go),
		cmocka_unit_test(very_deep_on_an_own_stack),
		cmocka_unit_test(cost),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
