/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent requests: point-to-point in all modes, and with MPI 4 all collectives. */
#include "app.h"
#include "mpi4.h"
#include "completion.h"

static void once(MPI_Request *request)
{
	static int way;

	MPI_Start(request);
	/* complete() wants null requests afterwards: persistent ones stay. */
	if (way++ % 2) {
		MPI_Wait(request, MPI_STATUS_IGNORE);
	} else {
		for (int done = 0; !done;)
			MPI_Test(request, &done, MPI_STATUS_IGNORE);
	}
	CHECK(*request != MPI_REQUEST_NULL, "a persistent request became null");
	MPI_Request_free(request);
	CHECK(*request == MPI_REQUEST_NULL, "Request_free left a request");
}

#if HAS_MPI_4
#define COUNT int
#define DISPL int
#define COLL(Name, name, ...)                                             \
	do {                                                              \
		MPI_Request request_;                                     \
		MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_); \
		once(&request_);                                          \
	} while (0)
#include "collective_cases.h"

/* Initialised once, started many times with other data. */
static void started_again(void)
{
	float in[64] = {0}, out[64];
	MPI_Request req[2];
	int sum;

	MPI_Allreduce_init(in, out, 64, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]);
	MPI_Bcast_init(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]);
	for (int turn = 0; turn < 10; turn++) {
		for (int i = 0; i < 64; i++)
			in[i] = (float)(turn * i);
		sum = app_rank ? -1 : turn;
		MPI_Startall(2, req);
		MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
		for (int i = 0; i < 64; i++)
			CHECK(out[i] == (float)(app_size * turn * i), "turn %d: [%d] is %g", turn,
				i, out[i]);
		CHECK(sum == turn, "Bcast_init: %d, not %d", sum, turn);
	}
	MPI_Request_free(&req[0]);
	MPI_Request_free(&req[1]);
}
#else
static void run_cases(MPI_Comm on)
{
	(void)on;
	(void)once;
}

static void started_again(void)
{
}
#endif

/* Four messages to the right and four from the left, one in each mode, started 12 times with other data. */
static void messages(void)
{
	enum { LEN = 200, TURNS = 12 };
	static double out[4][LEN], in[4][LEN];
	static char space[LEN * sizeof(double) + MPI_BSEND_OVERHEAD];
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;
	int detached, done, at[8], index;
	void *buffer;
	MPI_Request req[8];
	MPI_Status st[8];

	MPI_Buffer_attach(space, sizeof(space));
	for (int k = 0; k < 4; k++)
		MPI_Recv_init(in[k], LEN, MPI_DOUBLE, k == 3 ? MPI_ANY_SOURCE : left, k,
			MPI_COMM_WORLD, &req[k]);
	MPI_Send_init(out[0], LEN, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &req[4]);
	MPI_Ssend_init(out[1], LEN / 2, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &req[5]);
	MPI_Bsend_init(out[2], LEN, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &req[6]);
	MPI_Rsend_init(out[3], LEN, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, &req[7]);
	for (int turn = 0; turn < TURNS; turn++) {
		for (int k = 0; k < 4 * LEN; k++) {
			out[k / LEN][k % LEN] = turn + k + app_rank * 0.5;
			in[k / LEN][k % LEN] = -1;
		}
		MPI_Startall(4, req);
		MPI_Barrier(MPI_COMM_WORLD); /* the ready send needs its receive */
		if (turn % 2)
			MPI_Startall(4, req + 4);
		else
			for (int k = 4; k < 8; k++)
				MPI_Start(&req[k]);
		if (turn % 3 == 0) {
			MPI_Waitall(8, req, turn % 2 ? st : MPI_STATUSES_IGNORE);
		} else if (turn % 3 == 1) {
			for (int k = 0; k < 8; k++)
				MPI_Waitany(8, req, &index, &st[0]);
		} else {
			for (int k = 0; k < 8; k += done)
				MPI_Testsome(8, req, &done, at, MPI_STATUSES_IGNORE);
		}
		/* All inactive now: waiting again returns at once. */
		MPI_Waitany(8, req, &index, &st[0]);
		CHECK(index == MPI_UNDEFINED, "Waitany on inactive requests: %d", index);
		for (int k = 0; k < 4; k++) {
			for (int i = 0; i < LEN; i++) {
				double want = k == 1 && i >= LEN / 2
						      ? -1
						      : turn + k * LEN + i + left * 0.5;

				CHECK(in[k][i] == want, "turn %d, message %d: [%d] is %g, not %g",
					turn, k, i, in[k][i], want);
			}
		}
		app_mix(in, sizeof(in));
		/* Without this a fast rank's next receive from anybody could take this turn's message. */
		MPI_Barrier(MPI_COMM_WORLD);
	}
	for (int k = 0; k < 8; k++)
		MPI_Request_free(&req[k]);
	MPI_Buffer_detach(&buffer, &detached);
}

/* Must come last: after this, MPICH 4.0 hangs in persistent collectives. */
static void to_and_from_nobody(void)
{
	float f = 7;
	MPI_Request req[2];
	MPI_Status st[2];

	MPI_Recv_init(&f, 1, MPI_FLOAT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &req[0]);
	MPI_Send_init(&f, 1, MPI_FLOAT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &req[1]);
	for (int turn = 0; turn < 3; turn++) {
		MPI_Startall(2, req);
		MPI_Waitall(2, req, st);
		/* MPICH 4.0 says MPI_ANY_SOURCE. */
		CHECK(st[0].MPI_SOURCE == MPI_PROC_NULL || st[0].MPI_SOURCE == MPI_ANY_SOURCE,
			"Recv_init from no rank: source %d", st[0].MPI_SOURCE);
		CHECK(f == 7, "Recv_init from no rank brought %g", f);
	}
	MPI_Request_free(&req[0]);
	MPI_Request_free(&req[1]);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2); /* Open MPI 4.1 spoils persistent buffered messages to oneself */
	messages();
	app_say("MPI %d: %s", MPI_VERSION, HAS_MPI_4 ? "collectives too" : "point-to-point only");
	started_again();
	run_cases(MPI_COMM_WORLD);
	to_and_from_nobody();
	return app_done();
}
