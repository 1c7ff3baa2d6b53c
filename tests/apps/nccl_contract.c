/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of NCCL once, with small numbers; its rows are written by hand in tests/e2e/nccl_contract.expected. 2 ranks. */
#include "nccl_app.h"

static float x[4], y[4], out[8];
static int peer;

static void show(const char *what, const void *p, size_t n)
{
	printf("rank %d %s %016llx\n", app_rank, what,
		(unsigned long long)app_sum(UINT64_C(0xcbf29ce484222325), p, n));
	memset(out, 0, sizeof(out));
}

static void reset(void)
{
	for (int i = 0; i < 4; i++)
		x[i] = (float)((app_rank + 1) * (i + 1));
	memcpy(y, x, sizeof(y));
}

static void collectives(ncclComm_t c)
{
	int n[3] = {app_rank, -app_rank, 5};
	double d[2] = {app_rank + 1, 2 * (app_rank + 1)};

	NCCL(ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, c, NULL));
	show("all_reduce", out, 16);
	NCCL(ncclAllReduce(n, n, 3, ncclInt32, ncclMax, c, NULL));
	show("all_reduce max", n, sizeof(n));
	NCCL(ncclBroadcast(x, out, 4, ncclFloat32, 1, c, NULL));
	show("broadcast", out, 16);
	NCCL(ncclBcast(d, 2, ncclFloat64, 0, c, NULL));
	show("bcast", d, sizeof(d));
	NCCL(ncclReduce(x, out, 4, ncclFloat32, ncclAvg, 0, c, NULL));
	show("reduce", out, 16);
	NCCL(ncclAllGather(x, out, 2, ncclFloat32, c, NULL));
	show("all_gather", out, 16);
	memcpy(out + 2 * app_rank, x, 8);
	NCCL(ncclAllGather(out + 2 * app_rank, out, 2, ncclFloat32, c, NULL));
	show("all_gather in place", out, 16);
	NCCL(ncclReduceScatter(x, out, 2, ncclFloat32, ncclSum, c, NULL));
	show("reduce_scatter", out, 8);
	NCCL(ncclAlltoAll(x, out, 2, ncclFloat32, c, NULL));
	show("all_to_all", out, 16);
	NCCL(ncclGather(x, out, 2, ncclFloat32, 1, c, NULL));
	show("gather", out, 16);
	NCCL(ncclScatter(x, out, 2, ncclFloat32, 0, c, NULL));
	show("scatter", out, 8);
	NCCL(ncclAllReduceConfig(x, out, 4, ncclFloat32, ncclProd, c, NULL, NULL));
	show("all_reduce config", out, 16);
}

static void messages(ncclComm_t c)
{
	NCCL(ncclGroupStart());
	NCCL(ncclSend(x, 4, ncclFloat32, peer, c, NULL));
	NCCL(ncclRecv(out, 4, ncclFloat32, peer, c, NULL));
	NCCL(ncclGroupEnd());
	show("send and receive", out, 16);
}

static void groups(ncclComm_t c)
{
	uint16_t b[2] = {app_rank ? 0x4000 : 0x3f80, app_rank ? 0x4080 : 0x4000}; /* 1 2, 2 4 */
	float half = 0.5f;
	ncclRedOp_t op;

	NCCL(ncclAllReduce(b, out, 2, ncclBfloat16, ncclSum, c, NULL));
	show("bfloat16", out, 4);
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, c, NULL));
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(y, y, 4, ncclFloat32, ncclMin, c, NULL));
	NCCL(ncclGroupEnd());
	/* Nothing has happened yet. */
	printf("rank %d in the group: %d\n", app_rank, memcmp(x, y, sizeof(x)) == 0);
	NCCL(ncclGroupEnd());
	show("nested groups", out, 16);
	show("nested groups", y, 16);
	reset();
	NCCL(ncclRedOpCreatePreMulSum(&op, &half, ncclFloat32, ncclScalarHostImmediate, c));
	NCCL(ncclAllReduce(x, out, 4, ncclFloat32, op, c, NULL));
	show("pre-multiplied", out, 16);
	NCCL(ncclRedOpDestroy(op, c));
}

static void split(ncclComm_t c)
{
	ncclComm_t part, none;

	NCCL(ncclCommSplit(c, app_rank == 0 ? NCCL_SPLIT_NOCOLOR : 7, 0, &none, NULL));
	if (none)
		NCCL(ncclCommDestroy(none));
	NCCL(ncclCommSplit(c, 3, -app_rank, &part, NULL)); /* the other way round */
	NCCL(ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, part, NULL));
	show("split", out, 16);
	NCCL(ncclCommFinalize(part));
	NCCL(ncclCommDestroy(part));
	/* In a group: the handle comes when the group ends. */
	NCCL(ncclGroupStart());
	NCCL(ncclCommSplit(c, 3, app_rank, &part, NULL));
	printf("rank %d split in a group: %d\n", app_rank, part != NULL);
	NCCL(ncclGroupEnd());
	NCCL(ncclAllGather(x, out, 1, ncclFloat32, part, NULL));
	show("split in a group", out, 8);
	NCCL(ncclCommDestroy(part));
}

static void errors(ncclComm_t c)
{
	ncclResult_t r[4];

	r[0] = ncclAllReduce(x, out, 4, ncclFloat32, (ncclRedOp_t)77, c, NULL);
	ncclGroupStart();
	r[1] = ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, c, NULL);
	r[2] = ncclBroadcast(x, out, 4, ncclFloat32, 2, c, NULL); /* no such root */
	r[3] = ncclGroupEnd();
	printf("rank %d errors %d %d %d %d\n", app_rank, r[0], r[1], r[2], r[3]);
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, c, NULL));
	NCCL(ncclGroupSimulateEnd(NULL));
	NCCL(ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, c, NULL));
}

/* A communicator that does not block: what it is given is done later. */
static void in_progress(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t r, later;
	ncclComm_t c, part;

	config.blocking = 0;
	r = ncclCommInitRankConfig(&c, app_size, app_id(1), app_rank, &config);
	if (r != ncclInProgress)
		exit(1);
	r = ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, c, NULL);
	NCCL(ncclCommGetAsyncError(c, &later));
	printf("rank %d in progress %d then %d\n", app_rank, r, later);
	show("in progress", out, 16);
	NCCL(ncclGroupStart());
	r = ncclAllReduce(x, out, 4, ncclFloat32, ncclSum, c, NULL);
	printf("rank %d in a group %d then %d\n", app_rank, r, ncclGroupEnd());
	NCCL(ncclCommGetAsyncError(c, &later));
	show("in progress", out, 16);
	r = ncclCommSplit(c, 1, 0, &part, NULL);
	printf("rank %d split %d %d", app_rank, r, part != NULL);
	NCCL(ncclCommGetAsyncError(c, &later));
	printf(" then %d %d\n", later, part != NULL);
	r = ncclAllGather(x, out, 1, ncclFloat32, part, NULL);
	NCCL(ncclCommGetAsyncError(part, &later));
	show("split in progress", out, 8);
	NCCL(ncclCommAbort(part));
	NCCL(ncclCommAbort(c));
}

int main(void)
{
	ncclComm_t c = app_init();

	peer = 1 - app_rank;
	reset();
	collectives(c);
	messages(c);
	groups(c);
	split(c);
	errors(c);
	in_progress();
	NCCL(ncclCommDestroy(c));
	return 0;
}
