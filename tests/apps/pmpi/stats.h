/* SPDX-License-Identifier: Apache-2.0 */
/* The plain arithmetic of pmpi_count.c: one pass over a buffer in long double, nothing clever. */
#ifndef STATS_H
#define STATS_H

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ZERO_BELOW 1e-8L

enum number {
	INT8,
	UINT8,
	INT16,
	UINT16,
	INT32,
	UINT32,
	INT64,
	UINT64,
	FLOAT32,
	FLOAT64,
	BOOLEAN,
	OTHER
};

struct number_type {
	MPI_Datatype mpi;
	enum number number;
	int parts; /* 2: complex */
	const char *name;
};

static const struct number_type *number_type(MPI_Datatype type)
{
	static const struct number_type other = {MPI_DATATYPE_NULL, OTHER, 1, "other"};
	static const struct number_type table[] = {
		{MPI_FLOAT, FLOAT32, 1, "float32"},
		{MPI_DOUBLE, FLOAT64, 1, "float64"},
		{MPI_CHAR, INT8, 1, "int8"},
		{MPI_SIGNED_CHAR, INT8, 1, "int8"},
		{MPI_INT8_T, INT8, 1, "int8"},
		{MPI_BYTE, UINT8, 1, "uint8"},
		{MPI_UNSIGNED_CHAR, UINT8, 1, "uint8"},
		{MPI_UINT8_T, UINT8, 1, "uint8"},
		{MPI_SHORT, INT16, 1, "int16"},
		{MPI_INT16_T, INT16, 1, "int16"},
		{MPI_UNSIGNED_SHORT, UINT16, 1, "uint16"},
		{MPI_UINT16_T, UINT16, 1, "uint16"},
		{MPI_INT, INT32, 1, "int32"},
		{MPI_INT32_T, INT32, 1, "int32"},
		{MPI_UNSIGNED, UINT32, 1, "uint32"},
		{MPI_UINT32_T, UINT32, 1, "uint32"},
		{MPI_LONG, INT64, 1, "int64"}, /* 64-bit Linux */
		{MPI_LONG_LONG, INT64, 1, "int64"},
		{MPI_INT64_T, INT64, 1, "int64"},
		{MPI_AINT, INT64, 1, "int64"},
		{MPI_OFFSET, INT64, 1, "int64"},
		{MPI_COUNT, INT64, 1, "int64"},
		{MPI_UNSIGNED_LONG, UINT64, 1, "uint64"},
		{MPI_UNSIGNED_LONG_LONG, UINT64, 1, "uint64"},
		{MPI_UINT64_T, UINT64, 1, "uint64"},
		{MPI_WCHAR, INT32, 1, "int32"},
		{MPI_C_BOOL, BOOLEAN, 1, "bool"},
		{MPI_CXX_BOOL, BOOLEAN, 1, "bool"},
		{MPI_C_FLOAT_COMPLEX, FLOAT32, 2, "complex64"},
		{MPI_C_DOUBLE_COMPLEX, FLOAT64, 2, "complex128"},
		{MPI_CXX_FLOAT_COMPLEX, FLOAT32, 2, "complex64"},
		{MPI_CXX_DOUBLE_COMPLEX, FLOAT64, 2, "complex128"},
		/* Fortran's, as compilers make them by default. */
		{MPI_CHARACTER, INT8, 1, "int8"},
		{MPI_INTEGER, INT32, 1, "int32"},
		{MPI_LOGICAL, INT32, 1, "int32"},
		{MPI_INTEGER1, INT8, 1, "int8"},
		{MPI_INTEGER2, INT16, 1, "int16"},
		{MPI_INTEGER4, INT32, 1, "int32"},
		{MPI_INTEGER8, INT64, 1, "int64"},
		{MPI_REAL, FLOAT32, 1, "float32"},
		{MPI_REAL4, FLOAT32, 1, "float32"},
		{MPI_DOUBLE_PRECISION, FLOAT64, 1, "float64"},
		{MPI_REAL8, FLOAT64, 1, "float64"},
		{MPI_COMPLEX, FLOAT32, 2, "complex64"},
		{MPI_COMPLEX8, FLOAT32, 2, "complex64"},
		{MPI_DOUBLE_COMPLEX, FLOAT64, 2, "complex128"},
		{MPI_COMPLEX16, FLOAT64, 2, "complex128"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].mpi == type)
			return &table[i];
	return &other;
}

struct sums {
	long all, nans, infs, zeros;
	long double min, max, sum, squares;
};

static long double number_at(enum number number, const void *buf, long i)
{
	switch (number) {
	case INT8:
		return ((const int8_t *)buf)[i];
	case UINT8:
		return ((const uint8_t *)buf)[i];
	case INT16:
		return ((const int16_t *)buf)[i];
	case UINT16:
		return ((const uint16_t *)buf)[i];
	case INT32:
		return ((const int32_t *)buf)[i];
	case UINT32:
		return ((const uint32_t *)buf)[i];
	case INT64:
		return ((const int64_t *)buf)[i];
	case UINT64:
		return ((const uint64_t *)buf)[i];
	case FLOAT32:
		return ((const float *)buf)[i];
	case FLOAT64:
		return ((const double *)buf)[i];
	case BOOLEAN:
		return ((const uint8_t *)buf)[i] != 0;
	case OTHER:
		break;
	}
	return 0;
}

static void add_numbers(struct sums *s, enum number number, const void *buf, long n)
{
	for (long i = 0; i < n; i++) {
		long double x = number_at(number, buf, i);

		s->all++;
		if (isnan(x)) {
			s->nans++;
			continue;
		}
		s->infs += isinf(x) != 0;
		s->zeros += fabsl(x) < ZERO_BELOW;
		if (s->all - s->nans == 1 || x < s->min)
			s->min = x;
		if (s->all - s->nans == 1 || x > s->max)
			s->max = x;
		s->sum += x;
		s->squares += x * x;
	}
}

static void print_number(char *to, size_t room, long double x, int whole)
{
	if (isnan(x))
		snprintf(to, room, "nan"); /* never -nan */
	else if (whole)
		snprintf(to, room, "%.0Lf", x);
	else
		snprintf(to, room, "%.17g", (double)x);
}

/* ",min,max,mean,norm,zeros,nans,infs"; empty fields where there is nothing to say. */
static void print_sums(char *to, size_t room, const struct sums *s, enum number number)
{
	char min[48], max[48], mean[48], norm[48];
	long good = s->all - s->nans;
	int whole = number <= UINT64 || number == BOOLEAN;

	if (number == OTHER || !s->all) {
		snprintf(to, room, ",,,,,,,");
		return;
	}
	print_number(min, sizeof(min), good ? s->min : NAN, whole);
	print_number(max, sizeof(max), good ? s->max : NAN, whole);
	print_number(mean, sizeof(mean), good ? s->sum / good : NAN, 0);
	print_number(norm, sizeof(norm), good ? sqrtl(s->squares) : NAN, 0);
	snprintf(to, room, ",%s,%s,%s,%s,%.17g,%ld,%ld", min, max, mean, norm,
		(double)((long double)s->zeros / s->all), s->nans, s->infs);
}

#endif
