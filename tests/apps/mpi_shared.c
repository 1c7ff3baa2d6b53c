/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are complete when they are made, which MPIs give out again and again: collectives on one rank, messages
 * to and from MPI_PROC_NULL, small sends. Several are under way at once, of different lengths, and each buffer and
 * array of counts is unmapped as soon as the program has it back. `arrays`: those of counts and displacements are unmapped as
 * soon as the call has been started, as mpi4py 3.1 does; the standard has them stay, and the libraries do not need them.
 */
#include <sys/mman.h>

#include "app.h"

enum { CALLS = 10, KEPT = 16 };

static const int lens[CALLS] = {200000, 3, 50000, 1, 120000, 7, 0, 90000, 20, 30000};

/* Memory that is gone at once when it is freed. */
static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "no memory for %zu bytes", bytes);
	return p;
}

static void unmap(void *p, size_t bytes)
{
	munmap(p, bytes + 1);
}

struct one {
	MPI_Request req;
	MPI_Comm made;
	double *in, *out;
	int *counts, *displs;
	int n;
};

static void start(struct one *c, int k, int turn)
{
	size_t bytes = (size_t)lens[k] * sizeof(double);

	*c = (struct one){.n = lens[k], .made = MPI_COMM_NULL};
	c->in = map(bytes);
	c->out = map(bytes);
	c->counts = map(sizeof(int));
	c->displs = map(sizeof(int));
	c->counts[0] = c->n;
	for (int i = 0; i < c->n; i++)
		c->in[i] = 1000 * k + turn + i % 10;
	switch (k) {
	case 0:
	case 5:
		MPI_Iallreduce(c->in, c->out, c->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &c->req);
		break;
	case 1:
		MPI_Ialltoallv(c->in, c->counts, c->displs, MPI_DOUBLE, c->out, c->counts,
			c->displs, MPI_DOUBLE, MPI_COMM_SELF, &c->req);
		break;
	case 2:
		MPI_Iallgatherv(c->in, c->n, MPI_DOUBLE, c->out, c->counts, c->displs, MPI_DOUBLE,
			MPI_COMM_SELF, &c->req);
		break;
	case 3:
	case 4:
		MPI_Igatherv(c->in, c->n, MPI_DOUBLE, c->out, c->counts, c->displs, MPI_DOUBLE, 0,
			MPI_COMM_SELF, &c->req);
		break;
	case 6:
		MPI_Ibarrier(MPI_COMM_SELF, &c->req);
		break;
	case 7:
		MPI_Iscan(c->in, c->out, c->n, MPI_DOUBLE, MPI_MAX, MPI_COMM_SELF, &c->req);
		break;
	default:
		MPI_Ireduce(c->in, c->out, c->n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_SELF, &c->req);
	}
}

/* What a call has brought, once the program has it back. */
static void finish(struct one *c, int k, int turn)
{
	size_t bytes = (size_t)c->n * sizeof(double);

	for (int i = 0; i < c->n; i++)
		CHECK(c->out[i] == 1000 * k + turn + i % 10, "call %d: [%d] is %g", k, i,
			c->out[i]);
	app_mix(c->out, bytes);
	unmap(c->in, bytes);
	unmap(c->out, bytes);
	unmap(c->counts, sizeof(int));
	unmap(c->displs, sizeof(int));
}

/* Each is waited for by itself, first the oldest, then the newest, then from the middle. */
static void one_by_one(void)
{
	static const int order[3][CALLS] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {4, 7, 0, 9, 2, 5, 1, 8, 3, 6}};
	struct one c[CALLS];

	for (int turn = 0; turn < 6; turn++) {
		for (int k = 0; k < CALLS; k++)
			start(&c[k], k, turn);
		for (int i = 0; i < CALLS; i++) {
			int k = order[turn % 3][i], done = 0;

			if (turn < 3)
				MPI_Wait(&c[k].req, MPI_STATUS_IGNORE);
			while (turn >= 3 && !done)
				MPI_Test(&c[k].req, &done, MPI_STATUS_IGNORE);
			finish(&c[k], k, turn);
		}
	}
	app_say("one by one");
}

/* All at once, in the opposite order; others that have the same request in between. */
static void all_at_once(void)
{
	struct one c[CALLS];
	MPI_Request req[CALLS + 4];
	MPI_Status st[CALLS + 4];
	int x = app_rank, y = -1, flag;

	for (int k = 0; k < CALLS; k++) {
		start(&c[k], k, 9);
		req[CALLS - 1 - k] = c[k].req;
	}
	MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &req[CALLS]);
	MPI_Irecv(&y, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &req[CALLS + 1]);
	MPI_Irecv(&y, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &req[CALLS + 2]);
	MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &req[CALLS + 3]);
	MPI_Request_get_status(req[CALLS + 1], &flag, MPI_STATUS_IGNORE);
	MPI_Wait(&req[CALLS + 2], &st[0]);
	MPI_Waitall(CALLS + 4, req, st);
	CHECK(y == -1, "MPI_PROC_NULL sent %d", y);
	for (int k = 0; k < CALLS; k++)
		finish(&c[k], k, 9);
	app_say("all at once");
}

