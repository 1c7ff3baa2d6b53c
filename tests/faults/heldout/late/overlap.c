/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subspace iteration: the next rank's rows are broadcast while this rank multiplies with the last ones, and norms are reduced while it
 * computes what they do not concern. All of it without a blocking collective, driven by MPI_Testany. Column sums check the product.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 12, ROOM = COLUMNS * 2 + 64 };

static int rows;
static double *own, *product, *panels[2];

/* A symmetric matrix with a positive diagonal. */
static double get_entry(int i, int j)
{
	return (i == j ? 2 + i % 7 : 0) + 0.2 * cos(0.3 * i) * cos(0.3 * j);
}

static void poke(int count, MPI_Request *requests)
{
	int which, there;

	MPI_Testany(count, requests, &which, &there, MPI_STATUS_IGNORE);
}

static void multiply(int from, const double *panel, MPI_Request *next)
{
	for (int i = 0; i < rows; i++) {
		if (i % 16 == 0)
			poke(1, next);
		for (int k = 0; k < rows; k++) {
			double a = get_entry(rank * rows + i, from * rows + k);

			for (int j = 0; j < COLUMNS; j++)
				product[i * COLUMNS + j] += a * panel[k * COLUMNS + j];
		}
	}
}

static void start_panel(int root, MPI_Request *request)
{
	double *panel = panels[root % 2];
	int size = rows * COLUMNS;

	if (rank == root)
		memcpy(panel, own, (size_t)size * sizeof(double));
	CALL_("panel", rank == root ? panel : NULL, size, MPI_DOUBLE, MPI_OP_NULL, root, -1,
		MPI_Ibcast(panel, c.n, c.type, c.peer, MPI_COMM_WORLD, request));
}

static void apply_matrix(void)
{
	MPI_Request now = MPI_REQUEST_NULL, next = MPI_REQUEST_NULL;

	memset(product, 0, (size_t)rows * COLUMNS * sizeof(double));
	start_panel(0, &now);
	for (int k = 0; k < ranks; k++) {
		MPI_Wait(&now, MPI_STATUS_IGNORE);
		if (k + 1 < ranks)
			start_panel(k + 1, &next);
		PASS("multiply");
		multiply(k, panels[k % 2], &next);
		now = next;
		next = MPI_REQUEST_NULL;
	}
}

static void add_columns(const double *m, double *sums, double power)
{
	memset(sums, 0, COLUMNS * sizeof(double));
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < COLUMNS; j++)
			sums[j] += pow(fabs(m[i * COLUMNS + j]), power) *
				   (power == 1 && m[i * COLUMNS + j] < 0 ? -1 : 1);
}

/* What the columns of the product must add up to: those of the matrix times the own rows. */
static double predict_sum(void)
{
	double sum = 0;

	for (int k = 0; k < rows; k++) {
		double column = 0, x = 0;

		for (int i = 0; i < rows * ranks; i++)
			column += get_entry(i, rank * rows + k);
		for (int j = 0; j < COLUMNS; j++)
			x += own[k * COLUMNS + j];
		sum += column * x;
	}
	return sum;
}

static double get_total(const double *sums)
{
	double total = 0;

	for (int j = 0; j < COLUMNS; j++)
		total += sums[j];
	return total;
}

int main(int argc, char **argv)
{
	double squares[ROOM], norms[ROOM] = {0}, sums[ROOM], pair[ROOM] = {0}, both[ROOM] = {0};
	MPI_Request r[2];

	start_program(argc, argv);
	rows = (int)get_option("size", 250) / 5;
	own = make_array(rows * COLUMNS);
	product = make_array(rows * COLUMNS);
	panels[0] = make_array(rows * COLUMNS);
	panels[1] = make_array(rows * COLUMNS);
	for (int i = 0; i < rows * COLUMNS; i++)
		own[i] = draw() - 0.4;
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		r[0] = r[1] = MPI_REQUEST_NULL;
		apply_matrix();
		add_columns(product, squares, 2);
		PASS("norms");
		IALLREDUCE("norms", squares, norms, COLUMNS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
			&r[0]);
		add_columns(product, sums, 1);
		poke(2, r);
		pair[0] = get_total(sums) - predict_sum();
		pair[1] = fabs(get_total(sums));
		IALLREDUCE("check", pair, both, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[1]);
		for (int done = 0, which = 0, there; done < 2 && which != MPI_UNDEFINED;
			done += there)
			MPI_Testany(2, r, &which, &there, MPI_STATUS_IGNORE);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		if (!(fabs(both[0]) <= 1e-9 * both[1] + 1e-9))
			fprintf(stderr, "step %d: the product's sum is off by %g of %g\n", step,
				both[0], both[1]);
		for (int i = 0; i < rows * COLUMNS; i++)
			own[i] = product[i] / (sqrt(norms[i % COLUMNS]) + 1e-300);
		end_step();
	}
	end_program();
	return 0;
}
