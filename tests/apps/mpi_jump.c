/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks that leave MPI by longjmp, as the error handlers of interpreters do: the first call that a thread makes is
 * left by an error handler, a later one by a user's operator. The calls after it are calls like others.
 */
#include "app.h"
#include <setjmp.h>

#define CALLS 10

static jmp_buf back;

static void jumps(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	longjmp(back, 1);
}

static void operator_jumps(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)in;
	(void)inout;
	(void)n;
	(void)type;
	longjmp(back, 2);
}

static void sums(void)
{
	for (int i = 0; i < CALLS; i++) {
		float x = (float)(i + app_rank), y = 0;

		MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(y == (float)(app_size * i + app_size * (app_size - 1) / 2),
			"sum after a jump: %g", y);
		app_mix(&y, sizeof(y));
	}
}

int main(int argc, char **argv)
{
	MPI_Comm dup;
	MPI_Errhandler eh;
	MPI_Op op;
	float x = 1, y = 2;

	app_init(&argc, &argv);
	MPI_Comm_create_errhandler(jumps, &eh);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, eh);
	if (setjmp(back) == 0) {
		MPI_Comm_dup(MPI_COMM_NULL, &dup);
		CHECK(0, "the error handler was not called");
	}
	sums();
	if (setjmp(back) == 0) {
		MPI_Bcast(&x, -1, MPI_FLOAT, 0, MPI_COMM_WORLD);
		CHECK(0, "the error handler was not called");
	}
	sums();
	MPI_Op_create(operator_jumps, 1, &op);
	if (setjmp(back) == 0) {
		MPI_Reduce_local(&x, &y, 1, MPI_FLOAT, op);
		CHECK(0, "the operator was not called");
	}
	sums();
	MPI_Op_free(&op);
	MPI_Errhandler_free(&eh);
	return app_done();
}
