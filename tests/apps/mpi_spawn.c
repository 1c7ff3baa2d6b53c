/* SPDX-License-Identifier: Apache-2.0 */
/* Starts two more processes of itself, talks to them, and goes on after them. Skipped where the MPI refuses. */
#include "app.h"

enum { CHILDREN = 2 };

/* All of both generations, parents first. */
static void together(MPI_Comm inter, int parents, int is_child)
{
	float one = 1, sum = 0;
	int n = parents + CHILDREN, rank, from = -1;
	MPI_Comm all;

	MPI_Intercomm_merge(inter, is_child, &all);
	MPI_Comm_rank(all, &rank);
	MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, all);
	CHECK(sum == (float)n, "sum over both generations: %g, not %d", sum, n);
	CHECK(rank == app_rank + (is_child ? parents : 0), "rank %d in the merged communicator",
		rank);
	from = rank;
	MPI_Bcast(&from, 1, MPI_INT, n - 1, all);
	CHECK(from == n - 1, "Bcast from the last child: %d", from);
	MPI_Comm_free(&all);
}

static int child(MPI_Comm parent)
{
	int parents, number = -1;

	MPI_Comm_remote_size(parent, &parents);
	MPI_Recv(&number, 1, MPI_INT, 0, 5, parent, MPI_STATUS_IGNORE);
	CHECK(number == 100 + app_rank, "child got %d", number);
	MPI_Barrier(MPI_COMM_WORLD); /* the world of the children */
	together(parent, parents, 1);
	MPI_Comm_disconnect(&parent);
	app_say("child, ok, %lu checks", app_checks);
	MPI_Finalize();
	return 0;
}

int main(int argc, char **argv)
{
	MPI_Comm parent, inter;
	int rc;

	app_init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL)
		return child(parent);

	/* Who calls first is the owner of a rank's name: not a child that has the same. */
	MPI_Barrier(MPI_COMM_WORLD);
	for (int turn = 0; turn < 2; turn++) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		rc = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0,
			MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
		if (rc != MPI_SUCCESS) {
			app_say("skipped: this MPI does not start processes here");
			MPI_Finalize();
			return APP_SKIP;
		}
		for (int i = 0; app_rank == 0 && i < CHILDREN; i++)
			MPI_Send(&(int){100 + i}, 1, MPI_INT, i, 5, inter);
		together(inter, app_size, 0);
		MPI_Comm_disconnect(&inter);
	}
	return app_done();
}
