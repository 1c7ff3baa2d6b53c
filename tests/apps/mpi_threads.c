/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_THREAD_MULTIPLE: threads with collectives on communicators of their own, messages by tag, and requests. */
#include "app.h"
#include <pthread.h>

enum { THREADS = 4, TURNS = 100, LEN = 500 };

static MPI_Comm own[THREADS];
static uint64_t digest[THREADS];
static unsigned long checks[THREADS];

#define SEE(ok, ...)                                               \
	do {                                                       \
		if (!(ok))                                         \
			app_fail(__FILE__, __LINE__, __VA_ARGS__); \
		checks[id]++;                                      \
	} while (0)

static void *work(void *arg)
{
	int id = *(int *)arg, right = (app_rank + 1) % app_size,
	    left = (app_rank + app_size - 1) % app_size;
	float in[LEN], sum[LEN], moved[LEN], later[LEN];
	MPI_Request req[3];

	for (int turn = 0; turn < TURNS; turn++) {
		int tag = id * 1000 + turn;

		for (int i = 0; i < LEN; i++)
			in[i] = (float)(app_rank + id * 10 + turn + i);
		MPI_Allreduce(in, sum, LEN, MPI_FLOAT, MPI_SUM, own[id]);
		MPI_Irecv(moved, LEN, MPI_FLOAT, left, tag, MPI_COMM_WORLD, &req[0]);
		MPI_Isend(in, LEN, MPI_FLOAT, right, tag, MPI_COMM_WORLD, &req[1]);
		MPI_Iallreduce(in, later, LEN, MPI_FLOAT, MPI_MAX, own[id], &req[2]);
		MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
		for (int i = 0; i < LEN; i++) {
			int mine = id * 10 + turn + i;

			SEE(sum[i] == (float)(app_size * mine + app_size * (app_size - 1) / 2),
				"thread %d, turn %d: sum [%d] is %g", id, turn, i, sum[i]);
			SEE(moved[i] == (float)(left + mine),
				"thread %d, turn %d: message [%d] is %g", id, turn, i, moved[i]);
			SEE(later[i] == (float)(app_size - 1 + mine),
				"thread %d, turn %d: largest [%d] is %g", id, turn, i, later[i]);
		}
		digest[id] += (uint64_t)sum[turn % LEN] + (uint64_t)moved[0];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int provided, id[THREADS];

	app_set_name(argv);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &app_size);
	if (provided < MPI_THREAD_MULTIPLE) {
		app_say("skipped: this MPI has no MPI_THREAD_MULTIPLE");
		MPI_Finalize();
		return APP_SKIP;
	}
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
	/* The last "thread" is the main one. */
	for (int i = 0; i < THREADS; i++) {
		id[i] = i;
		if (i < THREADS - 1 && pthread_create(&thread[i], NULL, work, &id[i]))
			app_fail(__FILE__, __LINE__, "no thread");
	}
	work(&id[THREADS - 1]);
	for (int i = 0; i < THREADS; i++) {
		if (i < THREADS - 1)
			pthread_join(thread[i], NULL);
		app_mix(&digest[i], sizeof(digest[i]));
		app_checks += checks[i];
		MPI_Comm_free(&own[i]);
	}
	return app_done();
}