/* Small sends of many lengths round the ring, completed from the last to the first. */
static void sends(void)
{
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;
	MPI_Request req[KEPT], in[KEPT];
	float *out[KEPT], *got[KEPT];

	for (int turn = 0; turn < 20; turn++) {
		for (int k = 0; k < KEPT; k++) {
			got[k] = map(4u * KEPT);
			MPI_Irecv(got[k], KEPT, MPI_FLOAT, left, k, MPI_COMM_WORLD, &in[k]);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		for (int k = 0; k < KEPT; k++) {
			out[k] = map(4u * KEPT);
			for (int i = 0; i < k; i++)
				out[k][i] = (float)(app_rank * 100 + turn + i);
			MPI_Isend(out[k], k, MPI_FLOAT, right, k, MPI_COMM_WORLD, &req[k]);
		}
		for (int k = KEPT; k-- > 0;) {
			if (k % 5 == 4)
				MPI_Request_free(&req[k]);
			else
				MPI_Wait(&req[k], MPI_STATUS_IGNORE);
		}
		for (int k = KEPT; k-- > 0;) {
			MPI_Wait(&in[k], MPI_STATUS_IGNORE);
			for (int i = 0; i < k; i++)
				CHECK(got[k][i] == (float)(left * 100 + turn + i),
					"message %d: [%d] is %g", k, i, got[k][i]);
			unmap(got[k], 4u * KEPT);
		}
		MPI_Barrier(MPI_COMM_WORLD); /* the freed ones have arrived */
		for (int k = 0; k < KEPT; k++)
			unmap(out[k], 4u * KEPT);
	}
	app_say("sends");
}

/* Persistent requests of the same calls, several under way at once. */
static void persistent(void)
{
	MPI_Request req[8];
	int *buf[8];

	for (int k = 0; k < 8; k++) {
		buf[k] = map(4096u * (unsigned)(k + 1));
		if (k % 2)
			MPI_Recv_init(
				buf[k], 1000, MPI_INT, MPI_PROC_NULL, k, MPI_COMM_WORLD, &req[k]);
		else
			MPI_Send_init(
				buf[k], k, MPI_INT, MPI_PROC_NULL, k, MPI_COMM_WORLD, &req[k]);
	}
	for (int turn = 0; turn < 3; turn++) {
		MPI_Startall(8, req);
		MPI_Wait(&req[6], MPI_STATUS_IGNORE);
		MPI_Waitall(8, req, MPI_STATUSES_IGNORE);
	}
	for (int k = 8; k-- > 0;) {
		MPI_Request_free(&req[k]);
		unmap(buf[k], 4096u * (unsigned)(k + 1));
	}
	app_say("persistent");
}

/* Communicators that are being made, with collectives between them. */
static void communicators(void)
{
	struct one c[4];
	MPI_Comm made[4];
	MPI_Request req[4];

	for (int k = 0; k < 4; k++) {
		MPI_Comm_idup(MPI_COMM_SELF, &made[k], &req[k]);
		start(&c[k], k, 4);
	}
	for (int k = 0; k < 4; k++) {
		MPI_Wait(&c[k].req, MPI_STATUS_IGNORE);
		finish(&c[k], k, 4);
	}
	for (int k = 4; k-- > 0;) {
		int sum = 0;

		MPI_Wait(&req[k], MPI_STATUS_IGNORE);
		MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, made[k]);
		CHECK(sum == k, "on communicator %d: %d", k, sum);
		MPI_Comm_free(&made[k]);
	}
	app_say("communicators");
}

/* The elements of rank r are 10 r and one more for each turn, with a gap of one after them. */
static void arrays(void)
{
	size_t bytes = 4096 * (size_t)(1 + app_size * 5 * sizeof(double) / 4096);

	for (int turn = 0; turn < 9; turn++) {
		int n = 1 + turn % 3, *counts = map(4096), *displs = map(4096), *ones = map(4096);
		double *in = map(bytes), *out = map(bytes);
		MPI_Request req;

		for (int r = 0; r < app_size; r++) {
			counts[r] = n;
			displs[r] = r * (n + 1);
			ones[r] = 0;
		}
		for (int i = 0; i < n; i++)
			in[i] = 10 * app_rank + turn;
		for (int i = 0; i < app_size * (n + 1); i++)
			out[i] = -1000;
		if (turn % 3 == 0)
			MPI_Iallgatherv(in, n, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE,
				MPI_COMM_WORLD, &req);
		else if (turn % 3 == 1)
			MPI_Ialltoallv(in, counts, ones, MPI_DOUBLE, out, counts, displs,
				MPI_DOUBLE, MPI_COMM_WORLD, &req);
		else
			MPI_Igatherv(in, n, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, 0,
				MPI_COMM_WORLD, &req);
		unmap(counts, 4096);
		unmap(displs, 4096);
		unmap(ones, 4096);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		for (int i = 0; i < app_size * (n + 1); i++) {
			double want = 10 * (i / (n + 1)) + turn;

			if (i % (n + 1) == n || (turn % 3 == 2 && app_rank))
				want = -1000;
			CHECK(out[i] == want, "turn %d: [%d] is %g", turn, i, out[i]);
		}
		app_mix(out, bytes);
		unmap(in, bytes);
		unmap(out, bytes);
	}
	app_say("arrays");
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	if (argc > 1) {
		arrays();
		return app_done();
	}
	one_by_one();
	all_at_once();
	sends();
	persistent();
	communicators();
	return app_done();
}
