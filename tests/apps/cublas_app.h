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

enum { F32, F64, F16, BF16 = 14 };

/* By cudaDataType. */
static const struct type {
	const char *name;
	int bytes;
} types[] = {{"float32", 4}, {"float64", 8}, {"float16", 2}, [BF16] = {"bfloat16", 2}};

/* Element (b, i, j) at b * s + i * rs + j * cs; dims says how many of the three are said, 0: the first two. */
struct place {
	int type, dims;
	long b, r, c, s, rs, cs;
	char *base;
	int half; /* nobody may read all of it, but a triangle, or by an array on the device: no statistics */
};

static const uint16_t halves[] = {0, 0x3c00, 0xbc00, 0x3800, 0x4200}; /* 0 1 -1 0.5 3 */
static const double half_values[] = {0, 1, -1, 0.5, 3};

static long double value_at(const struct place *p, long b, long i, long j)
{
	const char *at = p->base + (b * p->s + i * p->rs + j * p->cs) * types[p->type].bytes;
	double d;
	float f;
	uint16_t h;

	switch (p->type) {
	case 0:
		return memcpy(&f, at, 4), f;
	case 1:
		return memcpy(&d, at, 8), d;
	case BF16: {
		unsigned char bits[4] = {0, 0, (unsigned char)at[0], (unsigned char)at[1]};

		return memcpy(&f, bits, 4), f;
	}
	}
	memcpy(&h, at, 2);
	for (int k = 0; k < 5; k++)
		if (halves[k] == h)
			return half_values[k];
	return NAN;
}

/* NaNs everywhere, then the elements, if `fill`. */
static struct place make(
	int type, int dims, long b, long r, long c, long s, long rs, long cs, int fill)
{
	struct place p = {type, dims, b, r, c, s, rs, cs, NULL, 0};
	size_t n = (size_t)(b * s + (r + 2) * rs + (c + 2) * cs + 8) * (size_t)types[type].bytes;

	p.base = malloc(n);
	memset(p.base, 0xff, n);
	for (long x = 0; fill && x < b; x++)
		for (long i = 0; i < r; i++)
			for (long j = 0; j < c; j++) {
				char *at = p.base + (x * s + i * rs + j * cs) * types[type].bytes;
				double d = below(9) ? (below(2001) - 1000.0) / 512 : 0;
				float f = (float)d;

				memcpy(at,
					type == F64    ? (void *)&d
					: type == F32  ? (void *)&f
					: type == BF16 ? (char *)&f + 2
						       : (void *)&halves[below(5)],
					(size_t)types[type].bytes);
			}
	return p;
}

static void expect(
	const char *api, const char *op, const char *io, int index, const struct place *p)
{
	struct matrix_sums s = MATRIX_SUMS_NONE;

	for (long b = 0; b < p->b; b++)
		for (long i = 0; i < p->r; i++)
			for (long j = 0; j < p->c; j++)
				add_matrix_value(&s, value_at(p, b, i, j));
	fprintf(out, "%s %s %s %d %s ", api, op, io, index, types[p->type].name);
	if (p->dims == 3 || !p->dims)
		fprintf(out, "%ldx", p->b);
	fprintf(out, "%ld", p->r);
	if (p->dims >= 2)
		fprintf(out, "x%ld", p->c);
	fprintf(out, " %ld %ld", s.n, s.n * types[p->type].bytes);
	print_matrix_sums(out, &s, !p->half);
}

static void add(const struct place *p)
{
	for (long b = 0; b < p->b; b++)
		for (long i = 0; i < p->r; i++)
			for (long j = 0; j < p->c; j++) {
				long double x = value_at(p, b, i, j);

				total += isnan(x) ? 1 : (double)x * (double)(b + i + 2 * j + 1);
			}
}

/*
 * The addresses of the matrices of p, "on the device": a page behind what is returned, which nobody can read, or which holds
 * something else.
 */
static const void *addresses(struct place *p, int which)
{
	static char readable[2 * 4096] __attribute__((aligned(4096)));
	char *page = below(2) ? device : readable;
	const void **array = (const void **)(page + 4096 + 64 + 64 * which);

	for (long b = 0; b < p->b; b++)
		array[b] = p->base + b * p->s * types[p->type].bytes;
	p->half = 1;
	return page + 64 + 64 * which;
}

/* False: there is no room. */
static int open_device(void)
{
	device = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return device != MAP_FAILED && mprotect(device, 4096, PROT_NONE) == 0;
}

#endif
