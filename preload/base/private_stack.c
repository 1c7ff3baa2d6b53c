/* SPDX-License-Identifier: Apache-2.0 */
#include "base/private_stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/hash.h"

/* Guard pages below the stack, so that an overrun faults. A multiple of every page size. */
#define GUARD_BYTES (64u << 10)
#define POOL 64u
#define TRIES 8u

/* Stored at the top of a stack. */
struct private_stack_top {
	uintptr_t origin; /* frame that called private_stack_call() */
	uintptr_t outer; /* thread_state.private_stack before the switch */
};

/* private_stack_switch.S: fn(arg) with the stack pointer at `top`. */
__attribute__((visibility("hidden"))) void private_stack_switch(
	void (*fn)(void *), void *arg, void *top);

/*
 * Free stacks, by their lowest address. A thread first looks at the position where it returned
 * its last stack, which is still in its cache.
 */
static _Atomic(char *) pool[POOL];

static inline uint32_t get_first_place(void)
{
	return (uint32_t)hash_mix((uintptr_t)thread_inside());
}

/* Returns the lowest address of a new stack, above its guard; NULL: there is no memory. Keeps errno. */
static char *map_stack(size_t bytes)
{
	int err = errno;
	char *mem = mmap(NULL, GUARD_BYTES + bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (mem == MAP_FAILED) {
		mem = NULL;
	} else if (mprotect(mem + GUARD_BYTES, bytes, PROT_READ | PROT_WRITE)) {
		munmap(mem, GUARD_BYTES + bytes);
		mem = NULL;
	}
	errno = err;
	return mem ? mem + GUARD_BYTES : NULL;
}

static void free_stack_map(char *s, size_t bytes)
{
	int err = errno;

	munmap(s - GUARD_BYTES, GUARD_BYTES + bytes);
	errno = err;
}

static char *get_free_stack(void)
{
	uint32_t at = get_first_place();

	for (uint32_t i = 0; i < TRIES; i++) {
		_Atomic(char *) *place = &pool[(at + i) % POOL];

		if (atomic_load_explicit(place, memory_order_relaxed)) {
			char *s = atomic_exchange_explicit(place, NULL, memory_order_acquire);

			if (s)
				return s;
		}
	}
	return map_stack(PRIVATE_STACK_BYTES);
}

static void free_private_stack(char *s)
{
	uint32_t at = get_first_place();

	for (uint32_t i = 0; i < TRIES; i++) {
		char *none = NULL;
		_Atomic(char *) *place = &pool[(at + i) % POOL];

		if (!atomic_load_explicit(place, memory_order_relaxed) &&
			atomic_compare_exchange_strong_explicit(
				place, &none, s, memory_order_release, memory_order_relaxed))
			return;
	}
	free_stack_map(s, PRIVATE_STACK_BYTES);
}

static inline struct private_stack_top *get_stack_top(uintptr_t s)
{
	return (struct private_stack_top *)(s + PRIVATE_STACK_BYTES -
					    sizeof(struct private_stack_top));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* s: the lowest address of the PRIVATE_STACK_BYTES that end at the stack's upper end. origin: see private_stack_origin(). */
static void start_on_stack(char *s, uintptr_t origin, void (*fn)(void *), void *arg)
{
	struct thread_self *w = thread_self();
	struct private_stack_top *top = get_stack_top((uintptr_t)s);

	top->origin = origin;
	top->outer = w->private_stack;
	w->private_stack = (uintptr_t)s;
	private_stack_switch(fn, arg, top);
	w->private_stack = top->outer;
}

__attribute__((noinline)) void private_stack_call(void (*fn)(void *), void *arg)
{
	/*
	 * Not with sanitizers: they know the bounds of a thread's stack, and libprobe's frames
	 * would exceed them. Not for a thread without a block: it cannot store which stack it is
	 * on.
	 */
	char *s =
		SANITIZED || !thread_has_block() || is_on_private_stack() ? NULL : get_free_stack();

	if (!s) {
		fn(arg);
		return;
	}

	start_on_stack(s, (uintptr_t)__builtin_frame_address(0), fn, arg);
	free_private_stack(s);
}

__attribute__((noinline)) void private_stack_call_deep(void (*fn)(void *), void *arg)
{
	char *s = SANITIZED || !thread_has_block() ? NULL : map_stack(PRIVATE_STACK_DEEP_BYTES);

	if (!s) {
		fn(arg);
		return;
	}
	/* Its upper part is as any other stack's; frames below that part are not taken for libprobe's, which only costs. */
	start_on_stack(s + PRIVATE_STACK_DEEP_BYTES - PRIVATE_STACK_BYTES, private_stack_origin(),
		fn, arg);
	free_stack_map(s, PRIVATE_STACK_DEEP_BYTES);
}

__attribute__((noinline)) uintptr_t private_stack_origin(void)
{
	if (is_on_private_stack())
		return get_stack_top(thread_inside()->private_stack)->origin;
	return (uintptr_t)__builtin_frame_address(0);
}
