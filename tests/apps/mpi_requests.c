/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of messages: all ways to complete them, and all ways in which they end otherwise. */
#include "app.h"
#include "completion.h"

enum { MANY = 32, LONG = 300000 };

static int right, left;
static const MPI_Comm world = MPI_COMM_WORLD;

/* Four messages of different lengths each way round the ring. */
static void in_all_ways(void)
{
	static const int lens[4] = {0, 1, 1000, LONG};
	static float out[4][LONG], in[4][LONG];
	MPI_Request req[8];
	MPI_Status st[8];

	for (int turn = 0; turn < 2 * N_WAYS; turn++) {
		for (int k = 0; k < 4; k++) {
			for (int i = 0; i < lens[k]; i++) {
				out[k][i] = (float)(app_rank * 100 + turn + i % 1000);
				in[k][i] = -1;
			}
			MPI_Irecv(in[k], lens[k], MPI_FLOAT, left, k, world, &req[k]);
		}
		MPI_Isend(out[0], lens[0], MPI_FLOAT, right, 0, world, &req[4]);
		MPI_Issend(out[1], lens[1], MPI_FLOAT, right, 1, world, &req[5]);
		MPI_Isend(out[2], lens[2], MPI_FLOAT, right, 2, world, &req[6]);
		MPI_Issend(out[3], lens[3], MPI_FLOAT, right, 3, world, &req[7]);
		complete((enum way)(turn % N_WAYS), 8, req, turn < N_WAYS ? NULL : st);
		for (int k = 0; k < 4; k++) {
			int got = lens[k];

			if (turn >= N_WAYS) {
				MPI_Get_count(&st[k], MPI_FLOAT, &got);
				CHECK(got == lens[k] && st[k].MPI_SOURCE == left &&
						st[k].MPI_TAG == k,
					"%s: %d elements, source %d, tag %d",
					way_name[turn % N_WAYS], got, st[k].MPI_SOURCE,
					st[k].MPI_TAG);
			}
			for (int i = 0; i < lens[k]; i++)
				CHECK(in[k][i] == (float)(left * 100 + turn + i % 1000),
					"%s: [%d] is %g", way_name[turn % N_WAYS], i, in[k][i]);
			app_mix(in[k], (size_t)lens[k] * sizeof(float));
		}
	}
	app_say("all ways");
}

/* More room than elements, sender and tag unknown. */
static void short_receives(void)
{
	float in[MANY][64], out[64];
	MPI_Request req[MANY], sends[MANY];
	MPI_Status st[MANY];

	for (int i = 0; i < 64; i++)
		out[i] = (float)(app_rank + i);
	for (int turn = 0; turn < N_WAYS; turn++) {
		for (int k = 0; k < MANY; k++) {
			for (int i = 0; i < 64; i++)
				in[k][i] = -1;
			MPI_Irecv(
				in[k], 64, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &req[k]);
		}
		for (int k = 0; k < MANY; k++)
			MPI_Isend(out, k, MPI_FLOAT, k % 2 ? left : right, k, world, &sends[k]);
		MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
		complete((enum way)turn, MANY, req, st);
		for (int k = 0; k < MANY; k++) {
			int got, from = st[k].MPI_SOURCE, tag = st[k].MPI_TAG;

			MPI_Get_count(&st[k], MPI_FLOAT, &got);
			CHECK(got == tag && from == (tag % 2 ? right : left),
				"from anybody: %d elements, source %d, tag %d", got, from, tag);
			for (int i = 0; i < 64; i++)
				CHECK(in[k][i] == (i < got ? (float)(from + i) : -1),
					"from anybody: [%d] is %g", i, in[k][i]);
		}
		MPI_Barrier(world); /* no rank's next message may meet this turn's receives */
	}
	app_say("short receives");
}

static void to_nobody(void)
{
	int x = 5, got = -1;
	MPI_Request req[2];
	MPI_Status st[2];

	for (int turn = 0; turn < N_WAYS; turn++) {
		MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &req[0]);
		MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, world, &req[1]);
		complete((enum way)turn, 2, req, st);
		MPI_Get_count(&st[1], MPI_INT, &got);
		CHECK(got == 0 && x == 5, "%s of MPI_PROC_NULL: count %d, %d", way_name[turn], got,
			x);
#ifndef MPICH_VERSION /* 4.0 says 0 */
		CHECK(st[1].MPI_SOURCE == MPI_PROC_NULL, "%s of MPI_PROC_NULL: source %d",
			way_name[turn], st[1].MPI_SOURCE);
#endif
	}
	app_say("no rank");
}

static void cancelled(void)
{
	int x = 5, y = 0, is = 0;
	MPI_Request req[2];
	MPI_Status st[2];

	for (int turn = 0; turn < N_WAYS; turn++) {
		MPI_Irecv(&x, 1, MPI_INT, left, 4711, world, &req[0]);
		MPI_Irecv(&y, 1, MPI_INT, left, turn, world, &req[1]);
		MPI_Cancel(&req[0]);
		MPI_Send(&turn, 1, MPI_INT, right, turn, world);
		complete((enum way)turn, 2, req, st);
		MPI_Test_cancelled(&st[0], &is);
		CHECK(is && x == 5, "%s: cancelled %d, %d", way_name[turn], is, x);
		MPI_Test_cancelled(&st[1], &is);
		CHECK(!is && y == turn, "%s: not cancelled %d, %d", way_name[turn], is, y);
	}
	app_say("cancelled");
}

