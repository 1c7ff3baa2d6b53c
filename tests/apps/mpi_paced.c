/* SPDX-License-Identifier: Apache-2.0 */
/* STEPS steps of MS milliseconds each: mpi_paced STEPS MS. One all-reduce each; rank 0 prints the sum of all. */
#include "app.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 100, ms = argc > 2 ? atoi(argv[2]) : 10, rank;
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < steps; i++) {
		double x = rank + i, all;

		MPI_Allreduce(&x, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		sum += all;
		MPI_Pcontrol(2);
		usleep(1000u * (unsigned)ms);
	}
	if (rank == 0)
		printf("%.0f\n", sum);
	MPI_Finalize();
	return 0;
}
