/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong calls under MPI_ERRORS_RETURN. What the MPI answers is printed, class by class, and must be the same with a
 * preloaded tool; so must what an error handler of the program sees, and that correct calls work afterwards.
 */
#include "app.h"
#include <errno.h>

static int right, left, handled, handled_class;
static const MPI_Comm world = MPI_COMM_WORLD;

static void told(const char *what, int rc)
{
	int class = -1;
	char text[MPI_MAX_ERROR_STRING] = "";
	int len;

	MPI_Error_class(rc, &class);
	MPI_Error_string(class, text, &len);
	app_say("%s: class %d, %s", what, class, text);
	app_checks++;
}

static void wrong_arguments(void)
{
	float x = 1, y = 2;
	MPI_Request req = MPI_REQUEST_NULL;

	told("Bcast, root too large", MPI_Bcast(&x, 1, MPI_FLOAT, app_size + 3, world));
	told("Bcast, root negative", MPI_Bcast(&x, 1, MPI_FLOAT, -77, world));
	told("Bcast, count negative", MPI_Bcast(&x, -1, MPI_FLOAT, 0, world));
	told("Bcast, null type", MPI_Bcast(&x, 1, MPI_DATATYPE_NULL, 0, world));
	told("Allreduce, null communicator",
		MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL));
	told("Allreduce, null operator", MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_OP_NULL, world));
	told("Allreduce, operator that does not fit",
		MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_BAND, world));
	told("Iallreduce, count negative",
		MPI_Iallreduce(&x, &y, -5, MPI_FLOAT, MPI_SUM, world, &req));
	CHECK(req == MPI_REQUEST_NULL, "a refused call made a request");
	told("Send, rank too large", MPI_Send(&x, 1, MPI_FLOAT, app_size, 0, world));
	told("Send, tag negative", MPI_Send(&x, 1, MPI_FLOAT, right, -5, world));
	told("Isend, rank too large", MPI_Isend(&x, 1, MPI_FLOAT, app_size + 1, 0, world, &req));
	told("Recv, count negative",
		MPI_Recv(&y, -1, MPI_FLOAT, left, 0, world, MPI_STATUS_IGNORE));
	told("Irecv, null type", MPI_Irecv(&y, 1, MPI_DATATYPE_NULL, left, 0, world, &req));
	CHECK(x == 1 && y == 2, "a refused call changed a buffer: %g %g", x, y);
}

/* Messages longer than the room for them. */
static void truncated(void)
{
	float out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[3][8] = {{0}};
	MPI_Request req[3];
	MPI_Status st[3];
	int rc;

	MPI_Isend(out, 8, MPI_FLOAT, right, 1, world, &req[0]);
	told("Recv, truncated", MPI_Recv(in[0], 4, MPI_FLOAT, left, 1, world, &st[0]));
	CHECK(in[0][4] == 0, "Recv wrote beyond its buffer");
	MPI_Wait(&req[0], MPI_STATUS_IGNORE);

	MPI_Irecv(in[1], 2, MPI_FLOAT, left, 2, world, &req[0]);
	MPI_Send(out, 8, MPI_FLOAT, right, 2, world);
	told("Wait, truncated", MPI_Wait(&req[0], &st[0]));
	CHECK(in[1][2] == 0, "Irecv wrote beyond its buffer");

	/* One of three goes wrong. */
	for (int k = 0; k < 3; k++)
		MPI_Irecv(in[k], k == 1 ? 2 : 8, MPI_FLOAT, left, 10 + k, world, &req[k]);
	for (int k = 0; k < 3; k++)
		MPI_Send(out, 8, MPI_FLOAT, right, 10 + k, world);
	for (int k = 0; k < 3; k++)
		st[k].MPI_ERROR = MPI_SUCCESS;
	rc = MPI_Waitall(3, req, st);
	told("Waitall, one truncated", rc);
	for (int k = 0; k < 3; k++) {
		int pending = st[k].MPI_ERROR == MPI_ERR_PENDING;

		told(k == 1 ? "its status" : "another status",
			pending ? MPI_SUCCESS : st[k].MPI_ERROR);
		if (req[k] != MPI_REQUEST_NULL)
			MPI_Wait(&req[k], MPI_STATUS_IGNORE);
	}
	CHECK(in[0][7] == 8 && in[2][7] == 8, "messages beside a truncated one: %g %g", in[0][7],
		in[2][7]);
	MPI_Barrier(world);
}

static void handler(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	handled++;
	MPI_Error_class(*code, &handled_class);
}

static void own_handler(void)
{
	float x = 1, y = 0;
	MPI_Comm dup;
	MPI_Errhandler eh;
	int rc;

	MPI_Comm_dup(world, &dup);
	MPI_Comm_create_errhandler(handler, &eh);
	MPI_Comm_set_errhandler(dup, eh);
	rc = MPI_Bcast(&x, 1, MPI_FLOAT, -9, dup);
	CHECK(handled == 1 && rc != MPI_SUCCESS, "error handler: called %d times", handled);
	told("what the handler saw", handled_class);
	MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER);
	CHECK(handled == 2 && handled_class == MPI_ERR_OTHER, "error handler: called %d times",
		handled);
	MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_SUM, dup);
	CHECK(y == (float)app_size, "after errors: %g", y);
	MPI_Errhandler_free(&eh);
	MPI_Comm_free(&dup);
}

/* What is used after it is the same communicator. */
static void free_the_world(void)
{
	MPI_Comm comm = MPI_COMM_WORLD;

	told("Comm_free of the world", MPI_Comm_free(&comm));
}

/* A call that works leaves errno alone. */
static void errno_is_kept(void)
{
	float x[100] = {0}, y[100];
	int changed = 0;

	for (int i = 0; i < 100; i++) {
		errno = ERANGE;
		MPI_Allreduce(x, y, 100, MPI_FLOAT, MPI_SUM, world);
		changed += errno != ERANGE;
	}
	/* The MPI itself may change it when it comes to sleep or to grow; never in every call. */
	CHECK(changed < 50, "errno was changed by %d of 100 calls", changed);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	right = (app_rank + 1) % app_size;
	left = (app_rank + app_size - 1) % app_size;
	MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
	wrong_arguments();
	truncated();
	own_handler();
	free_the_world();
	errno_is_kept();
	return app_done();
}
