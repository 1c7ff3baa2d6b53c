/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring, as the programs of this folder share it. They print lines NAME VALUE for bench.sh. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t now(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* q of 0..1; sorts v. */
static inline double quantile(double *v, size_t n, double q)
{
	size_t i = (size_t)(q * (double)(n - 1) + 0.5);

	qsort(v, n, sizeof(*v), by_value);
	return v[i];
}

static inline double median(double *v, size_t n)
{
	return quantile(v, n, 0.5);
}

/* Additions that each need the last one's sum take a cycle each: what the core runs at, whatever the host gives it. */
static inline double cycles_a_ns(void)
{
	const int n = 16384;
	uint64_t t0 = now(), t1, x = 1;

	for (int i = 0; i < n; i++)
#if defined(__x86_64__)
		__asm__ volatile("add %1, %0" : "+r"(x) : "r"(t0));
#else
		__asm__ volatile("add %0, %0, %1" : "+r"(x) : "r"(t0));
#endif
	t1 = now();
	return n / (double)(t1 - t0);
}

/* Makes the compiler treat *p as used. */
static inline void keep(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

#endif
