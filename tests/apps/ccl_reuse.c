/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As mpi_reuse.c, of libraries that give a handle to the next thread as soon as it is free (tests/doubles/ccl/reuse.c):
 * ccl_reuse nccl|nccl_window|hccl|ucc [TURNS]. Eight threads with a number of elements, values and, where there is one, a unique id of
 * their own. Prints how many calls moved data.
 */
#include "../doubles/ccl/reuse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, LEN = 512 };

static const char *kind;
static int turns = 40;

struct worker {
	int id;
	unsigned calls; /* that move data */
	size_t count;
	float in[LEN], out[LEN];
};

#define MUST(call)                                            \
	do {                                                  \
		if ((call) != 0) {                            \
			fprintf(stderr, "%s fails\n", #call); \
			exit(1);                              \
		}                                             \
	} while (0)

static void fill(struct worker *w, int turn)
{
	for (size_t i = 0; i < w->count; i++) {
		w->in[i] = (float)(1000 * (w->id + 1) + 10 * (turn % 50));
		w->out[i] = -1;
	}
}

static void reduce_by_nccl(struct worker *w, void *comm)
{
	MUST(ncclAllReduce(w->in, w->out, w->count, REUSE_FLOAT32_OF_NCCL, 0, comm, NULL));
	w->calls++;
}

/* What cannot be freed is what it was, and used once more. */
static void nccl_turn(struct worker *w, int turn)
{
	reuse_nccl_id id = {{0}};
	void *comm, *window = NULL;

	id.internal[0] = (char)(w->id + 1);
	fill(w, turn);
	MUST(ncclCommInitRank(&comm, 1, id, 0));
	if (strcmp(kind, "nccl_window") == 0)
		MUST(ncclCommWindowRegister(comm, w->in, sizeof(w->in), &window, 0));
	do
		reduce_by_nccl(w, comm);
	while (window && ncclCommWindowDeregister(comm, window) != 0);
	while (ncclCommDestroy(comm) != 0)
		reduce_by_nccl(w, comm);
}

static void hccl_turn(struct worker *w, int turn)
{
	static reuse_hccl_id id[THREADS];
	void *comm;

	id[w->id].internal[0] = (char)(w->id + 1);
	fill(w, turn);
	MUST(HcclCommInitRootInfo(1, &id[w->id], 0, &comm));
	do {
		MUST(HcclAllReduce(w->in, w->out, w->count, REUSE_FLOAT32_OF_HCCL, 0, comm, NULL));
		w->calls++;
	} while (HcclCommDestroy(comm) != 0);
}

static void ucc_turn(struct worker *w, int turn)
{
	ucc_coll_args_t a = {.coll_type = UCC_COLL_ALLREDUCE, .op = UCC_SUM};
	ucc_coll_req_h r;
	ucc_team_h team;

	fill(w, turn);
	a.src.info = (struct ucc_info){w->in, w->count, UCC_FLOAT32, 0};
	a.dst.info = (struct ucc_info){w->out, w->count, UCC_FLOAT32, 0};
	MUST(ucc_team_create_post(NULL, 1, NULL, &team));
	MUST(ucc_collective_init(&a, &r, team));
	/* Posts each request twice; one that cannot be freed is posted again. */
	for (int i = 0; i < 2 || ucc_collective_finalize(r) != 0; i++) {
		MUST(ucc_collective_post(r));
		w->calls++;
		while (__atomic_load_n(&r->status, __ATOMIC_ACQUIRE) == UCC_INPROGRESS)
			ucc_context_progress(NULL);
	}
	while (ucc_team_destroy(team) != 0)
		;
}

static void *work(void *arg)
{
	for (int turn = 0; turn < turns; turn++) {
		if (strcmp(kind, "hccl") == 0)
			hccl_turn(arg, turn);
		else if (strcmp(kind, "ucc") == 0)
			ucc_turn(arg, turn);
		else
			nccl_turn(arg, turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker worker[THREADS];
	pthread_t thread[THREADS];
	unsigned calls = 0;

	kind = argc > 1 ? argv[1] : "nccl";
	turns = argc > 2 ? atoi(argv[2]) : turns;
	for (int i = 0; i < THREADS; i++) {
		worker[i].id = i;
		worker[i].count = (size_t)(LEN - 10 * i);
		MUST(pthread_create(&thread[i], NULL, work, &worker[i]));
	}
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL));
	for (int i = 0; i < THREADS; i++)
		calls += worker[i].calls;
	printf("%u\n", calls);
	return 0;
}