/* The request goes, the message arrives. */
static void freed(void)
{
	int out[MANY], in = -1;

	for (int k = 0; k < MANY; k++) {
		MPI_Request req;

		out[k] = app_rank * 100 + k;
		MPI_Isend(&out[k], 1, MPI_INT, right, k, world, &req);
		MPI_Request_free(&req);
		CHECK(req == MPI_REQUEST_NULL, "Request_free left a request");
	}
	for (int k = 0; k < MANY; k++) {
		MPI_Recv(&in, 1, MPI_INT, left, k, world, MPI_STATUS_IGNORE);
		CHECK(in == left * 100 + k, "of a freed send came %d", in);
	}
	MPI_Barrier(world); /* out[] is in use until everything has arrived */
	app_say("freed");
}

/* An MPI may give all sends that are done at once the same request: each is completed on its own. */
static void same_handle(void)
{
	enum { SENDS = 64 };
	int out[SENDS], in[SENDS];
	MPI_Request req[SENDS], recvs[SENDS];

	for (int turn = 0; turn < N_WAYS; turn++) {
		for (int k = 0; k < SENDS; k++) {
			out[k] = app_rank * 1000 + k;
			in[k] = -1;
			MPI_Irecv(&in[k], 1, MPI_INT, left, k, world, &recvs[k]);
			MPI_Isend(&out[k], 1, MPI_INT, right, k, world, &req[k]);
		}
		complete((enum way)turn, SENDS, req, NULL);
		complete((enum way)(N_WAYS - 1 - turn), SENDS, recvs, NULL);
		for (int k = 0; k < SENDS; k++)
			CHECK(in[k] == left * 1000 + k, "%s of many sends: %d is %d",
				way_name[turn], k, in[k]);
	}
	app_say("many sends");
}

/* Null requests among others, none at all, and a look that completes nothing. */
static void odd_arrays(void)
{
	int x = app_rank, y = -1, index = 0, flag = 0, n = 0, at[3];
	MPI_Request req[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	MPI_Status st[3];

	MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
	MPI_Waitall(3, req, st);
	MPI_Waitany(3, req, &index, &st[0]);
	CHECK(index == MPI_UNDEFINED, "Waitany of nulls: index %d", index);
	MPI_Waitsome(3, req, &n, at, st);
	CHECK(n == MPI_UNDEFINED, "Waitsome of nulls: %d", n);
	MPI_Testany(3, req, &index, &flag, &st[0]);
	CHECK(index == MPI_UNDEFINED && flag, "Testany of nulls: index %d, flag %d", index, flag);
	MPI_Testall(3, req, &flag, st);
	CHECK(flag, "Testall of nulls");
	MPI_Wait(&req[0], &st[0]);
	CHECK(st[0].MPI_SOURCE == MPI_ANY_SOURCE && st[0].MPI_TAG == MPI_ANY_TAG,
		"Wait of null: source %d, tag %d", st[0].MPI_SOURCE, st[0].MPI_TAG);

	for (int turn = 0; turn < 100; turn++) {
		x = app_rank + turn;
		MPI_Irecv(&y, 1, MPI_INT, left, turn, world, &req[1]);
		MPI_Send(&x, 1, MPI_INT, right, turn, world);
		for (flag = 0; !flag;)
			MPI_Request_get_status(req[1], &flag, &st[0]);
		CHECK(req[1] != MPI_REQUEST_NULL, "Request_get_status took the request");
		if (turn % 2)
			MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
		else
			MPI_Waitany(3, req, &index, MPI_STATUS_IGNORE);
		CHECK(y == left + turn && (turn % 2 || index == 1), "among nulls: %d, index %d", y,
			index);
	}
	app_say("odd arrays");
}

static int query(void *state, MPI_Status *st)
{
	(void)state;
	MPI_Status_set_elements(st, MPI_INT, 3);
	MPI_Status_set_cancelled(st, 0);
	st->MPI_SOURCE = MPI_UNDEFINED;
	st->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int release(void *state)
{
	++*(int *)state;
	return MPI_SUCCESS;
}

static int free_active_request(void *state, int complete_already)
{
	(void)state;
	(void)complete_already;
	return MPI_SUCCESS;
}

/* A request of the program's own, which goes through the same Wait. */
static void generalized(void)
{
	int freed_count = 0, n = 0;
	MPI_Request req;
	MPI_Status st;

	MPI_Grequest_start(query, release, free_active_request, &freed_count, &req);
	MPI_Grequest_complete(req);
	MPI_Wait(&req, &st);
	MPI_Get_elements(&st, MPI_INT, &n);
	CHECK(n == 3 && freed_count == 1, "generalized request: %d elements, freed %d times", n,
		freed_count);
	app_say("generalized");
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	right = (app_rank + 1) % app_size;
	left = (app_rank + app_size - 1) % app_size;
	in_all_ways();
	short_receives();
	to_nobody();
	cancelled();
	freed();
	same_handle();
	odd_arrays();
	generalized();
	return app_done();
}
