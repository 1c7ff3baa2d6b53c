/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training that marks no step: mpi_period ITERATIONS EVERY CALLS. Set-up calls, then iterations of four layers' exchanges
 * and the gradients, and after each EVERY-th (0: never) an evaluation of CALLS calls. It says itself how many iterations it
 * made, of how many calls, and what came besides. mpi_period ITERATIONS counts|types|comms: all calls are of one function, and
 * the second of four differs from the others in that alone.
 */
#include <stdbool.h>

#include "app.h"

#define LAYERS 4

static float in[64], out[64];

static void all_reduce(int n)
{
	MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	app_mix(out, (size_t)n * sizeof(*out));
}

int main(int argc, char **argv)
{
	int iterations = argc > 1 ? atoi(argv[1]) : 30, every = argc > 2 ? atoi(argv[2]) : 0;
	int calls = argc > 3 ? atoi(argv[3]) : 1, besides = 0;
	const char *only = argc == 3 ? argv[2] : NULL;

	app_init(&argc, &argv);
	for (int i = 0; i < 64; i++)
		in[i] = (float)(i + app_rank);
	for (int i = 0; i < 3; i++)
		MPI_Bcast(in, 8 + i, MPI_FLOAT, 0, MPI_COMM_WORLD);
	for (int i = 0; only && i < 4 * iterations; i++) {
		bool second = i % 4 == 1;

		MPI_Allreduce(in, out, second && *only == 'c' && only[2] == 'u' ? 7 : 8,
			second && *only == 't' ? MPI_INT : MPI_FLOAT, MPI_SUM,
			second && *only == 'c' && only[2] == 'm' ? MPI_COMM_SELF : MPI_COMM_WORLD);
		app_mix(out, 7 * sizeof(*out));
	}
	for (int i = 0; !only && i < iterations; i++) {
		MPI_Request request;

		for (int layer = 0; layer < LAYERS; layer++)
			MPI_Allgather(in, 1, MPI_FLOAT, out, 1, MPI_FLOAT, MPI_COMM_WORLD);
		/* Completed after a call that is started after it. */
		MPI_Iallreduce(in, out, 40, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		all_reduce(20);
		all_reduce(1);
		for (int k = 0; every && (i + 1) % every == 0 && k < calls; k++, besides++)
			k % 3 ? all_reduce(1) : all_reduce(2);
	}
	app_say("%d iterations of %d calls, %d besides", iterations, only ? 4 : LAYERS + 4,
		besides);
	return app_done();
}
