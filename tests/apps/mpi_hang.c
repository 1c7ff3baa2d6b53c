/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hangs, until it is killed: mpi_hang HOW [CALLS]. After CALLS (100) calls of MPI_Allreduce of 10 floats on all
 * ranks, the last rank
 *
 *   missing    makes no call any more; the others are in MPI_Allreduce
 *   heavy      the same, and each rank holds 400 MB, which takes a while to give back
 *   order      is in MPI_Bcast, the others are in MPI_Barrier, on the same communicator
 *   groups     is in MPI_Allreduce on one communicator, the others are on another one of the same members
 *   recv       waits in MPI_Recv for a message that rank 0 never sends; the others are in MPI_Barrier
 *   wait       waits in MPI_Wait for such a message; the others are in MPI_Barrier
 *   probe      waits in MPI_Probe for such a message; the others are in MPI_Barrier
 *   spin       polls such a request with MPI_Test; the others are in MPI_Barrier
 *
 * Each rank says on stdout what it does next, and then does not come back.
 */
#include "app.h"
#include <unistd.h>

static float in[10], out[10];

static void stuck(const char *in_what)
{
	app_say("next: %s", in_what);
}

static int hang(const char *how, MPI_Comm first, MPI_Comm second)
{
	int last = app_rank == app_size - 1, done = 0;
	MPI_Request req;

	if (!strcmp(how, "missing") || !strcmp(how, "heavy")) {
		static volatile char held[400000000];

		for (size_t i = 0; !strcmp(how, "heavy") && i < sizeof(held); i += 4096)
			held[i] = 1;
		if (!strcmp(how, "heavy"))
			MPI_Barrier(first);
		stuck(last ? "nothing" : "MPI_Allreduce");
		while (last)
			pause();
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, first);
	} else if (!strcmp(how, "order")) {
		/* Larger than what an MPI sends without being asked, so that the root does not get through. */
		static float big[1000000];

		stuck(last ? "MPI_Bcast" : "MPI_Barrier");
		if (last)
			MPI_Bcast(big, 1000000, MPI_FLOAT, last ? app_rank : 0, first);
		else
			MPI_Barrier(first);
	} else if (!strcmp(how, "groups")) {
		stuck(last ? "MPI_Allreduce on the second" : "MPI_Allreduce on the first");
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, last ? second : first);
	} else if (!last && (!strcmp(how, "recv") || !strcmp(how, "probe") ||
				    !strcmp(how, "wait") || !strcmp(how, "spin"))) {
		stuck("MPI_Barrier");
		MPI_Barrier(first);
	} else if (!strcmp(how, "recv")) {
		stuck("MPI_Recv");
		MPI_Recv(in, 10, MPI_FLOAT, 0, 99, first, MPI_STATUS_IGNORE);
	} else if (!strcmp(how, "probe")) {
		stuck("MPI_Probe");
		MPI_Probe(0, 99, first, MPI_STATUS_IGNORE);
	} else if (!strcmp(how, "wait")) {
		MPI_Irecv(in, 10, MPI_FLOAT, 0, 99, first, &req);
		stuck("MPI_Wait");
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	} else if (!strcmp(how, "spin")) {
		MPI_Irecv(in, 10, MPI_FLOAT, 0, 99, first, &req);
		stuck("MPI_Test");
		while (!done) {
			MPI_Test(&req, &done, MPI_STATUS_IGNORE);
			usleep(1000);
		}
	} else {
		fprintf(stderr, "mpi_hang: I know no such hang as \"%s\"\n", how);
		return 2;
	}
	app_fail(__FILE__, __LINE__, "%s came back", how);
}

int main(int argc, char **argv)
{
	long calls = argc > 2 ? atol(argv[2]) : 100;
	MPI_Comm first, second;
	int rc;

	app_init(&argc, &argv);
	app_need_ranks(2);
	MPI_Comm_dup(MPI_COMM_WORLD, &first);
	MPI_Comm_dup(MPI_COMM_WORLD, &second);
	for (long k = 0; k < calls; k++)
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, first);
	rc = hang(argc > 1 ? argv[1] : "", first, second);
	MPI_Finalize();
	return rc;
}
