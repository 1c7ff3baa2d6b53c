/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking messages: all send modes, exchanges, probes, derived types. */
#include "app.h"
#include "mpi4.h"

enum { LEN = 5000 };

static int right, left;
static const MPI_Comm world = MPI_COMM_WORLD;
static double out[LEN], in[LEN];

static void prepare(int seed)
{
	for (int i = 0; i < LEN; i++) {
		out[i] = app_rank * 100000 + seed * 10000 + i;
		in[i] = -1;
	}
}

/* The first n elements came from that rank; the rest is as it was. */
static void see(const char *what, int n, int from, int seed)
{
	for (int i = 0; i < LEN; i++) {
		double want = i < n ? from * 100000 + seed * 10000 + i : -1;

		CHECK(in[i] == want, "%s of %d from %d: [%d] is %g, not %g", what, n, from, i,
			in[i], want);
	}
	app_mix(in, sizeof(in));
}

static void see_status(const char *what, const MPI_Status *st, int n, int from, int tag)
{
	int got;

	MPI_Get_count(st, MPI_DOUBLE, &got);
	CHECK(got == n && st->MPI_SOURCE == from && st->MPI_TAG == tag,
		"%s: %d elements, source %d, tag %d, not %d, %d, %d", what, got, st->MPI_SOURCE,
		st->MPI_TAG, n, from, tag);
}

/* Even ranks send first, and the last one where their number is odd. */
static void send_modes(void)
{
	static const int lens[] = {0, 1, 100, LEN};
	static char space[LEN * sizeof(double) + MPI_BSEND_OVERHEAD];
	static const char *const names[] = {"Send", "Ssend", "Bsend", "Rsend"};
	int detached;
	void *buffer;
	MPI_Status st;
	MPI_Request ready;

	MPI_Buffer_attach(space, sizeof(space));
	for (int k = 0; k < 16; k++) {
		int mode = k % 4, n = lens[k / 4];

		prepare(mode);
		if (mode == 3) {
			MPI_Irecv(in, n, MPI_DOUBLE, left, k, world, &ready);
			MPI_Barrier(world);
			MPI_Rsend(out, n, MPI_DOUBLE, right, k, world);
			MPI_Wait(&ready, &st);
		} else {
			for (int half = 0; half < 2; half++) {
				if (half == app_rank % 2 && mode == 0)
					MPI_Send(out, n, MPI_DOUBLE, right, k, world);
				else if (half == app_rank % 2 && mode == 1)
					MPI_Ssend(out, n, MPI_DOUBLE, right, k, world);
				else if (half == app_rank % 2)
					MPI_Bsend(out, n, MPI_DOUBLE, right, k, world);
				else
					MPI_Recv(in, LEN, MPI_DOUBLE, k % 3 ? left : MPI_ANY_SOURCE,
						k % 5 ? k : MPI_ANY_TAG, world, &st);
			}
		}
		see(names[mode], n, left, mode);
		see_status(names[mode], &st, n, left, k);
		MPI_Barrier(
			world); /* the next message from anybody must not be taken for this one */
	}
	MPI_Buffer_detach(&buffer, &detached);
	app_say("send modes");
}

static void exchanges(void)
{
	MPI_Status st;

	prepare(1);
	MPI_Sendrecv(out, LEN, MPI_DOUBLE, right, 1, in, LEN, MPI_DOUBLE, left, 1, world, &st);
	see("Sendrecv", LEN, left, 1);
	see_status("Sendrecv", &st, LEN, left, 1);

	prepare(2);
	MPI_Sendrecv(out, 10, MPI_DOUBLE, left, app_rank, in, LEN, MPI_DOUBLE, MPI_ANY_SOURCE,
		right, world, &st);
	see("Sendrecv from anybody", 10, right, 2);
	see_status("Sendrecv from anybody", &st, 10, right, right);

	prepare(3);
	memcpy(in, out, sizeof(in));
	MPI_Sendrecv_replace(in, LEN, MPI_DOUBLE, left, 3, right, 3, world, &st);
	see("Sendrecv_replace", LEN, right, 3);
	see_status("Sendrecv_replace", &st, LEN, right, 3);

	/* A chain: the ends have no neighbour. */
	prepare(4);
	MPI_Sendrecv(out, LEN, MPI_DOUBLE, app_rank == app_size - 1 ? MPI_PROC_NULL : right, 4, in,
		LEN, MPI_DOUBLE, app_rank ? left : MPI_PROC_NULL, 4, world, MPI_STATUS_IGNORE);
	see("Sendrecv in a chain", app_rank ? LEN : 0, left, 4);

	prepare(5);
	MPI_Send(out, LEN, MPI_DOUBLE, MPI_PROC_NULL, 5, world);
	MPI_Recv(in, LEN, MPI_DOUBLE, MPI_PROC_NULL, 5, world, &st);
	see("Recv from no rank", 0, left, 5);
	see_status("Recv from no rank", &st, 0, MPI_PROC_NULL, MPI_ANY_TAG);
#if HAS_MPI_4
	MPI_Request req;

	prepare(6);
	MPI_Isendrecv(out, LEN, MPI_DOUBLE, right, 6, in, LEN, MPI_DOUBLE, left, 6, world, &req);
	MPI_Wait(&req, &st);
	see("Isendrecv", LEN, left, 6);
	prepare(7);
	memcpy(in, out, sizeof(in));
	MPI_Isendrecv_replace(in, LEN, MPI_DOUBLE, right, 7, left, 7, world, &req);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	see("Isendrecv_replace", LEN, left, 7);
#endif
	app_say("exchanges");
}

