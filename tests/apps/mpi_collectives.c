/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking collectives: all of MPI-3's, and what only they show: derived types, mixed types, users' operators. */
#define COUNT int
#define DISPL int
#define COLL(Name, name, ...) MPI_##Name(__VA_ARGS__)
#include "collective_cases.h"

/* Columns of a matrix: the elements between them must stay as they are. */
static void derived_type(void)
{
	enum { ROWS = 4, COLS = 3 };
	double m[ROWS * COLS], all[MAX_RANKS * ROWS * COLS];
	MPI_Datatype column, spaced;

	MPI_Type_vector(ROWS, 1, COLS, MPI_DOUBLE, &column);
	MPI_Type_create_resized(column, 0, ROWS * COLS * (MPI_Aint)sizeof(double), &spaced);
	MPI_Type_commit(&spaced);
	for (int i = 0; i < ROWS * COLS; i++)
		m[i] = app_rank * 1000 + i;
	MPI_Bcast(m + 1, 1, spaced, app_size - 1, MPI_COMM_WORLD);
	for (int i = 0; i < ROWS * COLS; i++) {
		int from = i % COLS == 1 ? app_size - 1 : app_rank;

		CHECK(m[i] == from * 1000 + i, "Bcast of a column: [%d] is %g", i, m[i]);
		all[i] = -1;
	}
	for (int i = 0; i < app_size * ROWS * COLS; i++)
		all[i] = -1;
	MPI_Allgather(m, 1, spaced, all, 1, spaced, MPI_COMM_WORLD);
	for (int i = 0; i < app_size * ROWS * COLS; i++) {
		int r = i / (ROWS * COLS), j = i % (ROWS * COLS);
		double want = j % COLS == 0 ? r * 1000 + j : -1;

		CHECK(all[i] == want, "Allgather of columns: [%d] is %g, not %g", i, all[i], want);
	}
	app_mix(all, (size_t)(app_size * ROWS * COLS) * sizeof(double));
	MPI_Type_free(&column);
	MPI_Type_free(&spaced);
}

/* Floats to even ranks, ints to odd ones, in one call. */
static void mixed_types(void)
{
	struct {
		float f;
		int i;
	} out[MAX_RANKS], in[MAX_RANKS];
	MPI_Datatype to[MAX_RANKS], from[MAX_RANKS];
	int ones[MAX_RANKS], to_at[MAX_RANKS], from_at[MAX_RANKS];

	for (int r = 0; r < app_size; r++) {
		out[r].f = (float)(10 * app_rank + r);
		out[r].i = 10 * app_rank + r;
		in[r].f = -1;
		in[r].i = -1;
		ones[r] = 1;
		to[r] = r % 2 ? MPI_INT : MPI_FLOAT;
		from[r] = app_rank % 2 ? MPI_INT : MPI_FLOAT;
		to_at[r] = r * (int)sizeof(out[0]) + (r % 2 ? 4 : 0);
		from_at[r] = r * (int)sizeof(in[0]) + (app_rank % 2 ? 4 : 0);
	}
	MPI_Alltoallw(out, ones, to_at, to, in, ones, from_at, from, MPI_COMM_WORLD);
	for (int r = 0; r < app_size; r++) {
		int want = 10 * r + app_rank;

		CHECK(app_rank % 2 ? in[r].i == want && in[r].f == -1
				   : in[r].f == want && in[r].i == -1,
			"Alltoallw from %d: %g %d, not %d", r, in[r].f, in[r].i, want);
	}
}

/* 2x2 matrices: their product shows the order, which is that of the ranks. */
static void multiply(void *a, void *b, int *len, MPI_Datatype *type)
{
	int *x = a, *y = b;

	(void)type;
	for (int k = 0; k < *len; k++, x += 4, y += 4) {
		int p[4] = {x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3],
			x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3]};

		memcpy(y, p, sizeof(p));
	}
}

static void largest_square(void *a, void *b, int *len, MPI_Datatype *type)
{
	float *x = a, *y = b;

	(void)type;
	for (int i = 0; i < *len; i++)
		y[i] = x[i] * x[i] > y[i] * y[i] ? x[i] : y[i];
}

static void user_operators(void)
{
	int mine[4] = {1, app_rank + 1, app_rank % 2, 1}, got[4], want[4] = {1, 0, 0, 1}, one = 1;
	float f = app_rank % 2 ? -(float)app_rank : (float)app_rank, most = 0;
	MPI_Datatype matrix;
	MPI_Op product, square;

	MPI_Type_contiguous(4, MPI_INT, &matrix);
	MPI_Type_commit(&matrix);
	MPI_Op_create(multiply, 0, &product);
	MPI_Op_create(largest_square, 1, &square);
	for (int r = app_size - 1; r >= 0; r--) {
		int m[4] = {1, r + 1, r % 2, 1};

		multiply(m, want, &one, &matrix);
	}
	MPI_Allreduce(mine, got, 1, matrix, product, MPI_COMM_WORLD);
	CHECK(!memcmp(got, want, sizeof(got)), "product of matrices: %d %d %d %d", got[0], got[1],
		got[2], got[3]);
	MPI_Reduce(mine, got, 1, matrix, product, app_size - 1, MPI_COMM_WORLD);
	CHECK(app_rank != app_size - 1 || !memcmp(got, want, sizeof(got)),
		"product at the last rank");
	MPI_Allreduce(&f, &most, 1, MPI_FLOAT, square, MPI_COMM_WORLD);
	CHECK(most * most == (float)((app_size - 1) * (app_size - 1)), "largest square: %g", most);
	app_mix(got, app_rank == app_size - 1 ? sizeof(got) : 0);
	MPI_Op_free(&product);
	MPI_Op_free(&square);
	MPI_Type_free(&matrix);
}

/* Works on this rank alone. */
static void reduce_local(void)
{
	float a[3] = {1, 2, 3}, b[3] = {10, -20, 30};

	MPI_Reduce_local(a, b, 3, MPI_FLOAT, MPI_SUM);
	CHECK(b[0] == 11 && b[1] == -18 && b[2] == 33, "Reduce_local: %g %g %g", b[0], b[1], b[2]);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	run_cases(MPI_COMM_WORLD);
	run_cases(MPI_COMM_SELF);
	derived_type();
	mixed_types();
	user_operators();
	reduce_local();
	return app_done();
}
