/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces of floats in the loop of OSU's benchmark: each call is timed by itself, a barrier follows. Of each size
 * rank 0 prints a line
 *
 *	SIZE MEAN P50 P99 P999 MAX JOB OTHER CALLS
 *
 * in us: the time of a call (of the ranks the longest, for the others wait for it), the processor time that a call and
 * its barrier take the calling thread, and the other threads of the process, files written (libprobe's writer).
 *
 *	mpi_latency [-n CALLS (20000)] [-t SECONDS (1)] [SIZE ...]
 *
 * -n, -t: calls of each size, and the most seconds.
 */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "preload/probe.h"

#define MOST (64l << 20)
enum { WARM = 200, LOOK = 50 };

static long most_calls = 20000;
static double most_seconds = 1;
static float *in, *out;
static double *t, *longest;
static int rank;

static void one_call(long size)
{
	MPI_Allreduce(in, out, (int)(size / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void flush_rows(void)
{
	if (probe_flush)
		probe_flush();
}

/* Processor time of this thread, and of all others. */
static void cpu_times(double *own, double *others)
{
	*own = (double)now_ns(CLOCK_THREAD_CPUTIME_ID);
	*others = (double)now_ns(CLOCK_PROCESS_CPUTIME_ID) - *own;
}

static void measure_size(long size)
{
	double own[2], others[2], flushed, late, sum = 0;
	uint64_t until;
	long n = 0;
	int more = 1;

	for (int i = 0; i < (size > 65536 ? WARM / 10 : WARM); i++) {
		one_call(size);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	flush_rows();
	MPI_Barrier(MPI_COMM_WORLD);
	until = now() + (uint64_t)(most_seconds * 1e9);
	cpu_times(&own[0], &others[0]);
	while (more && n < most_calls) {
		for (int i = 0; i < LOOK && n < most_calls; i++) {
			uint64_t t0 = now();

			one_call(size);
			t[n++] = (double)(now() - t0) / 1000;
			MPI_Barrier(MPI_COMM_WORLD);
		}
		more = now() < until;
		MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	cpu_times(&own[1], &others[1]);
	/* The rest of the writing is done by this thread: it counts as the writer's. */
	flush_rows();
	cpu_times(&flushed, &late);
	others[1] = late + flushed - own[1];
	MPI_Reduce(t, longest, (int)n, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank)
		return;
	for (long i = 0; i < n; i++)
		sum += longest[i];
	printf("%ld %.3f %.3f", size, sum / (double)n, quantile(longest, (size_t)n, 0.5));
	printf(" %.3f %.3f", quantile(longest, (size_t)n, 0.99),
		quantile(longest, (size_t)n, 0.999));
	printf(" %.3f %.3f %.3f %ld\n", quantile(longest, (size_t)n, 1),
		(own[1] - own[0]) / 1000 / (double)n, (others[1] - others[0]) / 1000 / (double)n,
		n);
}

int main(int argc, char **argv)
{
	static const long sizes[] = {8, 1024, 16384, 65536, 1 << 20};
	int c;

	while ((c = getopt(argc, argv, "n:t:")) != -1) {
		if (c == 'n')
			most_calls = atol(optarg);
		else if (c == 't')
			most_seconds = atof(optarg);
		else
			return 2;
	}
	if (most_calls < 1)
		return 2;
	in = malloc(MOST);
	out = malloc(MOST);
	t = malloc((size_t)most_calls * sizeof(*t));
	longest = malloc((size_t)most_calls * sizeof(*longest));
	if (!in || !out || !t || !longest)
		return 2;
	for (long i = 0; i < MOST / 4; i++)
		in[i] = (float)(i % 1000) - 500;
	memset(out, 0, MOST);
	memset(t, 0, (size_t)most_calls * sizeof(*t));
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (optind == argc)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			measure_size(sizes[i]);
	for (; optind < argc; optind++)
		measure_size(atol(argv[optind]) & (MOST - 4));
	MPI_Finalize();
	return 0;
}
