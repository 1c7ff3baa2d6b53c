/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_scalars FILE: each rank writes `step name value` into FILE.<rank>: by MPI_Wtime, how long its steps took and how long it
 * was blocked in MPI in them. Rank 1 comes late to every collective.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#define STEPS 6
#define LATE_US 50000

static double timed_call(int step, int rank)
{
	double in = 1, out[2], begin = MPI_Wtime();
	MPI_Status status[2];
	MPI_Request r[2];

	if (step % 2) {
		MPI_Allreduce(&in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	} else {
		MPI_Irecv(out, 1, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&in, 1, MPI_DOUBLE, !rank, 0, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, status);
	}
	return MPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
	double before = 0, end, took;
	char path[4096];
	int rank;
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc < 2)
		return 1;
	snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
	f = fopen(path, "w");
	if (!f)
		return 1;
	for (int step = 0; step < STEPS; step++) {
		if (rank == 1)
			usleep(LATE_US);
		took = timed_call(step, rank);
		MPI_Pcontrol(2);
		end = MPI_Wtime();
		if (step) {
			fprintf(f, "%d comm-time %.9g\n", step, took * 1e3);
			fprintf(f, "%d iteration-time %.9g\n", step, (end - before) * 1e3);
		}
		before = end;
	}
	fclose(f);
	MPI_Finalize();
	return 0;
}
