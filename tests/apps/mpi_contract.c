/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed sequence of collectives on 4 ranks whose records are written down by hand, row by row, in
 * tests/e2e/contract.expected, under the headings that stand here in the comments. Nearly all buffers hold 3, 4 and
 * zeros, which have round sums and norms; what must not be measured holds 1000.
 *
 * mpi_contract [FILE]: FILE.<rank> gets the Unix time before and after each of some barriers at the end.
 */
#include "app.h"
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define W MPI_COMM_WORLD
#define F MPI_FLOAT

static const float v[4] = {3, 4, 0, 0};
static const int counts[4] = {1, 0, 2, 1}, places[4] = {0, 9, 2, 5}, at_v[4] = {0, 1, 1, 3};
static const int ones[4] = {1, 1, 1, 1}, spread[4] = {0, 2, 4, 6}, bytes[4] = {0, 8, 16, 24};
static float x[16], y[16];

static void clear(float *p)
{
	for (int i = 0; i < 16; i++)
		p[i] = 1000;
}

static void all_to_all_ranks(void)
{
	float in[2] = {3, 4}, out[2];
	int max[2] = {1, -2};

	/* barrier, broadcast, all_reduce */
	MPI_Barrier(W);
	memcpy(x, v, sizeof(v));
	MPI_Bcast(x, 4, F, 1, W);
	MPI_Allreduce(v, y, 4, F, MPI_SUM, W);
	CHECK(y[0] == 12 && y[1] == 16, "sum %g %g", y[0], y[1]);
	MPI_Allreduce(MPI_IN_PLACE, max, 2, MPI_INT, MPI_MAX, W);
	/* scan, exscan */
	MPI_Scan(in, out, 2, F, MPI_SUM, W);
	CHECK(out[0] == 3 * (float)(app_rank + 1), "scan %g", out[0]);
	MPI_Exscan(in, out, 2, F, MPI_SUM, W);
	MPI_Exscan(MPI_IN_PLACE, in, 2, F, MPI_SUM, W);
	/* reduce_scatter */
	MPI_Reduce_scatter(v, y, counts, F, MPI_MIN, W);
	MPI_Reduce_scatter_block(v, y, 1, F, MPI_MAX, W);
	CHECK(y[0] <= v[app_rank] && y[0] >= v[app_rank], "block %g", y[0]);
	/* zero counts */
	MPI_Allreduce(v, y, 0, F, MPI_SUM, W);
	MPI_Bcast(x, 0, F, 0, W);
}

static void reductions_to_one(void)
{
	int64_t prod[2] = {0, 2}, product[2];
	double d[2] = {3, 4};

	/* reduce */
	MPI_Reduce(prod, product, 2, MPI_INT64_T, MPI_PROD, 2, W);
	MPI_Reduce(app_rank ? d : MPI_IN_PLACE, d, 2, MPI_DOUBLE, MPI_SUM, 0, W);
	CHECK(app_rank || d[1] == 16, "sum in place %g", d[1]);
}

static void gathering(void)
{
	int16_t i16[2] = {3, 4}, all16[8];
	uint8_t u8[8] = {0};
	double d[8] = {3, 4}, all[8];

	/* all_gather */
	MPI_Allgather(i16, 2, MPI_INT16_T, all16, 2, MPI_INT16_T, W);
	u8[2 * app_rank] = 3;
	u8[2 * app_rank + 1] = 4;
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, u8, 2, MPI_UINT8_T, W);
	clear(y);
	MPI_Allgatherv(v + at_v[app_rank], counts[app_rank], F, y, counts, places, F, W);
	CHECK(y[0] == 3 && y[2] == 4 && y[1] == 1000, "gathered %g %g", y[0], y[2]);
	MPI_Allgatherv(MPI_IN_PLACE, 0, F, y, counts, places, F, W);
	/* gather */
	MPI_Gather(d, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 1, W);
	d[6] = 3;
	d[7] = 4;
	MPI_Gather(app_rank == 3 ? MPI_IN_PLACE : d, 2, MPI_DOUBLE, d, 2, MPI_DOUBLE, 3, W);
	clear(y);
	MPI_Gatherv(v + at_v[app_rank], counts[app_rank], F, y, counts, places, F, 2, W);
}

