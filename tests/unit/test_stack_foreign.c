/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_walk() through code that says nothing, or nothing true, about its frames: assembly without tables, wrong
 * tables, code made at run time, garbage in the frame pointer. The first duty is not to crash; the second, to invent
 * nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "stack_capture.h"

static struct stack_bounds bounds;
static struct stack_cache *cache;

uintptr_t odd_frame_pointer; /* what the functions below put there */
void odd_described(void (*fn)(void *), void *arg);
void odd_silent(void (*fn)(void *), void *arg);
void odd_liar(void (*fn)(void *), void *arg);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl odd_described\n.type odd_described,@function\n"
	"odd_described:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov odd_frame_pointer@GOTPCREL(%rip), %rbp\n"
	"	mov (%rbp), %rbp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size odd_described, .-odd_described\n"
	".globl odd_silent\n.type odd_silent,@function\n"
	"odd_silent:\n"
	"	push %rbp\n"
	"	mov odd_frame_pointer@GOTPCREL(%rip), %rbp\n"
	"	mov (%rbp), %rbp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	pop %rbp\n"
	"	ret\n"
	".size odd_silent, .-odd_silent\n"
	".globl odd_liar\n.type odd_liar,@function\n"
	"odd_liar:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_offset rip, 8\n" /* right, but for the direction */
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size odd_liar, .-odd_liar\n");
static const uint8_t framed_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
static const uint8_t frameless_code[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
	0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
#else
#define ODD_BODY                                         \
	"	adrp x29, :got:odd_frame_pointer\n"            \
	"	ldr x29, [x29, :got_lo12:odd_frame_pointer]\n" \
	"	ldr x29, [x29]\n"                              \
	"	mov x9, x0\n"                                  \
	"	mov x0, x1\n"                                  \
	"	blr x9\n"                                      \
	"	ldp x29, x30, [sp], 16\n"
__asm__(".text\n"
	".globl odd_described\n.type odd_described,%function\n"
	"odd_described:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n" ODD_BODY "	ret\n"
	"	.cfi_endproc\n"
	".size odd_described, .-odd_described\n"
	".globl odd_silent\n.type odd_silent,%function\n"
	"odd_silent:\n"
	"	stp x29, x30, [sp, -16]!\n" ODD_BODY "	ret\n"
	".size odd_silent, .-odd_silent\n"
	".globl odd_liar\n.type odd_liar,%function\n"
	"odd_liar:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, -16]!\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_offset 29, 0\n"
	"	.cfi_offset 30, 8\n" ODD_BODY "	ret\n"
	"	.cfi_endproc\n"
	".size odd_liar, .-odd_liar\n");
/* stp x29,x30,[sp,-16]!; mov x29,sp; mov x9,x0; mov x0,x1; blr x9; ldp x29,x30,[sp],16; ret */
static const uint32_t framed_code[] = {
	0xa9bf7bfd, 0x910003fd, 0xaa0003e9, 0xaa0103e0, 0xd63f0120, 0xa8c17bfd, 0xd65f03c0};
/* the same without setting x29 */
static const uint32_t frameless_code[] = {
	0xa9bf7bfd, 0xaa0003e9, 0xaa0103e0, 0xd63f0120, 0xa8c17bfd, 0xd65f03c0};
#endif

/* Takes the stack only; the other unwinder may crash on these. */
__attribute__((noinline)) static void walk_only(void *arg)
{
	struct capture *c = arg;

	c->taken++;
	capture_wrapper(c);
	__asm__ volatile("" : : : "memory");
}

static uintptr_t garbage(uint32_t *seed, int i)
{
	static uintptr_t fake[64];
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uint64_t r;

	*seed = *seed * 1664525u + 1013904223u;
	r = *seed;
	switch (i % 12) {
	case 0:
		return (uintptr_t)(i / 12) * 8;
	case 1:
		return UINTPTR_MAX - (r & 0xfff);
	case 2:
		return (uintptr_t)1 << 63 | r; /* not canonical */
	case 3:
		return 0xffff800000000000u | r << 3;
	case 4:
		return here + (r & 0xfff8); /* up this stack: whatever lies there */
	case 5:
		return here - (r & 0xfff8);
	case 6:
		return bounds.hi - (r & 0x7f);
	case 7:
		return bounds.hi + (r & 0xfff8);
	case 8:
		/* A chain that runs in a circle, and up to nowhere. */
		for (int k = 0; k < 64; k += 2) {
			fake[k] = (uintptr_t)&fake[(k + 2) % 64];
			fake[k + 1] = (uintptr_t)garbage + (r & 0xff);
		}
		return (uintptr_t)fake + (r & 0x1f8);
	case 9:
		return (uintptr_t)garbage + (r & 0xfff); /* code */
	case 10:
		return here + (r & 0x7ff); /* not aligned */
	}
	return r << 20 ^ r << 3;
}

static void garbage_in_the_frame_pointer(void **state)
{
	uint32_t seed = 1;
	struct capture c;

	(void)state;
	capture_init(&c, &bounds, cache);
	for (int i = 0; i < 60000; i++) {
		odd_frame_pointer = garbage(&seed, i);
		c.cache = i & 1 ? cache : NULL;
		odd_silent(walk_only, &c);
		assert_true(c.n >= 2);
		assert_int_equal(c.pcs[0] > (uintptr_t)walk_only, 1);
		/* The tables tell the way, whatever the register holds. */
		if (i % 50 == 0)
			odd_described(capture_leaf, &c);
	}
	assert_int_equal(c.errors, 0);
}

/* Without usable frame information the stack ends: two frames, and no invented third. */
static void nothing_is_invented(void **state)
{
	struct {
		uintptr_t fp, ra;
	} pair = {.fp = (uintptr_t)__builtin_frame_address(0)};
	struct capture c;

	(void)state;
	for (int with = 0; with < 3; with++) {
		capture_init(&c, &bounds, with ? cache : NULL);
		odd_frame_pointer = 0;
		odd_silent(walk_only, &c);
		assert_int_equal(c.n, 2);
		/* Code, but not after a call. */
		pair.ra = (uintptr_t)capture_wrapper;
		odd_frame_pointer = (uintptr_t)&pair;
		odd_silent(walk_only, &c);
		assert_int_equal(c.n, 2);
		/* After a call: that is all one can ask for. */
		pair.ra = c.pcs[0];
		odd_silent(walk_only, &c);
		assert_true(c.n > 2);
		assert_int_equal(c.pcs[2], pair.ra);
		/* Tables that lead down the stack. */
		odd_liar(walk_only, &c);
		assert_int_equal(c.n, 2);
	}
}

/* A frame that would do, but on another stack. */
static ucontext_t outside, inside;
static struct capture shared;

static void in_far_fiber(void)
{
	odd_silent(walk_only, &shared);
	swapcontext(&inside, &outside);
}

static void frame_pointer_of_another_stack(void **state)
{
	const size_t size = 128 * 1024;
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	if ((uintptr_t)map > bounds.lo)
		skip(); /* the kernel lays memory out otherwise */
	capture_init(&shared, &bounds, cache);
	odd_frame_pointer = (uintptr_t)__builtin_frame_address(0);
	getcontext(&inside);
	inside.uc_stack.ss_sp = map;
	inside.uc_stack.ss_size = size;
	inside.uc_link = NULL;
	makecontext(&inside, in_far_fiber, 0);
	swapcontext(&outside, &inside);
	assert_int_equal(shared.n, 2);
	munmap(map, size);
}

struct jit {
	struct capture *c;
	void (*call)(void (*)(void *), void *);
};

/* libgcc stops at code it knows nothing of; it is asked outside, where it sees the frames after that. */
__attribute__((noinline)) static void through(struct jit *j)
{
	capture_truth(j->c);
	for (int i = 0; i < 3; i++)
		j->call(walk_only, j->c);
	__asm__ volatile("" : : : "memory");
}

static void code_made_at_run_time(void **state)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct capture c;
	struct jit j = {.c = &c};

	(void)state;
	assert_ptr_not_equal(code, MAP_FAILED);
	memcpy(code, framed_code, sizeof(framed_code));
	memcpy(code + 1024, frameless_code, sizeof(frameless_code));
	assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache(code, code + 4096);
	capture_init(&c, &bounds, cache);
	j.call = (void (*)(void (*)(void *), void *))(uintptr_t)code;
	through(&j);
	/* walk_only, the code, through() at its call, and from there what libgcc found */
	assert_int_equal(c.n, c.expected + 2);
	assert_true(c.pcs[1] > (uintptr_t)code && c.pcs[1] < (uintptr_t)code + 1024);
	for (int i = 1; i < c.expected; i++)
		assert_int_equal(c.pcs[i + 2], c.truth[i]);
	/* Without a frame of its own: its caller cannot be known, those farther out may be. */
	j.call = (void (*)(void (*)(void *), void *))(uintptr_t)(code + 1024);
	through(&j);
	assert_true(c.n >= 2);
	assert_true(c.pcs[1] > (uintptr_t)code + 1024 && c.pcs[1] < (uintptr_t)code + 2048);
	for (int i = 2, k = 1; i < c.n; i++) {
		while (k < c.expected && c.pcs[i] != c.truth[k])
			k++;
		assert_true(k < c.expected);
	}
	munmap(code, 4096);
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
		cmocka_unit_test(garbage_in_the_frame_pointer),
		cmocka_unit_test(nothing_is_invented),
		cmocka_unit_test(frame_pointer_of_another_stack),
		cmocka_unit_test(code_made_at_run_time),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
