/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A storm of small calls, then a fixed number of steps: mpi_thinned FILE STEPS [RANK]. The storm lasts until FILE is
 * there. Then RANK, if it is given, puts a NaN into the third reduction of the middle step. A step has four small
 * reductions and a large one, a message to the neighbour and a barrier; a broadcast by which rank 0 says whether the
 * storm goes on, and MPI_Pcontrol(2) end it. Prints a digest of the results after the storm.
 */
#include "app.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#define SMALL 4
#define LARGE 16384 /* 128 KiB: the values of so large a tensor are given up before calls are */

static double large[LARGE], sum[LARGE];

static double element(long step, int i)
{
	return (double)((step * 37 + i * 11 + app_rank * 5) % 97) / 8 + 1;
}

static void run_step(long step, int nan_rank)
{
	int next = (app_rank + 1) % app_size, last = (app_rank + app_size - 1) % app_size;
	double in, out = 0, from = 0;

	for (int i = 0; i < SMALL; i++) {
		in = i == 2 && app_rank == nan_rank ? NAN : element(step, i);
		MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		app_mix(&out, sizeof(out));
	}
	for (int i = 0; i < LARGE; i++)
		large[i] = element(step, i);
	MPI_Allreduce(large, sum, LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	app_mix(sum, sizeof(sum));
	in = element(step, app_rank);
	MPI_Sendrecv(&in, 1, MPI_DOUBLE, next, 7, &from, 1, MPI_DOUBLE, last, 7, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	app_mix(&from, sizeof(from));
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int storm = 1, nan_rank;
	long steps;

	app_init(&argc, &argv);
	if (argc < 3) {
		fprintf(stderr, "usage: mpi_thinned FILE STEPS [RANK]\n");
		MPI_Finalize();
		return 2;
	}
	steps = atol(argv[2]);
	nan_rank = argc > 3 ? atoi(argv[3]) : -1;
	for (long step = 0; storm; step++) {
		storm = access(argv[1], F_OK) != 0;
		run_step(step, -1);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		MPI_Bcast(&storm, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Pcontrol(2);
	}
	app_digest = 0;
	for (long step = 0; step < steps; step++) {
		run_step(step, step == steps / 2 ? nan_rank : -1);
		MPI_Bcast(&storm, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Pcontrol(2);
	}
	app_done();
}