static void scattering(void)
{
	uint16_t u16[8] = {3, 4, 3, 4, 3, 4, 3, 4}, part[2];

	/* scatter */
	MPI_Scatter(u16, 2, MPI_UINT16_T, part, 2, MPI_UINT16_T, 0, W);
	MPI_Scatter(
		u16, 2, MPI_UINT16_T, app_rank == 3 ? MPI_IN_PLACE : part, 2, MPI_UINT16_T, 3, W);
	clear(x);
	x[0] = 3;
	x[2] = 4;
	x[3] = x[5] = 0;
	MPI_Scatterv(x, counts, places, F, y, counts[app_rank], F, 1, W);
}

static void exchanging(void)
{
	MPI_Datatype floats[4] = {F, F, F, F}, mixed[4] = {F, MPI_INT, F, MPI_INT};

	/* all_to_all */
	MPI_Alltoall(v, 1, F, y, 1, F, W);
	memcpy(y, v, sizeof(v));
	MPI_Alltoall(MPI_IN_PLACE, 0, F, y, 1, F, W);
	clear(x);
	clear(y);
	for (int i = 0; i < 4; i++)
		x[2 * i] = v[i];
	MPI_Alltoallv(x, ones, spread, F, y, ones, spread, F, W);
	CHECK(y[6] <= v[app_rank] && y[6] >= v[app_rank] && y[7] == 1000, "exchanged %g", y[6]);
	MPI_Alltoallw(x, ones, bytes, floats, y, ones, bytes, floats, W);
	/* Each pair of ranks exchanges the same type. */
	for (int i = 0; i < 4; i++)
		mixed[i] = (i + app_rank) % 2 ? MPI_INT : F;
	MPI_Alltoallw(x, ones, bytes, mixed, y, ones, bytes, mixed, W);
}

#define REDUCE_TYPE(type, handle, op, a, b)                 \
	do {                                                \
		type in_[2] = {a, b}, out_[2];              \
		MPI_Allreduce(in_, out_, 2, handle, op, W); \
		app_mix(out_, sizeof(out_));                \
	} while (0)

static void user_function(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((float *)inout)[i] += ((float *)in)[i];
}

static void types(void)
{
	struct {
		float value;
		int index;
	} pair = {3, app_rank}, least;
	float bad[4] = {NAN, INFINITY, -INFINITY, 3}, nans[4] = {NAN, NAN, NAN, NAN},
	      small[2] = {1e-9f, 1};
	float _Complex c = 3 + 4 * _Complex_I, csum;
	double _Complex z = 3 + 4 * _Complex_I, zsum;
	long double l[2] = {3, 4}, lsum[2];
	MPI_Datatype vector, twin;
	MPI_Op op;

	/* types and reductions */
	REDUCE_TYPE(int8_t, MPI_INT8_T, MPI_SUM, 3, 4);
	REDUCE_TYPE(int16_t, MPI_INT16_T, MPI_MIN, 3, 4);
	REDUCE_TYPE(int32_t, MPI_INT32_T, MPI_PROD, 0, 2);
	REDUCE_TYPE(int64_t, MPI_INT64_T, MPI_MIN, INT64_MIN, 0);
	REDUCE_TYPE(uint8_t, MPI_UINT8_T, MPI_BAND, 3, 4);
	REDUCE_TYPE(uint16_t, MPI_UINT16_T, MPI_BOR, 3, 4);
	REDUCE_TYPE(uint32_t, MPI_UINT32_T, MPI_BXOR, 3, 4);
	REDUCE_TYPE(uint64_t, MPI_UINT64_T, MPI_MAX, UINT64_MAX, 0);
	REDUCE_TYPE(bool, MPI_C_BOOL, MPI_LAND, 1, 0);
	REDUCE_TYPE(int, MPI_INT, MPI_LOR, 1, 0);
	REDUCE_TYPE(int, MPI_INT, MPI_LXOR, 1, 0);
	REDUCE_TYPE(double, MPI_DOUBLE, MPI_SUM, 3, 4);
	MPI_Allreduce(&c, &csum, 1, MPI_C_FLOAT_COMPLEX, MPI_SUM, W);
	MPI_Allreduce(&z, &zsum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, W);
	MPI_Allreduce(l, lsum, 2, MPI_LONG_DOUBLE, MPI_SUM, W);
	MPI_Allreduce(&pair, &least, 1, MPI_FLOAT_INT, MPI_MINLOC, W);
	MPI_Allreduce(&pair, &least, 1, MPI_FLOAT_INT, MPI_MAXLOC, W);
	MPI_Op_create(user_function, 1, &op);
	MPI_Allreduce(v, y, 2, F, op, W);
	MPI_Op_free(&op);
	/* special values */
	MPI_Bcast(bad, 4, F, 0, W);
	MPI_Bcast(nans, 4, F, 0, W);
	MPI_Bcast(small, 2, F, 0, W);
	/* derived types */
	MPI_Type_vector(2, 1, 2, F, &vector);
	MPI_Type_commit(&vector);
	MPI_Type_dup(F, &twin);
	MPI_Bcast(x, 3, vector, 0, W);
	MPI_Bcast(x, 3, twin, 0, W);
	MPI_Type_free(&vector);
	MPI_Type_free(&twin);
}

