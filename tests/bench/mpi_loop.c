/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop of all-reduces of two floats, for comparisons with other tools (peers.sh): mpi_loop [CALLS (50000)] prints
 *
 *	thread NS process NS finalize MS finalize_cpu MS
 *
 * processor time of a call: of the calling thread, and of the whole process; MPI_Finalize: time, and processor time.
 */
#include <mpi.h>

#include "bench.h"

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 50000;
	float in[2] = {1, 2}, out[2];
	uint64_t thread, process, wall, cpu;

	MPI_Init(&argc, &argv);
	for (long i = 0; i < 1000; i++)
		MPI_Allreduce(in, out, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	thread = now_ns(CLOCK_THREAD_CPUTIME_ID);
	process = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < n; i++) {
		in[0] = (float)i * 0.37f;
		MPI_Allreduce(in, out, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	}
	thread = now_ns(CLOCK_THREAD_CPUTIME_ID) - thread;
	process = now_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
	wall = now();
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	MPI_Finalize();
	printf("thread %.1f process %.1f finalize %.3f finalize_cpu %.3f\n",
		(double)thread / (double)n, (double)process / (double)n,
		(double)(now() - wall) / 1e6,
		(double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e6);
	return 0;
}
