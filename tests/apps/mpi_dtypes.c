/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All predefined types: their bytes must arrive as they were sent, whatever they mean; sums and extremes of ordinary
 * and of extreme values; pair types.
 */
#include "app.h"
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static int right, left;

struct named {
	const char *name;
	MPI_Datatype type;
};

#define T(x)          \
	{             \
#x, x \
	}
static const struct named all_types[] = {T(MPI_CHAR), T(MPI_SIGNED_CHAR), T(MPI_UNSIGNED_CHAR),
	T(MPI_BYTE), T(MPI_WCHAR), T(MPI_SHORT), T(MPI_UNSIGNED_SHORT), T(MPI_INT), T(MPI_UNSIGNED),
	T(MPI_LONG), T(MPI_UNSIGNED_LONG), T(MPI_LONG_LONG_INT), T(MPI_LONG_LONG),
	T(MPI_UNSIGNED_LONG_LONG), T(MPI_FLOAT), T(MPI_DOUBLE), T(MPI_LONG_DOUBLE), T(MPI_C_BOOL),
	T(MPI_INT8_T), T(MPI_INT16_T), T(MPI_INT32_T), T(MPI_INT64_T), T(MPI_UINT8_T),
	T(MPI_UINT16_T), T(MPI_UINT32_T), T(MPI_UINT64_T), T(MPI_C_COMPLEX), T(MPI_C_FLOAT_COMPLEX),
	T(MPI_C_DOUBLE_COMPLEX), T(MPI_C_LONG_DOUBLE_COMPLEX), T(MPI_AINT), T(MPI_OFFSET),
	T(MPI_COUNT), T(MPI_PACKED), T(MPI_FLOAT_INT), T(MPI_DOUBLE_INT), T(MPI_LONG_INT),
	T(MPI_2INT), T(MPI_SHORT_INT), T(MPI_LONG_DOUBLE_INT), T(MPI_CHARACTER), T(MPI_LOGICAL),
	T(MPI_INTEGER), T(MPI_REAL), T(MPI_DOUBLE_PRECISION), T(MPI_COMPLEX), T(MPI_DOUBLE_COMPLEX),
	T(MPI_INTEGER1), T(MPI_INTEGER2), T(MPI_INTEGER4), T(MPI_INTEGER8), T(MPI_REAL4),
	T(MPI_REAL8), T(MPI_COMPLEX8), T(MPI_COMPLEX16), T(MPI_2REAL), T(MPI_2DOUBLE_PRECISION),
	T(MPI_2INTEGER), T(MPI_CXX_BOOL), T(MPI_CXX_FLOAT_COMPLEX), T(MPI_CXX_DOUBLE_COMPLEX),
	T(MPI_CXX_LONG_DOUBLE_COMPLEX)};
#undef T

