/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MPI 4 added and the other programs here do not have: messages in partitions, one-sided calls with large counts,
 * persistent collectives on an intercommunicator. `session`: a session, and MPI_Init after it. `ulfm`: of ULFM what needs no
 * failure.
 */
#include "app.h"
#include "mpi4.h"

#if HAS_MPI_4
enum { PARTS = 4, LEN = 50, TURNS = 5, ALL = PARTS * LEN };

static double given(int rank, int turn, int i)
{
	return turn + i + rank * 0.5;
}

/* Hands over all parts, in each of the ways that there are. */
static void hand_over(double *out, int turn, MPI_Request request)
{
	int which[2] = {3, 0};

	for (int part = PARTS - 1; part >= 0; part--) {
		for (int i = part * LEN; i < (part + 1) * LEN; i++)
			out[i] = given(app_rank, turn, i);
		if (turn % 3 == 0)
			MPI_Pready(part, request);
	}
	if (turn % 3 == 1) {
		MPI_Pready_range(0, PARTS - 1, request);
	} else if (turn % 3 == 2) {
		MPI_Pready_list(2, which, request);
		MPI_Pready_range(1, 2, request);
	}
}

/* To the right neighbour, from the left one. What is sent is there only after the start. */
static void partitions(void)
{
	static double out[ALL], in[ALL];
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;
	MPI_Request req[2], plain;
	double word = 0, said = app_rank;

	MPI_Psend_init(
		out, PARTS, LEN, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]);
	MPI_Precv_init(in, PARTS, LEN, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]);
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < ALL; i++)
			out[i] = in[i] = -1000;
		/* One that is not in parts, with the same tag: posted before the others, sent after them. */
		MPI_Irecv(&word, 1, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, &plain);
		if (turn % 2)
			MPI_Startall(2, req);
		else
			for (int k = 0; k < 2; k++)
				MPI_Start(&req[k]);
		hand_over(out, turn, req[0]);
		MPI_Send(&said, 1, MPI_DOUBLE, right, 3, MPI_COMM_WORLD);
		for (int part = 0; part < PARTS && turn % 2; part++)
			for (int there = 0; !there;)
				MPI_Parrived(req[1], part, &there);
		MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
		MPI_Wait(&plain, MPI_STATUS_IGNORE);
		CHECK(word == left, "turn %d: the word is %g", turn, word);
		for (int i = 0; i < ALL; i++)
			CHECK(in[i] == given(left, turn, i), "turn %d: [%d] is %g", turn, i, in[i]);
		app_mix(in, sizeof(in));
	}
	MPI_Request_free(&req[0]);
	MPI_Request_free(&req[1]);
}

