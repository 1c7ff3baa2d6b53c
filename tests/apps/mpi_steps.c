/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop that says where its steps end: mpi_steps HOW [STEPS]. Step s makes s % 3 calls of MPI_Allreduce and
 * then one of MPI_Reduce. HOW:
 *
 *   none       nothing
 *   api        probe_step(), a weak symbol: without libprobe it is not there, and the program runs all the same
 *   pcontrol   MPI_Pcontrol(2); steps 3 and 4 lie between MPI_Pcontrol(0) and MPI_Pcontrol(1)
 *   both       MPI_Pcontrol(2), and from step 5 on probe_step() before it
 *
 * Built against no header of libprobe, as users' programs are.
 */
#include "app.h"

long probe_step(void) __attribute__((weak));

static int is(const char *how, const char *what)
{
	return strcmp(how, what) == 0;
}

static void end_step(const char *how, int step)
{
	if ((is(how, "api") || (is(how, "both") && step >= 5)) && probe_step)
		probe_step();
	if (is(how, "pcontrol") || is(how, "both"))
		MPI_Pcontrol(2);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	int steps = argc > 2 ? atoi(argv[2]) : 10;
	float in[10], out[10];

	app_init(&argc, &argv);
	for (int step = 0; step < steps; step++) {
		if (is(how, "pcontrol") && (step == 3 || step == 5))
			MPI_Pcontrol(step == 5);
		for (int i = 0; i < 10; i++)
			in[i] = (float)(step + i + app_rank);
		for (int k = 0; k < step % 3; k++) {
			MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
			app_mix(out, sizeof(out));
		}
		MPI_Reduce(in, out, 10, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
		if (app_rank == 0)
			app_mix(out, sizeof(out));
		end_step(how, step);
	}
	return app_done();
}
