/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices at random, and what is to be recorded of them, for programs that call cuBLAS: NAME SEED CALLS TRUTH. Into TRUTH goes a
 * line for each tensor that a call reads or writes (tests/e2e/blas_truth.py). The program opens `out` and sets `state`.
 */
#ifndef PROBE_TESTS_APPS_CUBLAS_APP_H
#define PROBE_TESTS_APPS_CUBLAS_APP_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "matrix_sums.h"

static FILE *out;
static uint64_t state;
static double total;
static char *device; /* two pages, of which the first cannot be read */

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

enum { F32, F64, F16, I8, C32, C64, U8 = 8, I32 = 10, BF16 = 14, TYPES };

/* By cudaDataType: bytes of an element, and its components, with their own type. */
static const struct type {
	const char *name;
	int bytes, parts, part;
} types[TYPES] = {{"float32", 4, 1, F32}, {"float64", 8, 1, F64}, {"float16", 2, 1, F16},
	{"int8", 1, 1, I8}, {"complex64", 8, 2, F32},
	{"complex128", 16, 2, F64}, [U8] = {"uint8", 1, 1, U8}, [I32] = {"int32", 4, 1, I32},
	[BF16] = {"bfloat16", 2, 1, BF16}};

/* Element (b, i, j) at b * s + i * rs + j * cs; dims: how many of the three are given, 0: the first two. */
struct place {
	int type, dims;
	long b, r, c, s, rs, cs;
	char *base;
	int half; /* it may not be read completely, only a triangle, or by an array on the device: no statistics */
	int refused; /* the library takes no such thing: it has no shape, and base is no more than an address */
	size_t reserved; /* bytes of a mapping; 0: of malloc() */
};

static const uint16_t halves[] = {0, 0x3c00, 0xbc00, 0x3800, 0x4200}; /* 0 1 -1 0.5 3 */

static long double half_at(const char *at)
{
	uint16_t h;
	int e, fraction;

	memcpy(&h, at, 2);
	e = h >> 10 & 31;
	fraction = h & 1023;
	if (e == 31)
		return fraction ? NAN : h >> 15 ? -INFINITY : INFINITY;
	return (h >> 15 ? -1 : 1) * ldexpl(e ? 1024 + fraction : fraction, (e ? e : 1) - 25);
}

/* A component of the type `part`. */
static long double part_of(int part, const char *at)
{
	char bits[4] = {0, 0, at[0], at[1]};
	int32_t n;
	double d;
	float f;

	switch (part) {
	case F64:
		return memcpy(&d, at, 8), d;
	case F16:
		return half_at(at);
	case I8:
		return *(const int8_t *)at;
	case U8:
		return *(const uint8_t *)at;
	case I32:
		return memcpy(&n, at, 4), n;
	}
	return memcpy(&f, part == BF16 ? bits : at, 4), f;
}

static char *element_of(const struct place *p, long b, long i, long j)
{
	return p->base + (b * p->s + i * p->rs + j * p->cs) * types[p->type].bytes;
}

/* A number, as good as the type takes it; float16: one of halves[]. */
static void put_part(int part, char *at, double d)
{
	float f = (float)d;
	int32_t n = (int32_t)d;
	int8_t small = (int8_t)d;
	uint8_t positive = (uint8_t)(d < 0 ? -d : d);

	memcpy(at,
		part == F64    ? (void *)&d
		: part == BF16 ? (char *)&f + 2
		: part == F16  ? (void *)&halves[below(5)]
		: part == I8   ? (void *)&small
		: part == U8   ? (void *)&positive
		: part == I32  ? (void *)&n
			       : (void *)&f,
		(size_t)types[part].bytes);
}

/* Memory for a place; what is far apart is reserved, not used. */
static void reserve_place(struct place *p)
{
	size_t size = (size_t)types[p->type].bytes,
	       n = (size_t)(p->b * p->s + (p->r + 2) * p->rs + (p->c + 2) * p->cs + 8) * size;

	if (n < (size_t)1 << 30) {
		p->base = malloc(n);
		memset(p->base, 0xff, n);
		return;
	}
	p->reserved = n;
	p->base = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	if (p->base == MAP_FAILED)
		exit(2);
	for (long x = 0; x < p->b; x++)
		for (long i = 0; i < p->r; i++)
			for (long j = 0; j < p->c; j++)
				memset(element_of(p, x, i, j), 0xff, 3 * size);
}

