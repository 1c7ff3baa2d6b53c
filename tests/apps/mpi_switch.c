/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps for as long as a file is not there: mpi_switch FILE [MS], or a number of steps in place of FILE. Each step sums
 * up with MPI_Allreduce, rank 0 says by MPI_Bcast whether it goes on, neighbours exchange a message, and MPI_Pcontrol(2) ends
 * it; it takes MS (5) milliseconds. Rank 0 prints the number of steps, and whether each sum was right.
 */
#include "app.h"

#include <time.h>
#include <unistd.h>

static int is_over(const char *until, long step)
{
	char *end;
	long n = strtol(until, &end, 10);

	return *end ? access(until, F_OK) == 0 : step >= n;
}

int main(int argc, char **argv)
{
	long ms = argc > 2 ? atol(argv[2]) : 5, step = 0, wrong = 0;
	int over;

	app_init(&argc, &argv);
	if (argc < 2) {
		fprintf(stderr, "usage: mpi_switch FILE|STEPS [MS]\n");
		MPI_Finalize();
		return 2;
	}
	do {
		double in = app_rank + (double)step, sum = 0, from = -1;
		int next = (app_rank + 1) % app_size, last = (app_rank + app_size - 1) % app_size;

		MPI_Allreduce(&in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		wrong += sum != (double)step * app_size + app_size * (app_size - 1) / 2.0;
		MPI_Sendrecv(&in, 1, MPI_DOUBLE, next, 7, &from, 1, MPI_DOUBLE, last, 7,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		wrong += from != last + (double)step;
		nanosleep(&(struct timespec){.tv_nsec = ms % 1000 * 1000000, .tv_sec = ms / 1000},
			NULL);
		over = app_rank == 0 && is_over(argv[1], step + 1);
		MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Pcontrol(2);
		step++;
	} while (!over);
	if (app_rank == 0)
		printf("%ld steps, %ld wrong\n", step, wrong);
	MPI_Finalize();
	return wrong != 0;
}
