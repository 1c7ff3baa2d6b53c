/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_step STEPS MS CALLS BYTES: steps of MS ms of work and CALLS all-reduces of BYTES of floats, as a training makes
 * them; rank 0 prints the median `step` in ms. Work is counted in processor time: it does not shrink where a tool
 * takes some.
 */
#include <mpi.h>

#include "bench.h"

static void work(double ms)
{
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)(ms * 1e6);

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

int main(int argc, char **argv)
{
	int steps = argc > 4 ? atoi(argv[1]) : 0, calls = argc > 4 ? atoi(argv[3]) : 0, rank;
	size_t bytes = argc > 4 ? (size_t)atol(argv[4]) : 0;
	float *in = calloc(1, bytes + 4), *out = calloc(1, bytes + 4);
	double *t = calloc((size_t)steps + 1, sizeof(*t));

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = -1; i < steps; i++) {
		uint64_t t0 = now();

		work(atof(argv[2]));
		for (int k = 0; k < calls; k++)
			MPI_Allreduce(
				in, out, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		if (i >= 0)
			t[i] = (double)(now() - t0) * 1e-6;
	}
	if (rank == 0 && steps)
		printf("step %.3f\n", median(t, (size_t)steps));
	MPI_Finalize();
	return 0;
}
