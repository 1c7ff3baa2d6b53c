/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As mpi_contract, on 2 ranks: messages, requests, non-blocking and persistent calls. Rank 0 sends where no other
 * direction is recorded; the rows are written down in tests/e2e/contract_p2p.expected.
 */
#include "app.h"

#define W MPI_COMM_WORLD
#define F MPI_FLOAT

static const float v[4] = {3, 4, 0, 0};
static float y[8];
static int first, other;

/* Fills the buffers with what must not be measured. */
static void clear(void)
{
	for (int i = 0; i < 8; i++)
		y[i] = 1000;
}

static void blocking(void)
{
	static char buffer[4096 + MPI_BSEND_OVERHEAD];
	int size;

	/* modes: they share their numbers */
	clear();
	if (first) {
		MPI_Send(v, 2, F, 1, 7, W);
		MPI_Ssend(v, 2, F, 1, 7, W);
		MPI_Buffer_attach(buffer, sizeof(buffer));
		MPI_Bsend(v, 2, F, 1, 7, W);
		MPI_Buffer_detach(&buffer, &size);
		MPI_Send(v, 1, F, 1, 8, W);
		MPI_Send(v, 4, F, 1, 7, W);
		MPI_Send(v, 4, F, 1, 7, W);
	} else {
		/* Larger buffers than messages; statuses that are ignored. */
		for (int i = 0; i < 3; i++)
			MPI_Recv(y, 4, F, 0, 7, W, MPI_STATUS_IGNORE);
		MPI_Recv(y, 4, F, 0, 8, W, MPI_STATUS_IGNORE);
		/* wildcards */
		MPI_Recv(y, 4, F, MPI_ANY_SOURCE, 7, W, MPI_STATUS_IGNORE);
		MPI_Recv(y, 4, F, MPI_ANY_SOURCE, MPI_ANY_TAG, W, MPI_STATUS_IGNORE);
	}
	/* no rank */
	MPI_Send(v, 2, F, MPI_PROC_NULL, 7, W);
	MPI_Recv(y, 2, F, MPI_PROC_NULL, 7, W, MPI_STATUS_IGNORE);
	/* nothing */
	if (first)
		MPI_Send(v, 0, F, 1, 7, W);
	else
		MPI_Recv(y, 4, F, 0, 7, W, MPI_STATUS_IGNORE);
}

static void both_ways(void)
{
	/* send_recv */
	MPI_Sendrecv(v, 2, F, other, first ? 11 : 12, y, 8, F, other, first ? 12 : 11, W,
		MPI_STATUS_IGNORE);
	MPI_Sendrecv(v, 2, F, first ? 1 : MPI_PROC_NULL, 11, y, 8, F, first ? MPI_PROC_NULL : 0, 11,
		W, MPI_STATUS_IGNORE);
	memcpy(y, v, sizeof(v));
	MPI_Sendrecv_replace(y, 2, F, other, 13, other, 13, W, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
	MPI_Request r[3];
	int done = 0, index;

	/* non-blocking */
	clear();
	if (first)
		MPI_Isend(v, 2, F, 1, 20, W, &r[0]);
	else
		MPI_Irecv(y, 4, F, 0, 20, W, &r[0]);
	MPI_Iallreduce(v, y + 4, 2, F, MPI_SUM, W, &r[1]);
	MPI_Ibarrier(W, &r[2]);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	/* three small sends: both MPIs hand out one request for all */
	for (int i = 0; i < 3; i++)
		if (first)
			MPI_Isend(v, i, F, 1, 21, W, &r[i]);
		else
			MPI_Irecv(y, 4, F, 0, 21, W, &r[i]);
	if (first)
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	for (int i = 0; !first && i < 3; i++)
		MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
	/* a wildcard, and Test */
	if (first) {
		MPI_Send(v, 2, F, 1, 22, W);
	} else {
		MPI_Irecv(y, 4, F, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &r[0]);
		while (!done)
			MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
	}
	/* looked at before it is waited for */
	if (first) {
		MPI_Send(v, 2, F, 1, 23, W);
	} else {
		MPI_Irecv(y, 4, F, 0, 23, W, &r[0]);
		for (done = 0; !done;)
			MPI_Request_get_status(r[0], &done, MPI_STATUS_IGNORE);
		MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	}
}

static void persistent(void)
{
	MPI_Request r;

	/* persistent: each start is a call */
	if (first)
		MPI_Send_init(v, 2, F, 1, 30, W, &r);
	else
		MPI_Recv_init(y, 4, F, 0, 30, W, &r);
	for (int i = 0; i < 2; i++) {
		MPI_Start(&r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	MPI_Startall(1, &r);
	MPI_Waitall(1, &r, MPI_STATUSES_IGNORE);
	MPI_Request_free(&r);
}

static void matched(void)
{
	MPI_Message m;
	MPI_Request r;
	int flag = 0;

	/* matched probes */
	if (first) {
		MPI_Send(v, 2, F, 1, 40, W);
		MPI_Send(v, 4, F, 1, 40, W);
		return;
	}
	MPI_Mprobe(0, 40, W, &m, MPI_STATUS_IGNORE);
	MPI_Mrecv(y, 4, F, &m, MPI_STATUS_IGNORE);
	while (!flag)
		MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, W, &flag, &m, MPI_STATUS_IGNORE);
	MPI_Imrecv(y, 4, F, &m, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void odd_ends(void)
{
	MPI_Request r;

	/* cancelled */
	if (!first) {
		MPI_Irecv(y, 4, F, 0, 50, W, &r);
		MPI_Cancel(&r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	/* freed: large enough that it does not complete at once */
	MPI_Barrier(W);
	if (first) {
		MPI_Issend(v, 2, F, 1, 51, W, &r);
		MPI_Request_free(&r);
	}
	MPI_Barrier(W);
	if (!first)
		MPI_Recv(y, 4, F, 0, 51, W, MPI_STATUS_IGNORE);
	/* too long */
	MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
	if (first)
		MPI_Send(v, 2, F, 1, 52, W);
	else
		fprintf(stderr, "error %d %d\n", app_rank,
			MPI_Recv(y, 1, F, 0, 52, W, MPI_STATUS_IGNORE));
	MPI_Barrier(W);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	first = app_rank == 0;
	other = 1 - app_rank;
	blocking();
	both_ways();
	nonblocking();
	persistent();
	matched();
	odd_ends();
	return app_done();
}
