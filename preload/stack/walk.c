/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/private_stack.h"
#include "stack/cache.h"
#include "elf/loaded/modules.h"
#include "stack/stack.h"
#include "stack/unwind.h"

void stack_bounds_init(struct stack_bounds *b)
{
	uintptr_t here = private_stack_origin();
	int saved = errno;
	pthread_attr_t a;
	size_t size;
	void *lo;

	memset(b, 0, sizeof(*b));
	if (pthread_getattr_np(pthread_self(), &a)) {
		errno = saved;
		return;
	}
	if (!pthread_attr_getstack(&a, &lo, &size)) {
		b->floor = (uintptr_t)lo;
		b->hi = b->floor + size;
		b->roomy = size > STACK_ROOM ? b->floor + STACK_ROOM : b->hi;
		/*
		 * Memory below this frame may not be mapped: the main thread's stack is mapped as
		 * it grows, and guard pages may count as part of a thread's stack.
		 */
		b->lo = here & ~(MEMORY_PAGE - 1);
		if (b->lo < b->floor || b->lo >= b->hi)
			b->lo = b->hi; /* this function runs on another stack */
	}
	pthread_attr_destroy(&a);
	errno = saved;
}

struct uncached_walk {
	struct memory *m;
	struct stack_cache *c;
	const struct cache_key *k;
	uintptr_t *pcs;
	int max, n;
};

/* The trail takes 4 KiB of stack, which the usual walk does not need. */
static void read_on_private_stack(void *arg)
{
	struct uncached_walk *a = arg;
	struct trail t;

	if (a->c)
		cache_check_modules(a->c, modules_get_generation());
	unwind_stack(a->m, a->c, a->k->pc, a->k->fp, a->k->wrapper_pc, a->pcs, a->max, &t);
	if (a->c)
		cache_add(a->c, a->k, &t, t.n < a->max);
	a->n = t.n;
}

__attribute__((noinline)) static int walk_uncached(
	struct memory *m, struct stack_cache *c, const struct cache_key *k, uintptr_t *pcs, int max)
{
	struct uncached_walk a = {m, c, k, pcs, max, 0};

	private_stack_call(read_on_private_stack, &a);
	return a.n;
}

static int find_or_walk(struct stack_bounds *b, struct stack_cache *c, const struct cache_key *k,
	uintptr_t *pcs, int max, struct stack_note *note)
{
	struct memory m = {.lo = b->lo, .hi = b->hi};
	uintptr_t fp = k->fp;
	int n;

	note->at = 0;
	note->pc = k->pc;
	note->fp = fp;
	if (__builtin_expect(fp < b->lo && fp >= b->floor && fp < b->hi, 0) &&
		memory_extend(&m, fp))
		b->lo = m.lo;
	if (!c || !cache_open(c, b, fp))
		return walk_uncached(&m, NULL, k, pcs, max);
	n = cache_find(c, k, &m, pcs, max, note);
	if (!n)
		n = walk_uncached(&m, c, k, pcs, max);
	cache_close(c);
	return n;
}

int stack_walk_noted(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max, struct stack_note *note)
{
	struct cache_key k = {.pc = pc, .fp = fp, .wrapper_pc = find_wrapper_pc(fp)};

	if (max <= 0)
		return 0;
	if (max > STACK_DEPTH_MAX)
		max = STACK_DEPTH_MAX;
	return find_or_walk(b, c, &k, pcs, max, note);
}

int stack_walk(struct stack_bounds *b, struct stack_cache *c, uintptr_t pc, uintptr_t fp,
	uintptr_t *pcs, int max)
{
	struct stack_note none = {.check = 0};

	return stack_walk_noted(b, c, pc, fp, pcs, max, &none);
}

int stack_returns_by(const struct stack_bounds *b, struct stack_cache *c, uintptr_t pc,
	uintptr_t fp, uintptr_t slot)
{
	struct memory m = {.lo = b->lo, .hi = b->hi};
	uintptr_t pcs[STACK_DEPTH_MAX];
	struct trail t;

	if (fp < b->lo && fp >= b->floor && fp < b->hi)
		memory_extend(&m, fp);
	if (c && !cache_open(c, b, fp))
		c = NULL;
	if (c)
		cache_check_modules(c, modules_get_generation());
	unwind_stack(&m, c, pc, fp, find_wrapper_pc(fp), pcs, STACK_DEPTH_MAX, &t);
	if (c)
		cache_close(c);
	for (int i = 1; i < t.n; i++) {
		uintptr_t at = fp + (uintptr_t)((intptr_t)t.pc_at[i] * (intptr_t)sizeof(fp));

		if (at >= slot)
			return at == slot;
	}
	return -1;
}