static void probes(void)
{
	MPI_Request req, recv_req;
	MPI_Message msg;
	MPI_Status st;
	int flag, got;

	for (int k = 0; k < 12; k++) {
		int n = k % 2 ? LEN : 3 + k;

		prepare(k % 4);
		MPI_Isend(out, n, MPI_DOUBLE, right, k, world, &req);
		flag = 0;
		if (k < 2) {
			MPI_Probe(MPI_ANY_SOURCE, k, world, &st);
		} else if (k < 4) {
			while (!flag)
				MPI_Iprobe(left, MPI_ANY_TAG, world, &flag, &st);
		} else if (k < 8) {
			MPI_Mprobe(MPI_ANY_SOURCE, k, world, &msg, &st);
		} else {
			while (!flag)
				MPI_Improbe(left, k, world, &flag, &msg, &st);
		}
		see_status("probe", &st, n, left, k);
		MPI_Get_count(&st, MPI_DOUBLE, &got);
		if (k < 4) {
			MPI_Recv(in, got, MPI_DOUBLE, st.MPI_SOURCE, st.MPI_TAG, world,
				MPI_STATUS_IGNORE);
		} else if (k % 4 < 2) {
			MPI_Mrecv(in, got, MPI_DOUBLE, &msg, &st);
			see_status("Mrecv", &st, n, left, k);
		} else {
			MPI_Imrecv(in, got + (k % 2 ? 0 : 5), MPI_DOUBLE, &msg, &recv_req);
			MPI_Wait(&recv_req, &st);
			see_status("Imrecv", &st, n, left, k);
		}
		see("after a probe", n, left, k % 4);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
	}
	prepare(0);
	MPI_Mprobe(MPI_PROC_NULL, 0, world, &msg, &st);
	CHECK(msg == MPI_MESSAGE_NO_PROC, "Mprobe of no rank gave a message");
	MPI_Mrecv(in, LEN, MPI_DOUBLE, &msg, &st);
	see("Mrecv from no rank", 0, left, 0);
	app_say("probes");
}

/* Every second element; and scattered variables by absolute addresses. */
static void derived_types(void)
{
	MPI_Datatype every_second, scattered;
	double a = app_rank, b = -1;
	int x = app_rank * 10, y = -1, lens[2] = {1, 1};
	MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_INT};
	MPI_Aint at[2];
	MPI_Status st;
	MPI_Request req;

	MPI_Type_vector(LEN / 2, 1, 2, MPI_DOUBLE, &every_second);
	MPI_Type_commit(&every_second);
	prepare(2);
	MPI_Irecv(in, 1, every_second, left, 1, world, &req);
	MPI_Send(out, 1, every_second, right, 1, world);
	MPI_Wait(&req, &st);
	for (int i = 0; i < LEN; i++) {
		double want = i % 2 ? -1 : left * 100000 + 20000 + i;

		CHECK(in[i] == want, "every second: [%d] is %g, not %g", i, in[i], want);
	}
	see_status("every second", &st, LEN / 2, left, 1);

	MPI_Get_address(&b, &at[0]);
	MPI_Get_address(&y, &at[1]);
	MPI_Type_create_struct(2, lens, at, parts, &scattered);
	MPI_Type_commit(&scattered);
	MPI_Irecv(MPI_BOTTOM, 1, scattered, left, 2, world, &req);
	MPI_Type_free(&scattered);
	MPI_Get_address(&a, &at[0]);
	MPI_Get_address(&x, &at[1]);
	MPI_Type_create_struct(2, lens, at, parts, &scattered);
	MPI_Type_commit(&scattered);
	MPI_Send(MPI_BOTTOM, 1, scattered, right, 2, world);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	CHECK(b == left && y == left * 10, "by absolute addresses: %g %d", b, y);
	MPI_Type_free(&scattered);

	/* Elements that have no bytes: the last part of a matrix that has none left. With tags that probed messages had. */
	MPI_Type_contiguous(0, MPI_DOUBLE, &scattered);
	MPI_Type_commit(&scattered);
	MPI_Sendrecv(
		out, 1, scattered, right, 9, in, 1, scattered, left, 9, world, MPI_STATUS_IGNORE);
	if (app_rank % 2) {
		MPI_Recv(in, 1, scattered, left, 10, world, MPI_STATUS_IGNORE);
		MPI_Send(out, 1, scattered, right, 10, world);
	} else {
		MPI_Send(out, 1, scattered, right, 10, world);
		MPI_Recv(in, 1, scattered, left, 10, world, MPI_STATUS_IGNORE);
	}
	MPI_Type_free(&scattered);
	MPI_Type_free(&every_second);
	app_say("derived types");
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	right = (app_rank + 1) % app_size;
	left = (app_rank + app_size - 1) % app_size;
	send_modes();
	exchanges();
	probes();
	derived_types();
	return app_done();
}
