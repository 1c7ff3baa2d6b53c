/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduces of 8 bytes in sequence for the given number of seconds; rank 0 prints how many. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	int rank;
	long n = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);

	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	for (double on = 1, all = 1; all > 0; n++) {
		MPI_Allreduce(&on, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
		on = now() < end;
	}

	double t0 = now();

	MPI_Finalize();
	if (rank == 0)
		printf("%ld calls\n", n);
	fprintf(stderr, "finalize %.3f s\n", now() - t0);
	return 0;
}
