/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on some MiB of several types, and on two pieces of such a size: mpi_big [FILE]. With FILE each rank stays
 * after the last of them until that file exists.
 */
#include "app.h"

#include <unistd.h>

enum { N = 700001 };

static double big[2 * N], back[2 * N];

#define REDUCE(type, mpi_type, value)                                                  \
	do {                                                                           \
		type *in = (type *)big, *out = (type *)back;                           \
                                                                                       \
		for (int i = 0; i < N; i++)                                            \
			in[i] = (type)(value);                                         \
		MPI_Allreduce(in, out, N, mpi_type, MPI_SUM, MPI_COMM_WORLD);          \
		MPI_Bcast(in, N, mpi_type, 0, MPI_COMM_WORLD);                         \
		for (int r = app_size - 1; r >= 0; r--) {                              \
			int i = (r * 7919 + 13) % N, rank = app_rank;                  \
			type want = 0;                                                 \
                                                                                       \
			for (app_rank = 0; app_rank < app_size; app_rank++)            \
				want = (type)(want + (type)(value));                   \
			app_rank = rank;                                               \
			CHECK(out[i] == want, "[%d] is %g, not %g", i, (double)out[i], \
				(double)want);                                         \
		}                                                                      \
		app_mix(out, N * sizeof(type));                                        \
	} while (0)

int main(int argc, char **argv)
{
	int counts[2], displs[2];

	app_init(&argc, &argv);
	app_need_ranks(2);
	REDUCE(double, MPI_DOUBLE, (i % 1009 - 500) * 0x1p-7 * (1 + app_rank));
	REDUCE(float, MPI_FLOAT, (i % 257 - 128) * 0x1p-5f * (float)(1 + app_rank));
	REDUCE(int, MPI_INT, i % 10007 - 5000 + app_rank);
	REDUCE(long, MPI_LONG, (long)i *i - 1000000 * app_rank);
	REDUCE(signed char, MPI_SIGNED_CHAR, i % 29 - 14 + app_rank);
	for (int i = 0; i < N; i++)
		big[i] = i * (app_rank + 1);
	for (int r = 0; r < 2; r++) {
		counts[r] = N - 3 * r;
		displs[r] = r * N;
	}
	if (app_size == 2) {
		MPI_Allgatherv(big, counts[app_rank], MPI_DOUBLE, back, counts, displs, MPI_DOUBLE,
			MPI_COMM_WORLD);
		CHECK(back[N + 5] == 10, "element 5 of rank 1 is %g", back[N + 5]);
		app_mix(back, sizeof(back));
	}
	while (argc > 1 && access(argv[1], F_OK) < 0)
		usleep(20000);
	return app_done();
}
