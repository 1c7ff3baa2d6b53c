/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The element types that the collective programs run through, and access to an element as a number. The programs use
 * small whole numbers only: every sum and product is exact in every type, whatever order the MPI chooses.
 */
#ifndef TYPES_H
#define TYPES_H

#include <mpi.h>
#include <stdint.h>

enum kind { I8, U8, I16, U16, I32, U32, I64, U64, F32, F64 };

struct type {
	const char *name;
	MPI_Datatype mpi;
	enum kind kind;
	int size;
};

static const struct type types[] = {
	{"float", MPI_FLOAT, F32, 4},
	{"double", MPI_DOUBLE, F64, 8},
	{"signed char", MPI_SIGNED_CHAR, I8, 1},
	{"unsigned char", MPI_UNSIGNED_CHAR, U8, 1},
	{"short", MPI_SHORT, I16, 2},
	{"uint16_t", MPI_UINT16_T, U16, 2},
	{"int", MPI_INT, I32, 4},
	{"unsigned", MPI_UNSIGNED, U32, 4},
	{"long long", MPI_LONG_LONG, I64, 8},
	{"uint64_t", MPI_UINT64_T, U64, 8},
};
enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

static inline void put(const struct type *t, void *buf, long i, double v)
{
	switch (t->kind) {
	case I8:
		((int8_t *)buf)[i] = (int8_t)v;
		break;
	case U8:
		((uint8_t *)buf)[i] = (uint8_t)v;
		break;
	case I16:
		((int16_t *)buf)[i] = (int16_t)v;
		break;
	case U16:
		((uint16_t *)buf)[i] = (uint16_t)v;
		break;
	case I32:
		((int32_t *)buf)[i] = (int32_t)v;
		break;
	case U32:
		((uint32_t *)buf)[i] = (uint32_t)v;
		break;
	case I64:
		((int64_t *)buf)[i] = (int64_t)v;
		break;
	case U64:
		((uint64_t *)buf)[i] = (uint64_t)v;
		break;
	case F32:
		((float *)buf)[i] = (float)v;
		break;
	case F64:
		((double *)buf)[i] = v;
		break;
	}
}

static inline double get(const struct type *t, const void *buf, long i)
{
	switch (t->kind) {
	case I8:
		return ((const int8_t *)buf)[i];
	case U8:
		return ((const uint8_t *)buf)[i];
	case I16:
		return ((const int16_t *)buf)[i];
	case U16:
		return ((const uint16_t *)buf)[i];
	case I32:
		return ((const int32_t *)buf)[i];
	case U32:
		return ((const uint32_t *)buf)[i];
	case I64:
		return (double)((const int64_t *)buf)[i];
	case U64:
		return (double)((const uint64_t *)buf)[i];
	case F32:
		return ((const float *)buf)[i];
	case F64:
		return ((const double *)buf)[i];
	}
	return -1;
}

#endif
