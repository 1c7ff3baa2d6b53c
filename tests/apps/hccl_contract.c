/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operation of HCCL once, with small numbers, on 2 ranks; its rows are written by hand in
 * tests/e2e/hccl_contract.expected. APP_LOAD=file: the library is loaded and its functions are looked up by its handle, as
 * torch_npu does; else it is linked.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <hccl/hccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
#define FUNCTION(name, parameters) HcclResult(*name) parameters;
	HCCL_FUNCTIONS(FUNCTION)
} hccl = {
#undef FUNCTION
#define FUNCTION(name, parameters) .name = name,
	HCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

static uint32_t rank, size;
static float x[4], out[16];

#define HCCL(name, ...)                                                                  \
	do {                                                                             \
		HcclResult r_ = hccl.name(__VA_ARGS__);                                  \
		if (r_ != HCCL_SUCCESS) {                                                \
			fprintf(stderr, "rank %u: %s gives %d\n", rank, #name, (int)r_); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static void load_functions(const char *file)
{
	/* MindSpore's plugin for Ascend opens a library of its own that needs libhccl.so, and that way. */
	void *h = dlopen(file, RTLD_NOW | (getenv("APP_DEEPBIND") ? RTLD_DEEPBIND : RTLD_LOCAL));
	void *f;

	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
#define FUNCTION(name, parameters) \
	f = dlsym(h, #name);       \
	if (!f)                    \
		exit(2);           \
	memcpy(&hccl.name, &f, sizeof(f));
	HCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
}

static uint32_t app_number(const char *a, const char *b)
{
	const char *s = getenv(a) ? getenv(a) : getenv(b);

	if (!s)
		exit(2);
	return (uint32_t)atoi(s);
}

static void share_id(HcclRootInfo *id)
{
	char path[512], tmp[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s", getenv("APP_ID"));
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	if (rank == 0) {
		HCCL(HcclGetRootInfo, id);
		f = fopen(tmp, "wb");
		if (!f || fwrite(id, sizeof(*id), 1, f) != 1 || fclose(f) || rename(tmp, path))
			exit(2);
		return;
	}
	while (!(f = fopen(path, "rb")))
		usleep(2000);
	if (fread(id, sizeof(*id), 1, f) != 1)
		exit(2);
	fclose(f);
}

static void show(const char *what, unsigned n)
{
	printf("rank %u %s", rank, what);
	for (unsigned i = 0; i < n; i++)
		printf(" %g", (double)out[i]);
	putchar('\n');
	memset(out, 0, sizeof(out));
}

static void collectives(HcclComm c)
{
	HCCL(HcclAllReduce, x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, c, NULL);
	show("all_reduce", 4);
	HCCL(HcclReduce, x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, 1, c, NULL);
	show("reduce", 4);
	memcpy(out, x, sizeof(x));
	HCCL(HcclBroadcast, out, 4, HCCL_DATA_TYPE_FP32, 0, c, NULL);
	show("broadcast", 4);
	HCCL(HcclScatter, x, out, 2, HCCL_DATA_TYPE_FP32, 1, c, NULL);
	show("scatter", 2);
	HCCL(HcclAllGather, x, out, 2, HCCL_DATA_TYPE_FP32, c, NULL);
	show("all_gather", 4);
	HCCL(HcclReduceScatter, x, out, 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD, c, NULL);
	show("reduce_scatter", 2);
	HCCL(HcclAlltoAll, x, 2, HCCL_DATA_TYPE_FP32, out, 2, HCCL_DATA_TYPE_FP32, c, NULL);
	show("all_to_all", 4);
	HCCL(HcclBarrier, c, NULL);
}

/* Rank 0 sends 1 element to itself and 3 to rank 1, which sends 2 each. */
static void variable(HcclComm c)
{
	uint64_t scounts[2][2] = {{1, 3}, {2, 2}}, sdispls[2][2] = {{0, 1}, {0, 2}};
	uint64_t rcounts[2][2] = {{1, 2}, {3, 2}}, rdispls[2][2] = {{0, 4}, {0, 8}};
	uint64_t matrix[4] = {1, 3, 2, 2}, gcounts[2] = {1, 2}, gdispls[2] = {0, 4};
	uint64_t pcounts[2] = {3, 1}, pdispls[2] = {0, 3};

	HCCL(HcclAlltoAllV, x, scounts[rank], sdispls[rank], HCCL_DATA_TYPE_FP32, out,
		rcounts[rank], rdispls[rank], HCCL_DATA_TYPE_FP32, c, NULL);
	show("all_to_all_v", 10);
	HCCL(HcclAlltoAllVC, x, matrix, HCCL_DATA_TYPE_FP32, out, HCCL_DATA_TYPE_FP32, c, NULL);
	show("all_to_all_vc", 5);
	HCCL(HcclAllGatherV, x, gcounts[rank], out, gcounts, gdispls, HCCL_DATA_TYPE_FP32, c, NULL);
	show("all_gather_v", 6);
	HCCL(HcclReduceScatterV, x, pcounts, pdispls, out, pcounts[rank], HCCL_DATA_TYPE_FP32,
		HCCL_REDUCE_SUM, c, NULL);
	show("reduce_scatter_v", 3);
}

static void messages(HcclComm c)
{
	uint32_t peer = 1 - rank;
	HcclSendRecvItem items[6];

	if (rank == 0)
		HCCL(HcclSend, x, 4, HCCL_DATA_TYPE_FP32, peer, c, NULL);
	else
		HCCL(HcclRecv, out, 4, HCCL_DATA_TYPE_FP32, peer, c, NULL);
	show("message", 4);
	for (unsigned i = 0; i < 6; i++)
		items[i] = (HcclSendRecvItem){i & 1 ? HCCL_RECV : HCCL_SEND,
			i & 1 ? out + i : x + i / 2, 1, HCCL_DATA_TYPE_FP32, peer};
	HCCL(HcclBatchSendRecv, items, 6, c, NULL);
	show("batch", 6);
	HCCL(HcclGroupStart);
	HCCL(HcclAllReduce, x, out, 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, c, NULL);
	HCCL(HcclAllReduce, x + 2, out + 2, 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MIN, c, NULL);
	HCCL(HcclGroupEnd);
	show("group", 4);
}

static void graph_engine(void)
{
	uint64_t matrix[4] = {1, 3, 2, 2}, gcounts[2] = {1, 2}, gdispls[2] = {0, 4};
	uint64_t pcounts[2] = {3, 1}, pdispls[2] = {0, 3};
	const char *group = "hccl_world_group";

	HCCL(HcomAllReduce, "t1", x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, group, NULL);
	show("graph all_reduce", 4);
	HCCL(HcomAllGather, "t2", x, out, 1, HCCL_DATA_TYPE_FP32, group, NULL);
	show("graph all_gather", 2);
	if (rank == 0)
		HCCL(HcomSend, "t3", x, 2, HCCL_DATA_TYPE_FP32, 1, 7, group, NULL);
	else
		HCCL(HcomReceive, "t3", out, 2, HCCL_DATA_TYPE_FP32, 0, 7, group, NULL);
	show("graph message", 2);
	HCCL(HcomReduce, "t4", x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, 1, group, NULL);
	show("graph reduce", 4);
	HCCL(HcomAllToAll, x, 2, HCCL_DATA_TYPE_FP32, out, 2, HCCL_DATA_TYPE_FP32, group, NULL,
		"t5");
	show("graph all_to_all", 4);
	HCCL(HcomAlltoAllVC, x, matrix, HCCL_DATA_TYPE_FP32, out, HCCL_DATA_TYPE_FP32, group, NULL,
		"t6");
	show("graph all_to_all_vc", 5);
	HCCL(HcomAllGatherV, "t7", x, gcounts[rank], out, gcounts, gdispls, HCCL_DATA_TYPE_FP32,
		group, NULL);
	show("graph all_gather_v", 6);
	HCCL(HcomReduceScatterV, "t8", x, pcounts, pdispls, out, pcounts[rank], HCCL_DATA_TYPE_FP32,
		HCCL_REDUCE_SUM, group, NULL);
	show("graph reduce_scatter_v", 3);
}

/* Into the other one's memory, and what has come into ours from there. */
static void one_sided(HcclComm c, const char *cluster)
{
	char name[512];
	float *memory;
	uint32_t peer = !rank;
	int fd;

	snprintf(name, sizeof(name), "%s.memory", cluster);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096))
		exit(2);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		exit(2);

	float *theirs = memory + 8 * peer, *ours = memory + 8 * rank;
	HcclOneSideOpDesc put[3] = {{x, theirs, 2, HCCL_DATA_TYPE_FP32},
		{x + 2, theirs + 2, 1, HCCL_DATA_TYPE_FP32},
		{x + 3, theirs + 3, 1, HCCL_DATA_TYPE_FP32}},
			  get = {out, theirs, 4, HCCL_DATA_TYPE_FP32};

	HCCL(HcclBatchPut, c, peer, put, 3, NULL);
	HCCL(HcclBarrier, c, NULL);
	memcpy(out + 4, ours, 4 * sizeof(float));
	HCCL(HcclBatchGet, c, peer, &get, 1, NULL);
	show("one-sided", 8);
	munmap(memory, 4096);
}

int main(void)
{
	uint32_t both[2] = {0, 1}, one = 0;
	HcclRootInfo id;
	HcclComm c, part = NULL;
	HcclResult wrong;
	char again[512];

	if (getenv("APP_LOAD"))
		load_functions(getenv("APP_LOAD"));
	rank = app_number("APP_RANK", "RANK");
	size = app_number("APP_SIZE", "WORLD_SIZE");
	for (unsigned i = 0; i < 4; i++)
		x[i] = (float)((rank + 1) * (i + 1));
	share_id(&id);
	HCCL(HcclCommInitRootInfo, size, &id, rank, &c);
	collectives(c);
	variable(c);
	messages(c);
	graph_engine();
	wrong = hccl.HcclBroadcast(x, 4, HCCL_DATA_TYPE_FP32, 5, c, NULL);
	printf("rank %u no such root: %d\n", rank, (int)wrong);
	/* A number above 2^31, as torch_npu's hashes are; then a part that rank 1 is not in. */
	HCCL(HcclCreateSubCommConfig, &c, 2, both, UINT64_C(0xf123456789), rank, NULL, &part);
	HCCL(HcclAllReduce, x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, part, NULL);
	show("part", 4);
	HCCL(HcclCommDestroy, part);
	HCCL(HcclCreateSubCommConfig, &c, rank == 0, rank == 0 ? &one : NULL,
		rank == 0 ? 3 : UINT64_C(0xffffffff), 0, NULL, &part);
	if (part) {
		HCCL(HcclAllReduce, x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, part, NULL);
		show("part of one", 4);
		HCCL(HcclCommDestroy, part);
	}
	HCCL(HcclCommDestroy, c);
	if (getenv("APP_CLUSTER")) {
		HCCL(HcclCommInitClusterInfo, getenv("APP_CLUSTER"), rank, &c);
		HCCL(HcclAllReduce, x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, c, NULL);
		show("cluster", 4);
		one_sided(c, getenv("APP_CLUSTER"));
		HCCL(HcclCommDestroy, c);
		/* The same file by another name, which is another communicator. */
		snprintf(again, sizeof(again), "/%s", getenv("APP_CLUSTER"));
		HCCL(HcclInitComm, again, rank, NULL, &c);
		HCCL(HcclAllReduce, x, out, 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, c, NULL);
		show("cluster again", 4);
		HCCL(HcclFinalizeComm, c);
	}
	return 0;
}
