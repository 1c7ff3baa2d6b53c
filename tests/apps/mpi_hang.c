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
 *   dup, split, split_type, create, cart, merge, inter, group
 *              makes no call any more; the others make a communicator (merge: of an intercommunicator; inter: such
 *              a one; group: by MPI_Comm_create_group)
 *   across, over
 *              waits on an intercommunicator of rank 0 | the others: in MPI_Recv for a message that rank 0 never sends
 *              (across), or makes no call any more and all others are in MPI_Allreduce (over)
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

/* A new communicator, for which the last rank never comes. 0: there is no such way. */
static int make(const char *how, MPI_Comm first)
{
	int dims = app_size, periodic = 0, leader = app_rank == 0;
	MPI_Comm made, half, between;
	MPI_Group group;

	if (!strstr(" dup split split_type create cart merge inter group across over ", how))
		return 0;
	MPI_Comm_group(first, &group);
	MPI_Comm_split(first, !leader, 0, &half);
	MPI_Intercomm_create(half, 0, first, leader ? 1 : 0, 6, &between);
	/* Number 0 of the other group is another rank than number 0 of its own. */
	for (int i = 0; i < 3 && (!strcmp(how, "across") || !strcmp(how, "over")); i++)
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, between);
	stuck(how);
	if (!strcmp(how, "across")) {
		/* Rank 0 awaits the last one, whose number there is app_size - 2. */
		if (leader)
			MPI_Recv(in, 10, MPI_FLOAT, app_size - 2, 99, between, MPI_STATUS_IGNORE);
		else if (app_rank == app_size - 1)
			MPI_Recv(in, 10, MPI_FLOAT, 0, 99, between, MPI_STATUS_IGNORE);
		else
			MPI_Barrier(first);
		return 1;
	}
	while (app_rank == app_size - 1)
		pause();
	if (!strcmp(how, "dup"))
		MPI_Comm_dup(first, &made);
	else if (!strcmp(how, "split"))
		MPI_Comm_split(first, app_rank % 2, 0, &made);
	else if (!strcmp(how, "split_type"))
		MPI_Comm_split_type(first, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
	else if (!strcmp(how, "create"))
		MPI_Comm_create(first, group, &made);
	else if (!strcmp(how, "cart"))
		MPI_Cart_create(first, 1, &dims, &periodic, 0, &made);
	else if (!strcmp(how, "merge"))
		MPI_Intercomm_merge(between, leader, &made);
	else if (!strcmp(how, "inter"))
		MPI_Intercomm_create(half, 0, first, leader ? 1 : 0, 7, &made);
	else if (!strcmp(how, "over"))
		MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, between);
	else
		MPI_Comm_create_group(first, group, 7, &made);
	return 1;
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
	} else if (!make(how, first)) {
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