static void neighbours(void)
{
	int two[2] = {2, 2}, yes[2] = {1, 1}, others[3] = {1, 2, 3}, zero = 0;
	MPI_Comm grid, star;

	/* neighbours */
	MPI_Cart_create(W, 2, two, yes, 0, &grid);
	MPI_Comm_set_name(grid, "grid");
	MPI_Neighbor_allgather(v, 1, F, y, 1, F, grid);
	MPI_Neighbor_alltoall(v, 1, F, y, 1, F, grid);
	clear(y);
	MPI_Neighbor_allgatherv(v, 1, F, y, ones, spread, F, grid);
	MPI_Dist_graph_create_adjacent(W, app_rank != 0, &zero, MPI_UNWEIGHTED, app_rank ? 0 : 3,
		others, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star);
	MPI_Comm_set_name(star, "a, \"star\"");
	MPI_Neighbor_allgather(v, 1, F, y, 1, F, star);
	MPI_Comm_free(&grid);
	MPI_Comm_free(&star);
}

static void communicators(void)
{
	int low = app_rank < 2, root = app_rank == 2 ? MPI_ROOT : app_rank == 3 ? MPI_PROC_NULL : 0;
	MPI_Comm dup, half, pair, bridge, merged;
	float in[2] = {3, 4}, out[2];

	/* communicators */
	MPI_Comm_dup(W, &dup);
	MPI_Comm_set_name(dup, "dup");
	MPI_Allreduce(in, out, 2, F, MPI_SUM, dup);
	MPI_Barrier(W);
	MPI_Barrier(dup);
	MPI_Comm_split(W, app_rank % 2, -app_rank, &half);
	MPI_Comm_set_name(half, app_rank % 2 ? "odd" : "even");
	MPI_Bcast(in, 2, F, 1, half);
	MPI_Allreduce(in, out, 2, F, MPI_SUM, MPI_COMM_SELF);
	/* intercommunicators */
	MPI_Comm_split(W, low, 0, &pair);
	MPI_Intercomm_create(pair, 0, W, low ? 2 : 0, 5, &bridge);
	MPI_Comm_set_name(bridge, "bridge");
	MPI_Allreduce(in, out, 2, F, MPI_SUM, bridge);
	CHECK(out[1] == 8, "sum of the others %g", out[1]);
	MPI_Bcast(in, 2, F, root, bridge);
	MPI_Reduce(in, out, 2, F, MPI_SUM, root, bridge);
	MPI_Allgather(in, 1, F, out, 1, F, bridge);
	MPI_Barrier(bridge);
	MPI_Intercomm_merge(bridge, low, &merged);
	MPI_Comm_set_name(merged, "merged");
	MPI_Barrier(merged);
	/* errors */
	MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
	fprintf(stderr, "error %d %d\n", app_rank, MPI_Bcast(in, -1, F, 0, dup));
	MPI_Comm_free(&dup);
	MPI_Comm_free(&half);
	MPI_Comm_free(&pair);
	MPI_Comm_free(&bridge);
	MPI_Comm_free(&merged);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void times(const char *path)
{
	char name[4096];
	FILE *f = NULL;

	if (path) {
		snprintf(name, sizeof(name), "%s.%d", path, app_rank);
		f = fopen(name, "w");
	}
	/* clock */
	for (int i = 0; i < 8; i++) {
		int64_t before = now(), after;

		MPI_Barrier(W);
		after = now();
		if (f)
			fprintf(f, "%lld %lld\n", (long long)before, (long long)after);
		usleep(i < 6 ? 20000 : 500000);
	}
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(4);
	all_to_all_ranks();
	reductions_to_one();
	gathering();
	scattering();
	exchanging();
	types();
	neighbours();
	communicators();
	times(argc > 1 ? argv[1] : NULL);
	return app_done();
}