#if HAS_LARGE_COUNTS
static void large_one_sided(void)
{
	double mine[4] = {0}, x[4], got[4];
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;
	MPI_Win win;

	for (int i = 0; i < 4; i++)
		x[i] = app_rank * 10 + i;
	MPI_Win_create_c(mine, sizeof(mine), sizeof(*mine), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put_c(x, 4, MPI_DOUBLE, right, 0, 4, MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	MPI_Accumulate_c(x, 4, MPI_DOUBLE, right, 0, 4, MPI_DOUBLE, MPI_SUM, win);
	MPI_Win_fence(0, win);
	MPI_Get_c(got, 4, MPI_DOUBLE, right, 0, 4, MPI_DOUBLE, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 4; i++) {
		CHECK(mine[i] == 2 * (left * 10 + i), "Put_c, Accumulate_c: [%d] is %g", i,
			mine[i]);
		CHECK(got[i] == 2 * x[i], "Get_c: [%d] is %g", i, got[i]);
	}
	app_mix(got, sizeof(got));
	MPI_Win_free(&win);
}
#else
static void large_one_sided(void)
{
}
#endif

/* Between the ranks of even and of odd number. */
static void across(void)
{
	int odd = app_rank % 2, others = app_size - (odd ? app_size / 2 : (app_size + 1) / 2);
	float mine = (float)(odd + 1), sum;
	MPI_Comm half, inter;
	MPI_Request request;

	MPI_Comm_split(MPI_COMM_WORLD, odd, app_rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !odd, 17, &inter);
	MPI_Allreduce_init(&mine, &sum, 1, MPI_FLOAT, MPI_SUM, inter, MPI_INFO_NULL, &request);
	for (int turn = 0; turn < 3; turn++) {
		sum = -1;
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(sum == (float)(others * (odd ? 1 : 2)), "turn %d: the others' sum is %g",
			turn, (double)sum);
	}
	MPI_Request_free(&request);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/* Requests that are looked at, together, and only then taken. */
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
static void look_at_several(void)
{
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size,
	    sent = 0;
	float out = (float)app_rank, in[3] = {-1, -1, -1};
	MPI_Request req[3];

	for (int way = 0; way < 3; way++) {
		int there = 0, which = -1, n = 0, indices[3];

		for (int i = 0; i < 3; i++)
			MPI_Irecv(&in[i], 1, MPI_FLOAT, left, 20 + i, MPI_COMM_WORLD, &req[i]);
		MPI_Request_get_status_all(3, req, &there, MPI_STATUSES_IGNORE);
		CHECK(app_size == 1 || !there || sent, "there before it is sent");
		MPI_Barrier(MPI_COMM_WORLD);
		for (int i = 0; i < 3; i++)
			MPI_Send(&out, 1, MPI_FLOAT, right, 20 + i, MPI_COMM_WORLD);
		while (way == 0 && !there)
			MPI_Request_get_status_all(3, req, &there, MPI_STATUSES_IGNORE);
		while (way == 1 && !there)
			MPI_Request_get_status_any(3, req, &which, &there, MPI_STATUS_IGNORE);
		while (way == 2 && n < 1)
			MPI_Request_get_status_some(3, req, &n, indices, MPI_STATUSES_IGNORE);
		MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
		for (int i = 0; i < 3; i++)
			CHECK(in[i] == (float)left, "way %d: [%d] is %g", way, i, (double)in[i]);
		app_mix(in, sizeof(in));
	}
}
#else
static void look_at_several(void)
{
}
#endif

#ifdef MPIX_ERR_REVOKED
static void without_failure(void)
{
	int flag = app_rank ? 7 : 3, sum = -1;
	MPI_Comm same;

	MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
	CHECK(flag == 3, "agreed on %d", flag);
	MPIX_Comm_shrink(MPI_COMM_WORLD, &same);
	MPI_Allreduce(&app_rank, &sum, 1, MPI_INT, MPI_SUM, same);
	CHECK(sum == app_size * (app_size - 1) / 2, "sum of those that are left: %d", sum);
	MPI_Comm_free(&same);
	MPI_Comm_dup(MPI_COMM_WORLD, &same);
	if (app_rank == 0)
		MPIX_Comm_revoke(same);
	MPI_Comm_free(&same);
}
#else
static void without_failure(void)
{
	exit(APP_SKIP);
}
#endif

/* A communicator without MPI_COMM_WORLD, and then with it. */
static void session_first(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int rank, size, sum = -1;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(
		group, "tests/mpi_newer", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	CHECK(sum == size * (size - 1) / 2, "sum in a session: %d", sum);
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
}

/*
 * Nothing but sessions: two, each with a communicator of all and one of every second process, under one tag. Both begin
 * at once, for MPICH 4.0.2 cannot begin again after the end of its last.
 */
static int only_sessions(void)
{
	static const char *const names[2] = {"ocean", "ice"};
	MPI_Session session[2];
	int rank = 0, size = 0;

	for (int turn = 0; turn < 2; turn++)
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session[turn]);
	for (int turn = 0; turn < 2; turn++) {
		MPI_Group all, some;
		MPI_Comm whole, half;
		int sum = -1, first, n = 0, members[64];

		MPI_Group_from_session_pset(session[turn], "mpi://WORLD", &all);
		MPI_Group_rank(all, &rank);
		MPI_Group_size(all, &size);
		app_rank = rank;
		for (int i = rank % 2; i < size && n < 64; i += 2)
			members[n++] = i;
		MPI_Group_incl(all, n, members, &some);
		MPI_Comm_create_from_group(
			all, "tests/whole", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &whole);
		MPI_Comm_create_from_group(
			some, "tests/half", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &half);
		MPI_Group_free(&some);
		MPI_Group_free(&all);
		MPI_Comm_set_name(whole, names[turn]);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, whole);
		CHECK(sum == size * (size - 1) / 2, "sum of all: %d", sum);
		for (int i = 0; i < 3; i++) {
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MIN, half);
			CHECK(sum == rank % 2, "least of every second: %d", sum);
		}
		first = rank;
		MPI_Bcast(&first, 1, MPI_INT, 0, whole);
		CHECK(first == 0, "rank 0 is %d", first);
		MPI_Comm_free(&half);
		MPI_Comm_free(&whole);
		MPI_Session_finalize(&session[turn]);
	}
	app_say("sessions, ok, %lu checks", app_checks);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	app_set_name(argv);
	if (strcmp(what, "sessions") == 0)
		return only_sessions();
	if (strcmp(what, "session") == 0)
		session_first();
	app_init(&argc, &argv);
	if (strcmp(what, "session") == 0) {
		int sum = -1;

		MPI_Allreduce(&app_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == app_size * (app_size - 1) / 2, "sum after a session: %d", sum);
	} else if (strcmp(what, "ulfm") == 0) {
		without_failure();
	} else {
		app_need_ranks(2);
		partitions();
		large_one_sided();
		across();
		look_at_several();
	}
	return app_done();
}
#else
int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_say("skipped: MPI %d", MPI_VERSION);
	MPI_Finalize();
	return APP_SKIP;
}
#endif