static void release_place(struct place *p)
{
	if (p->reserved)
		munmap(p->base, p->reserved);
	else
		free(p->base);
}

/* NaNs (integers: -1) everywhere, then the elements, if `fill`. */
static struct place make(
	int type, int dims, long b, long r, long c, long s, long rs, long cs, int fill)
{
	struct place p = {type, dims, b, r, c, s, rs, cs, NULL, 0, 0, 0};
	const struct type *t = &types[type];

	reserve_place(&p);
	for (long x = 0; fill && x < b; x++)
		for (long i = 0; i < r; i++)
			for (long j = 0; j < c; j++)
				for (int k = 0; k < t->parts; k++)
					put_part(t->part,
						element_of(&p, x, i, j) + k * types[t->part].bytes,
						below(9) ? t->part == I8 || t->part == U8
								   ? below(15) - 7.0
								   : (below(2001) - 1000.0) / 512
							 : 0);
	return p;
}

/* More than can be counted is reported as none. */
static long count_place(const struct place *p)
{
	long n;

	return __builtin_mul_overflow(p->b * p->r, p->c, &n) ? 0 : n;
}

static void expect(
	const char *api, const char *op, const char *io, int index, const struct place *p)
{
	const struct type *t = &types[p->type];
	struct matrix_sums s = MATRIX_SUMS_NONE;
	int known = !p->half && !p->refused;
	long n = count_place(p);

	for (long b = 0; known && b < p->b; b++)
		for (long i = 0; i < p->r; i++)
			for (long j = 0; j < p->c; j++)
				for (int k = 0; k < t->parts; k++)
					add_matrix_value(&s,
						part_of(t->part, element_of(p, b, i, j) +
									 k * types[t->part].bytes));
	fprintf(out, "%s %s %s %d %s ", api, op, io, index, t->name);
	if (p->refused)
		fprintf(out, "unknown");
	else if (p->dims == 3 || !p->dims)
		fprintf(out, "%ldx", p->b);
	if (!p->refused)
		fprintf(out, "%ld", p->r);
	if (!p->refused && p->dims >= 2)
		fprintf(out, "x%ld", p->c);
	fprintf(out, " %ld %ld", n, n * t->bytes);
	print_matrix_sums(out, &s, known);
}

static void add(const struct place *p)
{
	const struct type *t = &types[p->type];

	for (long b = 0; b < p->b; b++)
		for (long i = 0; i < p->r; i++)
			for (long j = 0; j < p->c; j++)
				for (int k = 0; k < t->parts; k++) {
					long double x = part_of(t->part,
						element_of(p, b, i, j) + k * types[t->part].bytes);

					total += isnan(x) ? 1
							  : (double)x * (double)(b + i + 2 * j + 1 +
										 3 * k);
				}
}

#define ARRAYS_AT 2048 /* what lies before is for single numbers */
#define ARRAY_ROOM 8 /* addresses; of more matrices than that those after them are refused */

/*
 * The addresses of the matrices of p, "on the device": a page after what is returned, which cannot be read, or which holds
 * something else.
 */
static const void *addresses(struct place *p, int which)
{
	static char readable[2 * 4096] __attribute__((aligned(4096)));
	char *page = below(2) ? device : readable;
	const void **array = (const void **)(page + 4096 + ARRAYS_AT + 64 * which);

	for (long b = 0; b < p->b && b < ARRAY_ROOM; b++)
		array[b] = element_of(p, b, 0, 0);
	p->half = 1;
	return page + ARRAYS_AT + 64 * which;
}

/* False: there is no room. */
static int open_device(void)
{
	device = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return device != MAP_FAILED && mprotect(device, 4096, PROT_NONE) == 0;
}

#endif
