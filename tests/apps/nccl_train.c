/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a data-parallel training does with NCCL: nccl_train [STEPS]. Gradient buckets in groups, parameters broadcast,
 * shards gathered and scattered, activations passed round a ring of ranks, row and column communicators, and a second
 * thread with a communicator of its own. Prints a checksum of all that a rank computed.
 */
#include <pthread.h>

#include "nccl_app.h"

#define BUCKETS 5
#define LARGE 60000

static float grad[BUCKETS][1000], shard[250], full[LARGE], ring[2][LARGE];
static uint64_t sum = UINT64_C(0xcbf29ce484222325), side_sum = UINT64_C(0xcbf29ce484222325);
static ncclUniqueId side_id;
static int steps = 3;

static void fill(float *p, int n, int seed)
{
	for (int i = 0; i < n; i++)
		p[i] = (float)((i * 7 + seed * 13 + app_rank * 3) % 101) / 8.0f - 5.0f;
}

/* Statistics of the step are exchanged on the side, in double precision. */
static void *side(void *arg)
{
	double v[3];
	ncclComm_t c;

	(void)arg;
	NCCL(ncclCommInitRank(&c, app_size, side_id, app_rank));
	for (int s = 0; s < steps; s++) {
		for (int i = 0; i < 3; i++)
			v[i] = app_rank + i + s;
		NCCL(ncclAllReduce(v, v, 3, ncclFloat64, ncclSum, c, NULL));
		side_sum = app_sum(side_sum, v, sizeof(v));
	}
	NCCL(ncclCommDestroy(c));
	return NULL;
}

static void step(int s, ncclComm_t world, ncclComm_t row, ncclComm_t column)
{
	int next = (app_rank + 1) % app_size, before = (app_rank + app_size - 1) % app_size;

	for (int b = 0; b < BUCKETS; b++)
		fill(grad[b], 1000, s * BUCKETS + b);
	NCCL(ncclGroupStart());
	for (int b = 0; b < BUCKETS; b++)
		NCCL(ncclAllReduce(
			grad[b], grad[b], 1000 - (size_t)b, ncclFloat32, ncclAvg, world, NULL));
	NCCL(ncclGroupEnd());
	sum = app_sum(sum, grad, sizeof(grad));
	NCCL(ncclBroadcast(grad[0], grad[1], 1000, ncclFloat32, s % app_size, world, NULL));
	NCCL(ncclReduceScatter(
		grad[1], shard, 1000 / (size_t)app_size, ncclFloat32, ncclSum, world, NULL));
	NCCL(ncclAllGather(shard, full, 1000 / (size_t)app_size, ncclFloat32, world, NULL));
	sum = app_sum(sum, full, sizeof(full));
	fill(ring[0], LARGE, s);
	NCCL(ncclGroupStart());
	for (int part = 0; part < 3; part++) {
		NCCL(ncclSend(
			ring[0] + part * (LARGE / 3), LARGE / 3, ncclFloat32, next, world, NULL));
		NCCL(ncclRecv(
			ring[1] + part * (LARGE / 3), LARGE / 3, ncclFloat32, before, world, NULL));
	}
	NCCL(ncclGroupEnd());
	sum = app_sum(sum, ring[1], sizeof(ring[1]));
	NCCL(ncclAllReduce(ring[1], ring[0], LARGE, ncclFloat32, ncclMax, row, NULL));
	NCCL(ncclAllReduce(ring[0], ring[1], LARGE, ncclFloat32, ncclMin, column, NULL));
	sum = app_sum(sum, ring, sizeof(ring));
}

int main(int argc, char **argv)
{
	ncclComm_t world = app_init(), row, column;
	pthread_t thread;

	if (argc > 1)
		steps = atoi(argv[1]);
	NCCL(ncclCommSplit(world, app_rank / 2, app_rank, &row, NULL));
	NCCL(ncclCommSplit(world, app_rank % 2, app_rank, &column, NULL));
	side_id = app_id(1);
	if (pthread_create(&thread, NULL, side, NULL))
		return 2;
	for (int s = 0; s < steps; s++)
		step(s, world, row, column);
	pthread_join(thread, NULL);
	printf("rank %d of %d: %016llx %016llx\n", app_rank, app_size, (unsigned long long)sum,
		(unsigned long long)side_sum);
	NCCL(ncclCommDestroy(column));
	NCCL(ncclCommDestroy(row));
	NCCL(ncclCommDestroy(world));
	return 0;
}
