/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call chains of many kinds of frames. tests/unit/test_stack.c builds this as shared objects with and without frame
 * pointers and lets the innermost function call back.
 */
#include <alloca.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

typedef void leaf_fn(void *arg);

/* Kinds of frames still to be made, outermost first. */
struct plan {
	const uint8_t *kind;
	int n;
	leaf_fn *leaf;
	void *arg;
};

int chain_run(const uint8_t *kinds, int n, leaf_fn *leaf, void *arg);
int chain_deep(int depth, leaf_fn *leaf, void *arg);

static int go(const struct plan *p, int i);
static volatile int sink;

/* What follows the call keeps it from becoming a jump. */
static void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

KEEP static int small(const struct plan *p, int i)
{
	int r = go(p, i + 1);

	sink++;
	return r + 1;
}

KEEP static int registers(const struct plan *p, int i)
{
	int a = p->n * 3, b = p->n ^ i, c = a * b, d = c + i, e = d ^ a, r;

	r = go(p, i + 1);
	sink++;
	return r + a + b * c - d + e;
}

KEEP static int large(const struct plan *p, int i)
{
	char buf[3000];
	int r;

	memset(buf, i, sizeof(buf));
	use(buf);
	r = go(p, i + 1);
	use(buf);
	return r + buf[i & 1023];
}

/* The size depends on the plan, so one and the same function has frames of several sizes. */
KEEP static int dynamic(const struct plan *p, int i)
{
	char *buf = alloca(64 * (size_t)(p->kind[i] >> 4) + 32);
	int r;

	use(buf);
	r = go(p, i + 1);
	use(buf);
	return r + 1;
}

KEEP static int aligned(const struct plan *p, int i)
{
	_Alignas(64) char buf[128];
	int r;

	use(buf);
	r = go(p, i + 1);
	use(buf);
	return r + 1;
}

KEEP static int aligned_dynamic(const struct plan *p, int i)
{
	_Alignas(128) char buf[128];
	char *more = alloca(16 * (size_t)(p->kind[i] >> 4) + 1);
	int r;

	use(buf);
	use(more);
	r = go(p, i + 1);
	use(buf);
	use(more);
	return r + 1;
}

KEEP static int many(
	const struct plan *p, int i, int a, int b, int c, int d, int e, int f, int g, long h)
{
	int r = go(p, i + 1);

	sink++;
	return r + a + b + c + d + e + f + g + (int)h;
}

KEEP static int variable(const struct plan *p, int i, ...)
{
	va_list ap;
	int r;

	va_start(ap, i);
	r = go(p, i + 1) + va_arg(ap, int);
	va_end(ap);
	return r;
}

struct through {
	const struct plan *p;
	int i, r;
};

static __thread struct through *current; /* qsort passes nothing */

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	if (current) {
		struct through *t = current;

		current = NULL;
		t->r = go(t->p, t->i + 1);
	}
	return 0;
}

/* Through code of another library, built as it was built. */
KEEP static int foreign(const struct plan *p, int i)
{
	struct through t = {.p = p, .i = i};
	int v[4] = {3, 2, 1, 0};

	current = &t;
	qsort(v, 4, sizeof(v[0]), compare);
	sink++;
	return t.r;
}

KEEP static int go(const struct plan *p, int i)
{
	if (i == p->n) {
		p->leaf(p->arg);
		sink++;
		return i;
	}
	switch (p->kind[i] & 15) {
	case 0:
		return small(p, i) + 1;
	case 1:
		return registers(p, i) ^ 5;
	case 2:
		return large(p, i) + 2;
	case 3:
		return dynamic(p, i) + 3;
	case 4:
		return aligned(p, i) + 4;
	case 5:
		return aligned_dynamic(p, i) + 5;
	case 6:
		return many(p, i, 1, 2, 3, 4, 5, 6, 7, 8) + 6;
	case 7:
		return variable(p, i, i) + 7;
	case 8:
		return foreign(p, i) + 8;
	}
	/* Two calls of one function: stacks that differ in nothing but one return address. */
	if (p->kind[i] & 16)
		return small(p, i) + 9;
	return small(p, i) - 9;
}

int chain_run(const uint8_t *kinds, int n, leaf_fn *leaf, void *arg)
{
	struct plan p = {.kind = kinds, .n = n, .leaf = leaf, .arg = arg};
	int r = go(&p, 0);

	sink++;
	return r;
}

int chain_deep(int depth, leaf_fn *leaf, void *arg)
{
	int r;

	if (!depth) {
		leaf(arg);
		return 0;
	}
	r = chain_deep(depth - 1, leaf, arg);
	sink++;
	return r + 1;
}
