/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor's statistics are to be, in long double: for programs that list their own tensors (tests/e2e/blas_truth.py). */
#ifndef PROBE_TESTS_APPS_MATRIX_SUMS_H
#define PROBE_TESTS_APPS_MATRIX_SUMS_H

#include <math.h>
#include <stdio.h>

struct matrix_sums {
	long double sum, squares, lo, hi;
	long n, zeros, nans;
};

#define MATRIX_SUMS_NONE ((struct matrix_sums){0, 0, INFINITY, -INFINITY, 0, 0, 0})

static inline void add_matrix_value(struct matrix_sums *s, long double x)
{
	s->n++;
	if (isnan(x)) {
		s->nans++;
		return;
	}
	s->zeros += fabsl(x) < 1e-8L;
	s->sum += x;
	s->squares += x * x;
	s->lo = x < s->lo ? x : s->lo;
	s->hi = x > s->hi ? x : s->hi;
}

/* The end of a line. known: 0 where only bytes and shape are to be said. */
static inline void print_matrix_sums(FILE *out, const struct matrix_sums *s, int known)
{
	if (!known || !s->n)
		fprintf(out, " none\n");
	else if (s->nans == s->n)
		fprintf(out, " nan %ld\n", s->nans);
	else
		fprintf(out, " %.21Lg %.21Lg %.21Lg %.21Lg %.21Lg %ld\n", s->lo, s->hi,
			s->sum / (s->n - s->nans), sqrtl(s->squares), (long double)s->zeros / s->n,
			s->nans);
}

#endif
