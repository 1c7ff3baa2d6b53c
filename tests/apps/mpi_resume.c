/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training that goes on from a checkpoint: mpi_resume FIRST STEPS [KILL]. Steps FIRST to STEPS - 1; step s makes 1 + s % 3
 * calls of MPI_Allreduce, of which call k is given four floats from 100 s + 10 k on, and one of MPI_Reduce of 100 s + 90.
 * With KILL all ranks are killed in that step, after its first call.
 */
#include <signal.h>

#include "app.h"

long probe_step(void) __attribute__((weak));

static void reduce_all(int step, int k)
{
	float in[4], out[4];

	for (int i = 0; i < 4; i++)
		in[i] = (float)(100 * step + 10 * k + i);
	if (k < 9)
		MPI_Allreduce(in, out, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	else
		MPI_Reduce(in, out, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (k < 9 || app_rank == 0)
		app_mix(out, k < 9 ? sizeof(out) : sizeof(*out));
}

int main(int argc, char **argv)
{
	int first = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 10;
	int at = argc > 3 ? atoi(argv[3]) : -1;

	app_init(&argc, &argv);
	for (int step = first; step < steps; step++) {
		for (int k = 0; k < 1 + step % 3; k++) {
			reduce_all(step, k);
			if (step == at)
				raise(SIGKILL);
		}
		reduce_all(step, 9);
		if (probe_step)
			probe_step();
	}
	return app_done();
}
