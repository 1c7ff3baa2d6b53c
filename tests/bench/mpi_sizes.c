/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces of floats of the sizes of OSU's benchmark, 8 B to 64 MiB in powers of two: rank 0 prints lines
 * `SIZE NS`, the median time of a call over five parts.
 */
#include <mpi.h>
#include <string.h>

#include "bench.h"

#define MOST (64l << 20)
enum { PARTS = 5 };

int main(int argc, char **argv)
{
	float *in = malloc(MOST), *out = malloc(MOST);
	double t[PARTS];
	int rank;

	if (!in || !out)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = 0; i < MOST / 4; i++)
		in[i] = (float)(i % 1000) - 500;
	memset(out, 0, MOST);
	for (long size = 8; size <= MOST; size *= 2) {
		long n = (1l << 20) / size;

		n = n < 1 ? 1 : n > 100 ? 100 : n;
		for (int p = -1; p < PARTS; p++) {
			uint64_t t0 = now();

			for (long i = 0; i < n; i++)
				MPI_Allreduce(in, out, (int)(size / 4), MPI_FLOAT, MPI_SUM,
					MPI_COMM_WORLD);
			if (p >= 0)
				t[p] = (double)(now() - t0) / (double)n;
		}
		if (rank == 0)
			printf("%ld %.0f\n", size, median(t, PARTS));
	}
	MPI_Finalize();
	return 0;
}
