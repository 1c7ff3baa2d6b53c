/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our unwinder beside libunwind, on the same stacks. For each kind of stack a line
 *
 *	STACK ours_seen NS FRAMES ours_anew NS FRAMES unw_backtrace NS FRAMES unw_step NS FRAMES
 *
 * medians of a walk from the same place. ours_seen: with the memory of walks that each thread of a job has; ours_anew:
 * every frame by the tables, without it. `new`: stacks of 1 to 80 frames of the chain, each walked once (ours_seen has
 * met the functions, not the stack). Frames are the callers of the measured function. Without libunwind its
 * columns are 0.
 */
#include <signal.h>

#include "bench.h"
#include "stack/stack.h"

#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define ROUNDS 201
#define WALKS 50 /* in a round */

void chain_fp(int depth, void (*fn)(void *), void *arg);
void chain_nofp(int depth, void (*fn)(void *), void *arg);

static struct stack_bounds bounds;
static struct stack_cache *cache;
static void *pcs[STACK_DEPTH_MAX];

static int walk_ours(struct stack_cache *c, void *const *at)
{
	return stack_walk(
		&bounds, c, (uintptr_t)at[0], (uintptr_t)at[1], (uintptr_t *)pcs, STACK_DEPTH_MAX);
}

static __attribute__((noinline)) int walk_with_memory(void *const *at)
{
	return walk_ours(cache, at);
}

static __attribute__((noinline)) int walk_without_memory(void *const *at)
{
	return walk_ours(NULL, at);
}

/* These begin in this program itself: the number of frames that are not the measured program's. */
static int own_frames = 3;

static __attribute__((noinline)) int walk_backtrace(void *const *at)
{
	int n = 0;

	(void)at;
#ifdef HAVE_LIBUNWIND
	n = unw_backtrace(pcs, STACK_DEPTH_MAX) - own_frames;
#endif
	return n;
}

static __attribute__((noinline)) int walk_step(void *const *at)
{
	int n = 0;

	(void)at;
#ifdef HAVE_LIBUNWIND
	unw_context_t context;
	unw_cursor_t cursor;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_word_t pc;

		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		pcs[n++] = (void *)pc;
	} while (n < STACK_DEPTH_MAX && unw_step(&cursor) > 0);
	n -= own_frames;
#endif
	return n;
}

static __attribute__((noinline)) double time_walks(
	int (*walk)(void *const *), void *const *at, int *frames)
{
	double ns[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t t = now();

		for (int i = 0; i < WALKS; i++)
			*frames = walk(at);
		ns[r] = (double)(now() - t) / WALKS;
	}
	return median(ns, ROUNDS);
}

static const struct {
	const char *name;
	int (*walk)(void *const *);
} ways[] = {{"ours_seen", walk_with_memory}, {"ours_anew", walk_without_memory},
	{"unw_backtrace", walk_backtrace}, {"unw_step", walk_step}};

/* As a wrapper: what is recorded begins at its caller. */
static __attribute__((noinline)) void measured(void *arg)
{
	void *at[2] = {__builtin_return_address(0), __builtin_frame_address(0)};

	printf("%s", (const char *)arg);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int frames = 0;
		double ns = time_walks(ways[i].walk, at, &frames);

		printf(" %s %.0f %d", ways[i].name, ns, frames);
	}
	printf("\n");
}

/* One walk each of stacks that differ, through functions that are known: as at the first call from a new place. */
#define DEPTHS 80

static struct {
	double ns[4][DEPTHS], frames[4][DEPTHS];
	int n;
} first;

static __attribute__((noinline)) void measured_once(void *arg)
{
	void *at[2] = {__builtin_return_address(0), __builtin_frame_address(0)};

	(void)arg;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t t = now();
		int frames = ways[i].walk(at);

		first.ns[i][first.n] = (double)(now() - t);
		first.frames[i][first.n] = frames;
	}
	first.n++;
}

static void measure_new_stacks(void)
{
	own_frames = 2;
	for (int d = 0; d < DEPTHS; d++)
		chain_nofp(DEPTHS - d, measured_once, NULL);
	printf("new");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		printf(" %s %.0f %.0f", ways[i].name, median(first.ns[i], DEPTHS),
			median(first.frames[i], DEPTHS));
	printf("\n");
}

static void through_signal(int sig)
{
	(void)sig;
	chain_nofp(8, measured, (void *)(uintptr_t) "signal");
}

static int through_sort(const void *a, const void *b)
{
	static int once;

	if (!once++)
		chain_nofp(8, measured, (void *)(uintptr_t) "libc");
	return *(const int *)a - *(const int *)b;
}

static void raise_signal(void *arg)
{
	(void)arg;
	raise(SIGUSR1);
}

static void sort_some(void *arg)
{
	int v[] = {2, 1};

	(void)arg;
	qsort(v, 2, sizeof(v[0]), through_sort);
}

int main(void)
{
	stack_bounds_init(&bounds);
	cache = stack_cache_new();
	signal(SIGUSR1, through_signal);
	chain_fp(24, measured, (void *)(uintptr_t) "pointers");
	chain_nofp(24, measured, (void *)(uintptr_t) "none");
	chain_fp(16, sort_some, NULL);
	chain_fp(16, raise_signal, NULL);
	measure_new_stacks();
	stack_cache_free(cache);
	return 0;
}
