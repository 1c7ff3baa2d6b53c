/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A field in parts, one to a rank, that exchange their edges in each step; then two sums, a broadcast, an exchange of pairs. One rank goes its own way once: a
 * branch that makes its calls from lines of its own. A job that stands is ended by a signal.
 *
 *	mpi_halo WAY [RANK (2) [STEP (7) [STEPS (12)]]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELLS 256

static double u[CELLS + 2], v[CELLS + 2];
static int rank, size;

static void exchange(void)
{
	int below = rank - 1, above = rank + 1, n = 0;
	MPI_Request r[4];
	MPI_Status status[4];

	if (below >= 0) {
		MPI_Irecv(&u[0], 1, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &r[n++]);
		MPI_Isend(&u[1], 1, MPI_DOUBLE, below, 2, MPI_COMM_WORLD, &r[n++]);
	}
	if (above < size) {
		MPI_Irecv(&u[CELLS + 1], 1, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, &r[n++]);
		MPI_Isend(&u[CELLS], 1, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &r[n++]);
	}
	MPI_Waitall(n, r, status);
}

static void smooth(void)
{
	for (int i = 1; i <= CELLS; i++)
		v[i] = 0.5 * (u[i - 1] + u[i + 1]);
	memcpy(u + 1, v + 1, CELLS * sizeof(*u));
}

static double residual(double x)
{
	double s;

	MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return s;
}

static double time_step(double x)
{
	double s;

	MPI_Allreduce(&x, &s, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	return s;
}

static double control(double x)
{
	MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return x;
}

static void trade(int tag)
{
	MPI_Sendrecv(u, CELLS, MPI_DOUBLE, rank ^ 1, tag, v, CELLS, MPI_DOUBLE, rank ^ 1, 3,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The step as it should not be. False: the way is none of these. */
static int go_astray(const char *way)
{
	if (strcmp(way, "sums_swapped") == 0) {
		exchange();
		smooth();
		time_step(u[7]);
		residual(u[5]);
		control(1);
	} else if (strcmp(way, "kinds_swapped") == 0) {
		exchange();
		smooth();
		control(1);
		time_step(u[7]);
		residual(u[5]);
	} else if (strcmp(way, "exchange_late") == 0) {
		residual(u[5]);
		exchange();
		smooth();
		time_step(u[7]);
		control(1);
	} else if (strcmp(way, "sum_left_out") == 0) {
		exchange();
		smooth();
		time_step(u[7]);
		control(1);
	} else if (strcmp(way, "sum_twice") == 0) {
		exchange();
		smooth();
		residual(u[5]);
		residual(u[5]);
		time_step(u[7]);
		control(1);
	} else {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int who = argc > 2 ? atoi(argv[2]) : 2, when = argc > 3 ? atoi(argv[3]) : 7;
	int steps = argc > 4 ? atoi(argv[4]) : 12;
	double r = 0, t = 0, c = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < CELLS + 2; i++)
		u[i] = rank + i * 1e-3;
	for (int step = 0; step < steps; step++) {
		int astray = rank == who && step == when;

		if (astray)
			alarm(strcmp(way, "trade_asleep") == 0 ? 60 : 4);
		if (!astray || !go_astray(way)) {
			exchange();
			smooth();
			r = residual(u[5]);
			t = time_step(u[7]);
			c = control(t);
		}
		if (astray && strcmp(way, "trade_asleep") == 0)
			pause();
		if (astray && strcmp(way, "other_tag") == 0)
			trade(4);
		else if (!astray || strcmp(way, "trade_left_out") != 0)
			trade(3);
		if (astray && strcmp(way, "sum_at_the_end") == 0)
			r += residual(u[3]);
		if (astray && strcmp(way, "exchange_at_the_end") == 0)
			exchange();
		MPI_Pcontrol(2);
	}
	if (rank == 0)
		printf("%g %g %g\n", r, t, c);
	MPI_Finalize();
	return 0;
}
