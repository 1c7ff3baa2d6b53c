/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ULFM: ranks that are killed, and the others, which go on without them. mpi_ulfm RANK@TURN ...: the rank of MPI_COMM_WORLD that
 * kills itself in that turn. Each turn is a sum over those that are left; one that fails is reported to all (revoke), the others
 * make a communicator without the dead (shrink), agree on it, and do the turn again.
 */
#include "app.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <signal.h>
#include <unistd.h>

#ifdef MPIX_ERR_REVOKED
enum { TURNS = 12, LEN = 1000 };

static MPI_Comm comm; /* of those that are left */
static char dead[64];

static int read_error_class(int error)
{
	int class = MPI_SUCCESS;

	if (error != MPI_SUCCESS)
		MPI_Error_class(error, &class);
	return class;
}

/* The process that dies, dies in the middle of a turn, after its barrier. */
static void die_in_turn(int n, char **list, int turn)
{
	for (int i = 0; i < n; i++) {
		int rank = -1, at = -1;

		if (sscanf(list[i], "%d@%d", &rank, &at) != 2 || at != turn)
			continue;
		dead[rank] = 1;
		if (rank == app_rank)
			raise(SIGKILL);
	}
}

static int sum_once(double *sum)
{
	static double x[LEN], out[LEN];
	int rc;

	for (int i = 0; i < LEN; i++)
		x[i] = app_rank + i;
	rc = MPI_Allreduce(x, out, LEN, MPI_DOUBLE, MPI_SUM, comm);
	*sum = out[LEN - 1];
	return rc;
}

static void go_on_without_the_dead(void)
{
	MPI_Comm left;
	int flag = 1;

	MPIX_Comm_revoke(comm);
	CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS, "shrink failed");
	MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
	CHECK(MPIX_Comm_agree(left, &flag) == MPI_SUCCESS && flag == 1, "agreed on %d", flag);
	if (comm != MPI_COMM_WORLD)
		MPI_Comm_free(&comm);
	comm = left;
}

static void all_turns(int n, char **list)
{
	for (int turn = 0; turn < TURNS; turn++) {
		double sum = 0, want = 0;
		int rc, ok, size;

		die_in_turn(n, list, turn);
		do {
			rc = sum_once(&sum);
			ok = rc == MPI_SUCCESS;
			CHECK(ok || read_error_class(rc) == MPIX_ERR_PROC_FAILED ||
					read_error_class(rc) == MPIX_ERR_REVOKED,
				"turn %d: error %d of class %d", turn, rc, read_error_class(rc));
			/* Some may have their sum where others have an error: all do it again then. */
			if (MPIX_Comm_agree(comm, &ok) != MPI_SUCCESS)
				ok = 0;
			if (!ok)
				go_on_without_the_dead();
		} while (!ok);
		size = 0;
		for (int r = 0; r < app_size; r++) {
			want += dead[r] ? 0 : r + LEN - 1;
			size += !dead[r];
		}
		CHECK(sum == want, "turn %d: the sum of %d is %g, not %g", turn, size, sum, want);
		app_mix(&sum, sizeof(sum));
		usleep(20000);
	}
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	comm = MPI_COMM_WORLD;
	all_turns(argc - 1, argv + 1);
	if (comm != MPI_COMM_WORLD)
		MPI_Comm_free(&comm);
	return app_done();
}
#else
int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_say("skipped: no ULFM");
	MPI_Finalize();
	return APP_SKIP;
}
#endif
