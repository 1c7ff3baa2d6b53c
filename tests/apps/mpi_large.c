/* SPDX-License-Identifier: Apache-2.0 */
/* The forms with large counts of MPI 4 (MPI_X_c): blocking, non-blocking and persistent collectives, messages. */
#include "app.h"
#include "completion.h"

#if MPI_VERSION >= 4

static void finish(MPI_Request *request, int start)
{
	static int way;

	if (start) {
		MPI_Start(request);
		MPI_Wait(request, MPI_STATUS_IGNORE);
		MPI_Request_free(request);
	} else {
		complete((enum way)(way++ % N_WAYS), 1, request, NULL);
	}
}

static int form_;

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define COLL(Name, name, ...)                                                      \
	do {                                                                       \
		MPI_Request request_;                                              \
		if (form_ % 3 == 0) {                                              \
			LARGE(Name)(__VA_ARGS__);                                  \
		} else if (form_ % 3 == 1) {                                       \
			LARGE(I##name)(__VA_ARGS__, &request_);                    \
			finish(&request_, 0);                                      \
		} else {                                                           \
			LARGE(Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request_); \
			finish(&request_, 1);                                      \
		}                                                                  \
		form_++;                                                           \
	} while (0)
#define LARGE(name) MPI_##name##_c
/* A barrier has no count. */
#define MPI_Barrier_c MPI_Barrier
#define MPI_Ibarrier_c MPI_Ibarrier
#define MPI_Barrier_init_c MPI_Barrier_init
#include "neighbor_cases.h"

static void messages(void)
{
	enum { LEN = 1000 };
	static double out[LEN], in[LEN];
	static char space[LEN * sizeof(double) + MPI_BSEND_OVERHEAD];
	MPI_Count len = LEN, got;
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;
	MPI_Comm world = MPI_COMM_WORLD;
	MPI_Request req[2];
	MPI_Status st;
	MPI_Message msg;
	MPI_Count detached;
	void *buffer;

	MPI_Buffer_attach_c(space, sizeof(space));
	for (int mode = 0; mode < 8; mode++) {
		for (int i = 0; i < LEN; i++) {
			out[i] = mode * 10000 + app_rank * 1000 + i;
			in[i] = -1;
		}
		switch (mode) {
		case 0:
			MPI_Irecv_c(in, len, MPI_DOUBLE, left, mode, world, &req[0]);
			MPI_Send_c(out, len, MPI_DOUBLE, right, mode, world);
			MPI_Wait(&req[0], &st);
			break;
		case 1:
			MPI_Irecv_c(in, len, MPI_DOUBLE, left, mode, world, &req[0]);
			MPI_Ssend_c(out, len, MPI_DOUBLE, right, mode, world);
			MPI_Wait(&req[0], &st);
			break;
		case 2:
			MPI_Bsend_c(out, len, MPI_DOUBLE, right, mode, world);
			MPI_Recv_c(in, len, MPI_DOUBLE, left, mode, world, &st);
			break;
		case 3:
			MPI_Irecv_c(in, len, MPI_DOUBLE, left, mode, world, &req[0]);
			MPI_Barrier(world);
			MPI_Rsend_c(out, len, MPI_DOUBLE, right, mode, world);
			MPI_Wait(&req[0], &st);
			break;
		case 4:
			MPI_Isend_c(out, len, MPI_DOUBLE, right, mode, world, &req[0]);
			MPI_Mprobe(left, mode, world, &msg, &st);
			MPI_Mrecv_c(in, len, MPI_DOUBLE, &msg, &st);
			MPI_Wait(&req[0], MPI_STATUS_IGNORE);
			break;
		case 5:
			MPI_Sendrecv_c(out, len, MPI_DOUBLE, right, mode, in, len, MPI_DOUBLE, left,
				mode, world, &st);
			break;
		case 6:
			memcpy(in, out, sizeof(in));
			MPI_Sendrecv_replace_c(
				in, len, MPI_DOUBLE, right, mode, left, mode, world, &st);
			break;
		default:
			MPI_Send_init_c(out, len, MPI_DOUBLE, right, mode, world, &req[0]);
			MPI_Recv_init_c(in, len, MPI_DOUBLE, left, mode, world, &req[1]);
			MPI_Startall(2, req);
			MPI_Wait(&req[0], MPI_STATUS_IGNORE);
			MPI_Wait(&req[1], &st);
			MPI_Request_free(&req[0]);
			MPI_Request_free(&req[1]);
		}
		MPI_Get_count_c(&st, MPI_DOUBLE, &got);
		CHECK(got == LEN && st.MPI_SOURCE == left, "mode %d: %lld elements from %d", mode,
			(long long)got, st.MPI_SOURCE);
		for (int i = 0; i < LEN; i++)
			CHECK(in[i] == mode * 10000 + left * 1000 + i, "mode %d: [%d] is %g", mode,
				i, in[i]);
		app_mix(in, sizeof(in));
	}
	MPI_Buffer_detach_c(&buffer, &detached);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(3);
	messages();
	for (int first = 0; first < 3; first++) { /* each case once in each form */
		form_ = first;
		run_cases(MPI_COMM_WORLD);
		form_ = first;
		run_neighbors();
	}
	return app_done();
}

#else

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	(void)complete;
	app_say("skipped: this MPI has no large counts");
	MPI_Finalize();
	return APP_SKIP;
}

#endif
