/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of NCCL and calls that only one side makes; the rows are written by hand in tests/e2e/nccl_onesided.expected.
 * 2 ranks.
 */
#include "nccl_app.h"

#define MANY 3000

static float x[MANY], memory[4 * MANY];
static int peer;

/* n elements that have come from the other one, which has x[first] there. */
static void show(const char *what, const float *p, size_t n, size_t first)
{
	size_t good = 0;

	while (good < n && p[good] == (float)((size_t)(peer + 1) * (first + good + 1)))
		good++;
	printf("rank %d %s: %zu of %zu\n", app_rank, what, good, n);
	if (good < n)
		exit(1);
}

static ncclResult_t put(
	const float *from, size_t n, ncclWindow_t w, size_t at, int index, ncclComm_t c)
{
	return ncclPutSignal(
		from, n, ncclFloat32, peer, w, at * sizeof(float), index, 0, 0, c, NULL);
}

static ncclResult_t wait_for(int count, int index, ncclComm_t c)
{
	ncclWaitSignalDesc_t d = {count, peer, index, 0};

	return ncclWaitSignal(1, &d, c, NULL);
}

static void both_ways(ncclComm_t c, ncclWindow_t w)
{
	ncclWaitSignalDesc_t two[2] = {{1, peer, 1, 0}, {1, peer, 3, 0}};

	NCCL(put(x, 4, w, 0, 0, c));
	NCCL(wait_for(1, 0, c));
	show("put", memory, 4, 0);
	NCCL(ncclSignal(peer, 2, 0, 0, c, NULL));
	NCCL(wait_for(1, 2, c));
	/* Two calls, one wait. */
	NCCL(put(x, 2, w, 4, 5, c));
	NCCL(put(x + 2, 2, w, 6, 5, c));
	NCCL(wait_for(2, 5, c));
	show("put twice", memory + 4, 4, 0);
	NCCL(ncclSignal(peer, 3, 0, 0, c, NULL));
	NCCL(put(x, MANY, w, 8, 1, c));
	NCCL(ncclWaitSignal(2, two, c, NULL));
	show("put much", memory + 8, MANY, 0);
}

/* The handle of a window that is made in a group comes with the group's end. */
static void in_groups(ncclComm_t c)
{
	ncclWindow_t w;

	NCCL(ncclGroupStart());
	NCCL(ncclCommWindowRegister(c, memory + 2 * MANY, MANY, &w, NCCL_WIN_COLL_SYMMETRIC));
	printf("rank %d in the group: %d\n", app_rank, w != NULL);
	NCCL(ncclGroupEnd());
	NCCL(ncclGroupStart());
	NCCL(put(x, 3, w, 1, 4, c));
	NCCL(wait_for(1, 4, c));
	NCCL(ncclGroupEnd());
	show("put in a group", memory + 2 * MANY + 1, 3, 0);
	NCCL(ncclCommWindowDeregister(c, w));
	/* Perhaps at the same place; not the same window. */
	NCCL(ncclCommWindowRegister(c, memory + 2 * MANY, MANY, &w, NCCL_WIN_COLL_SYMMETRIC));
	NCCL(put(x, 1, w, 9, 0, c));
	NCCL(wait_for(1, 0, c));
	show("put into another", memory + 2 * MANY + 9, 1, 0);
	NCCL(ncclCommWindowDeregister(c, w));
}

/* A library that can make none says so by leaving the handle 0. */
static void without_window(ncclComm_t c)
{
	static void *place; /* used for one thing after the other */
	ncclWindow_t *w = (ncclWindow_t *)&place;
	float sum;

	NCCL(ncclCommWindowRegister(c, memory, 64, w, 0x100));
	printf("rank %d without a window: %d %d\n", app_rank, *w != NULL, put(x, 4, *w, 0, 0, c));
	NCCL(ncclGroupStart());
	NCCL(ncclCommWindowRegister(c, memory, 64, w, 0x100));
	NCCL(ncclGroupEnd());
	place = c;
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(x, &sum, 1, ncclFloat32, ncclSum, c, NULL));
	NCCL(ncclGroupEnd());
	NCCL(ncclAllReduce(x, &sum, 1, ncclFloat32, ncclSum, c, NULL));
	printf("rank %d all_reduce %g\n", app_rank, (double)sum);
}

/* On a communicator that does not block all of it happens later. */
static void in_progress(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t r[3], later;
	ncclWindow_t w;
	ncclComm_t c;

	config.blocking = 0;
	if (ncclCommInitRankConfig(&c, app_size, app_id(1), app_rank, &config) != ncclInProgress)
		exit(1);
	r[0] = ncclCommWindowRegister(c, memory, sizeof(memory), &w, NCCL_WIN_COLL_SYMMETRIC);
	printf("rank %d window in progress: %d\n", app_rank, w != NULL);
	NCCL(ncclCommGetAsyncError(c, &later));
	r[1] = put(x, 2, w, 0, 0, c);
	r[2] = wait_for(1, 0, c);
	NCCL(ncclCommGetAsyncError(c, &later));
	printf("rank %d in progress: %d %d %d then %d\n", app_rank, r[0], r[1], r[2], later);
	show("put in progress", memory, 2, 0);
	NCCL(ncclCommAbort(c));
}

int main(void)
{
	ncclComm_t c = app_init();
	ncclResult_t wrong[2];
	ncclWindow_t w;

	peer = 1 - app_rank;
	for (int i = 0; i < MANY; i++)
		x[i] = (float)((app_rank + 1) * (i + 1));
	NCCL(ncclCommWindowRegister(c, memory, sizeof(memory) / 2, &w, NCCL_WIN_COLL_SYMMETRIC));
	both_ways(c, w);
	in_groups(c);
	without_window(c);
	in_progress();
	/* No such index; more than there is room for. */
	wrong[0] = ncclSignal(peer, 77, 0, 0, c, NULL);
	wrong[1] = put(x, MANY, w, MANY + 1, 0, c);
	printf("rank %d errors %d %d\n", app_rank, wrong[0], wrong[1]);
	NCCL(ncclCommWindowDeregister(c, w));
	NCCL(ncclCommRevoke(c, 0));
	printf("rank %d revoked: %d\n", app_rank, ncclSignal(peer, 0, 0, 0, c, NULL));
	NCCL(ncclCommDestroy(c));
	return 0;
}
