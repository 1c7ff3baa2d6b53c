/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs: mpi_loop [CALLS [BYTES [KIND]]]: CALLS (100000) calls on BYTES (4) of floats in a tight loop,
 * in ten parts; KIND is allreduce, bcast, barrier, sendrecv or iallreduce (with MPI_Wait). Rank 0 prints the median
 * and the fastest part, in nanoseconds a call. With one rank an MPI does next to nothing: that shows what a tool adds.
 */
#include "app.h"

enum { PARTS = 10 };

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void call(char kind, float *in, float *out, int n, int peer)
{
	MPI_Request req;

	switch (kind) {
	case 'a':
		MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		break;
	case 'b':
		MPI_Bcast(in, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
		break;
	case 's':
		MPI_Sendrecv(in, n, MPI_FLOAT, peer, 0, out, n, MPI_FLOAT, peer, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		break;
	case 'i':
		MPI_Iallreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &req);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		break;
	default:
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 100000, bytes = argc > 2 ? atol(argv[2]) : 4;
	const char *name = argc > 3 ? argv[3] : "allreduce";
	char kind = !strcmp(name, "barrier") ? 'x' : name[0];
	double part[PARTS];
	float *in, *out;
	int n = (int)(bytes / 4), peer;

	app_init(&argc, &argv);
	peer = app_rank ^ 1;
	if (peer >= app_size)
		peer = app_rank;
	in = malloc((size_t)bytes + 4);
	out = malloc((size_t)bytes + 4);
	if (!in || !out || calls < PARTS || bytes < 0 || !strchr("abxsi", kind)) {
		fprintf(stderr, "usage: mpi_loop [CALLS [BYTES "
				"[allreduce|bcast|barrier|sendrecv|iallreduce]]]\n");
		MPI_Finalize();
		return 2;
	}
	for (int i = 0; i < n; i++)
		in[i] = (float)i + 0.5f;
	for (long k = 0; k < calls / PARTS; k++) /* warm */
		call(kind, in, out, n, peer);
	for (int p = 0; p < PARTS; p++) {
		double start;

		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		for (long k = 0; k < calls / PARTS; k++)
			call(kind, in, out, n, peer);
		part[p] = (MPI_Wtime() - start) * 1e9 / (double)(calls / PARTS);
	}
	qsort(part, PARTS, sizeof(part[0]), by_size);
	if (app_rank == 0)
		printf("%s, %d ranks, %d floats: median %.0f ns, fastest %.0f ns a call\n", name,
			app_size, n, part[PARTS / 2], part[0]);
	free(in);
	free(out);
	MPI_Finalize();
	return 0;
}