/* Any bytes, of 33 elements, by Bcast, by Sendrecv and by Allgather. Gaps inside pair types are not looked at. */
static void copied(const struct named *n)
{
	enum { LEN = 33, ROOM = 64 * LEN };
	unsigned char buf[ROOM], want[ROOM], all[8 * ROOM];
	int size = 0, has_gaps;
	MPI_Aint lb, extent;

	if (n->type == MPI_DATATYPE_NULL) {
		app_say("%s: none", n->name);
		return;
	}
	MPI_Type_size(n->type, &size);
	MPI_Type_get_extent(n->type, &lb, &extent);
	CHECK(size > 0 && extent >= size && extent * LEN <= ROOM, "%s: size %d, extent %ld",
		n->name, size, (long)extent);
	has_gaps = extent != size;
	size *= LEN;
	for (int i = 0; i < ROOM; i++) {
		want[i] = (unsigned char)(i * 7 + 3);
		buf[i] = app_rank == app_size - 1 || i >= extent * LEN ? want[i] : 0;
	}
	MPI_Bcast(buf, LEN, n->type, app_size - 1, MPI_COMM_WORLD);
	CHECK(has_gaps || !memcmp(buf, want, (size_t)size), "%s: Bcast changed bytes", n->name);
	memset(buf, 0, sizeof(buf));
	MPI_Sendrecv(want, LEN, n->type, right, 1, buf, LEN, n->type, left, 1, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	CHECK(has_gaps || !memcmp(buf, want, (size_t)size), "%s: Sendrecv changed bytes", n->name);
	if (app_size <= 8) {
		MPI_Allgather(want, LEN, n->type, all, LEN, n->type, MPI_COMM_WORLD);
		for (int r = 0; r < app_size; r++)
			CHECK(has_gaps || !memcmp(all + r * extent * LEN, want, (size_t)size),
				"%s: Allgather changed bytes", n->name);
	}
	if (!has_gaps)
		app_mix(buf, (size_t)size);
}

/* Sum, and where the type has an order its largest and smallest, of rank + 1. */
#define REDUCED(type, ctype, ordered)                                                             \
	do {                                                                                      \
		ctype in_[3] = {(ctype)(app_rank + 1), (ctype)(app_rank + 2), (ctype)1}, out_[3]; \
		MPI_Allreduce(in_, out_, 3, type, MPI_SUM, MPI_COMM_WORLD);                       \
		CHECK(out_[0] == (ctype)(app_size * (app_size + 1) / 2) &&                        \
				out_[2] == (ctype)app_size,                                       \
			#type ": wrong sum");                                                     \
		app_mix(out_, 1);                                                                 \
		if (!(ordered))                                                                   \
			break;                                                                    \
		MPI_Allreduce(in_, out_, 3, type, MPI_MAX, MPI_COMM_WORLD);                       \
		CHECK(out_[1] == (ctype)(app_size + 1), #type ": wrong maximum");                 \
		MPI_Allreduce(in_, out_, 3, type, MPI_MIN, MPI_COMM_WORLD);                       \
		CHECK(out_[0] == (ctype)1, #type ": wrong minimum");                              \
	} while (0)

static void reduced(void)
{
	REDUCED(MPI_INT8_T, int8_t, 1);
	REDUCED(MPI_UINT8_T, uint8_t, 1);
	REDUCED(MPI_SHORT, short, 1);
	REDUCED(MPI_UNSIGNED_SHORT, unsigned short, 1);
	REDUCED(MPI_INT, int, 1);
	REDUCED(MPI_UNSIGNED, unsigned, 1);
	REDUCED(MPI_LONG, long, 1);
	REDUCED(MPI_UNSIGNED_LONG, unsigned long, 1);
	REDUCED(MPI_LONG_LONG, long long, 1);
	REDUCED(MPI_UNSIGNED_LONG_LONG, unsigned long long, 1);
	REDUCED(MPI_AINT, MPI_Aint, 1);
	REDUCED(MPI_COUNT, MPI_Count, 1);
	REDUCED(MPI_FLOAT, float, 1);
	REDUCED(MPI_DOUBLE, double, 1);
	REDUCED(MPI_LONG_DOUBLE, long double, 1);
	REDUCED(MPI_C_FLOAT_COMPLEX, float complex, 0);
	REDUCED(MPI_C_DOUBLE_COMPLEX, double complex, 0);
	app_say("reduced");
}

/* Widest values, and sums that leave the range. */
static void extremes(void)
{
	float f[6] = {app_rank ? 1 : NAN, app_rank ? -INFINITY : 1, FLT_MAX, FLT_TRUE_MIN, -0.0f,
		1e-9f},
	      g[6];
	double d[4] = {DBL_MAX, app_rank ? -INFINITY : INFINITY, DBL_TRUE_MIN, NAN}, e[4];
	long long i[3] = {INT64_MAX - app_size, INT64_MIN + app_size, -1}, j[3];
	unsigned long long u[2] = {UINT64_MAX - (unsigned)app_rank, 1}, v[2];
	bool b[2] = {app_rank % 2, app_rank == 0}, any[2], every[2];

	MPI_Allreduce(f, g, 6, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(isnan(g[0]) && isinf(g[1]) && g[1] < 0 && isinf(g[2]), "float: %g %g %g", g[0], g[1],
		g[2]);
	CHECK(g[3] == (float)app_size * FLT_TRUE_MIN && g[4] == 0 && g[5] > 1e-9f,
		"float: %g %g %g", g[3], g[4], g[5]);
	MPI_Allreduce(d, e, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	CHECK(isinf(e[0]) && isnan(e[1]) && e[2] == app_size * DBL_TRUE_MIN && isnan(e[3]),
		"double: %g %g %g %g", e[0], e[1], e[2], e[3]);
	MPI_Allreduce(i, j, 3, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
	CHECK(j[0] == i[0] && j[1] == i[1] && j[2] == -1, "long long: %lld %lld %lld", j[0], j[1],
		j[2]);
	MPI_Reduce(u, v, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
	CHECK(app_rank || (v[0] == UINT64_MAX && v[1] == 1), "unsigned long long: %llu", v[0]);
	MPI_Allreduce(b, any, 2, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
	MPI_Allreduce(b, every, 2, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
	CHECK(any[0] && any[1] && !every[0] && !every[1], "bool");
	app_mix(&g[2], 4 * sizeof(float));
	app_say("extremes");
}

/* Largest and smallest with where they are. */
static void pairs(void)
{
	struct {
		float value;
		int at;
	} f = {(float)((app_rank * 3) % app_size), app_rank}, most;
	struct {
		double value;
		int at;
	} d = {app_rank % 2 ? -5 : 5, app_rank}, least;
	struct {
		long double value;
		int at;
	} l = {(long double)app_rank / 3, app_rank}, last;
	int two[2] = {app_rank == 1 ? 100 : 0, app_rank}, found[2];

	MPI_Allreduce(&f, &most, 1, MPI_FLOAT_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	CHECK(most.value == (float)((most.at * 3) % app_size) && most.value >= f.value,
		"FLOAT_INT: %g at %d", most.value, most.at);
	MPI_Allreduce(&d, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
	CHECK(least.value == -5 && least.at == 1, "DOUBLE_INT: %g at %d", least.value, least.at);
	MPI_Allreduce(&l, &last, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	CHECK(last.at == app_size - 1, "LONG_DOUBLE_INT: %d", last.at);
	MPI_Allreduce(two, found, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
	CHECK(found[0] == 100 && found[1] == 1, "2INT: %d at %d", found[0], found[1]);
	app_say("pairs");
}

/* Half precision as programs make it where the MPI has none: two bytes, and an operator of their own. */
static void add_halves(void *a, void *b, int *len, MPI_Datatype *type)
{
	uint16_t *x = a, *y = b;

	(void)type;
	for (int i = 0; i < *len; i++)
		y[i] = (uint16_t)(x[i] +
				  y[i]); /* a stand-in: exact, and any order gives the same */
}

static void own_half(void)
{
	uint16_t in[10], out[10];
	MPI_Datatype half;
	MPI_Op add;

	MPI_Type_contiguous(2, MPI_BYTE, &half);
	MPI_Type_commit(&half);
	MPI_Op_create(add_halves, 1, &add);
	for (int i = 0; i < 10; i++)
		in[i] = (uint16_t)(app_rank + i);
	MPI_Allreduce(in, out, 10, half, add, MPI_COMM_WORLD);
	for (int i = 0; i < 10; i++)
		CHECK(out[i] == app_size * i + app_size * (app_size - 1) / 2, "half: [%d] is %d", i,
			out[i]);
	MPI_Op_free(&add);
	MPI_Type_free(&half);
	app_say("half precision");
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	right = (app_rank + 1) % app_size;
	left = (app_rank + app_size - 1) % app_size;
	for (size_t i = 0; i < sizeof(all_types) / sizeof(all_types[0]); i++)
		copied(&all_types[i]);
	app_say("%zu types copied", sizeof(all_types) / sizeof(all_types[0]));
	reduced();
	extremes();
	pairs();
	own_half();
	return app_done();
}
